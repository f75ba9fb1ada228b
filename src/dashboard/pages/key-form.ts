import { MAX_ACTIVE_TOKENS } from '../../accounts/tokens.ts'
import { defaultScopes, scopes } from '../../contract/endpoint.ts'
import { isName, MAX_NAME_LENGTH } from '../../contract/names.ts'
import { DAY_MS } from '../../contract/time.ts'
import { dayAt, dayFrom } from '../../stats/periods.ts'
import { formPage } from '../form-page.ts'
import { html, nothing } from '../html.ts'
import { scopeLabels, scopeTexts } from '../labels.ts'
import { redirect, type Visit } from '../page.ts'
import { keysOf } from './own-keys.ts'

export interface KeyForm {
  readonly name: string
  readonly chosen: readonly string[]
  readonly expires: string
  readonly date: string
  /** Null for never, undefined for an invalid date. */
  readonly expiresAt: number | null | undefined
}

export function readKeyForm({ form, viewer, now }: Visit): KeyForm {
  const expires = form.get('expires') ?? DEFAULT_EXPIRY
  const date = form.get('date') ?? ''
  return {
    name: (form.get('name') ?? '').trim(),
    chosen: scopes.filter(scope => form.getAll('scope').includes(scope)),
    expires,
    date,
    expiresAt: chosenExpiry(expires, date, viewer.timeZone, now),
  }
}

function chosenExpiry(expires: string, date: string, timeZone: string, now: number): number | null | undefined {
  if (expires === 'never') return null
  // The last day counts in full.
  if (expires === 'date') return dayFrom(date, timeZone)?.[1]
  const days = /^(30|90|365)d$/.exec(expires)?.[1]
  return days === undefined ? undefined : now + Number(days) * DAY_MS
}

/** What is wrong with a form; undefined for one that can be used. */
export function problemOf({ name, chosen, expiresAt }: KeyForm, now: number): string | undefined {
  if (!isName(name)) return `Give the key a name of 1 to ${MAX_NAME_LENGTH} characters.`
  if (chosen.every(scope => scope === 'shared:access')) return 'Choose what the key may read.'
  if (expiresAt === undefined) return 'Choose the last day on which the key works.'
  return expiresAt !== null && expiresAt <= now ? 'Choose today or a later day.' : undefined
}

const DEFAULT_EXPIRY = '365d'

const expiries = [
  ['30d', 'In 30 days'],
  ['90d', 'In 90 days'],
  ['365d', 'In one year'],
  ['date', 'On a day of your choice'],
  ['never', 'Never'],
] as const

const SUGGESTIONS = ['Home Assistant', 'Python script', 'Grafana']

export async function showKeyForm(visit: Visit, entered: Partial<KeyForm>, problem?: string) {
  const { inUse, entitled } = await keysOf(visit)
  const full = inUse >= MAX_ACTIVE_TOKENS
  if (full || !entitled) return redirect('/keys')
  const { name = '', chosen = defaultScopes, expires = DEFAULT_EXPIRY, date = '' } = entered
  const { timeZone } = visit.viewer
  return formPage({
    section: 'keys',
    title: 'Create key',
    action: '/keys',
    problem,
    button: 'Create key',
    body: html`
      <div>
        <label for="name">Name <span class="muted">what it is for</span></label>
        <input id="name" name="name" list="names" required maxlength="${MAX_NAME_LENGTH}" autocomplete="off" value="${name}" autofocus${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
        <datalist id="names">${SUGGESTIONS.map(text => html`<option value="${text}"></option>`)}</datalist>
        <div class="suggestions needs-script">${SUGGESTIONS.map(
          text => html`<button type="button" class="small" data-fill="name">${text}</button>`,
        )}</div>
      </div>
      <fieldset>
        <legend>May read</legend>
        ${scopes.map(
          scope =>
            html`<label><input type="checkbox" name="scope" value="${scope}"${chosen.some(one => one === scope) ? html` checked` : nothing}><span>${scopeLabels[scope]} <code class="muted">${scope}</code><br><small class="muted">${scopeTexts[scope]}</small></span></label>`,
        )}
      </fieldset>
      <div class="expiry">
        <label for="expires">Expires</label>
        <select id="expires" name="expires">${expiries.map(
          ([value, title]) =>
            html`<option value="${value}"${value === expires ? html` selected` : nothing}>${title}</option>`,
        )}</select>
        <div class="on-a-day"><label for="date" class="muted small">Last day</label>
        <input id="date" type="date" name="date" min="${dayAt(visit.now, timeZone)}" value="${date}"></div>
      </div>
    `,
  })
}
