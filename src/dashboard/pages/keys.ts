import { scopes } from '../../contract/endpoint.ts'
import { notFound } from '../../contract/errors.ts'
import { isName, MAX_NAME_LENGTH } from '../../contract/names.ts'
import { DAY_MS } from '../../contract/time.ts'
import { RefusedError } from '../../accounts/errors.ts'
import {
  createToken,
  isEntitled,
  listTokens,
  MAX_ACTIVE_TOKENS,
  revokeToken,
  type TokenFacts,
} from '../../accounts/tokens.ts'
import { dayAt, dayFrom } from '../../stats/periods.ts'
import { html, type Html, nothing } from '../html.ts'
import { scopeLabels } from '../labels.ts'
import { type Page, redirect, view, type Visit } from '../page.ts'
import { card, code, curlLine, emptyState, facts, table } from '../components.ts'
import { agoText, dateText, dateTime, dateTimeText, timeAgo } from '../text.ts'

/** API keys belong to whoever signed in, whosever records the other pages show. */
export const keyPages: readonly Page[] = [
  { path: '/keys', answer: showKeys },
  { path: '/keys/new', answer: visit => showForm(visit, {}) },
  {
    method: 'POST',
    path: '/keys',
    async answer(visit) {
      const { store, viewer, now } = visit
      const asked = readForm(visit)
      const { name, chosen, expiresAt } = asked
      const problem =
        problemOf(asked) ??
        (expiresAt !== undefined && expiresAt !== null && expiresAt <= now
          ? 'Choose a day that is not over.'
          : undefined)
      if (problem !== undefined || expiresAt === undefined) return showForm(visit, asked, problem)
      try {
        const { accountId } = viewer.session
        const token = await createToken(store, { accountId, name, scopes: chosen, expiresAt }, now)
        return showOnce(visit, token, asked)
      } catch (error) {
        if (error instanceof RefusedError) return showForm(visit, asked, `That did not work: ${error.message}.`)
        throw error
      }
    },
  },
  { path: '/keys/:id/revoke', answer: async visit => showRevoking(visit, await ownKey(visit)) },
  {
    method: 'POST',
    path: '/keys/:id/revoke',
    async answer(visit) {
      const { id } = await ownKey(visit)
      await revokeToken(visit.store, id, visit.now)
      return redirect('/keys?done=revoked')
    },
  },
]

async function showKeys(visit: Visit) {
  const { query } = visit
  const { keys, inUse, entitled } = await keysOf(visit)
  const full = inUse >= MAX_ACTIVE_TOKENS
  const why = entitled
    ? `All ${MAX_ACTIVE_TOKENS} are in use. Revoke one to make room for another.`
    : 'Keys need a subscription.'
  return view({
    section: 'keys',
    title: 'API keys',
    lead: html`${inUse} of ${MAX_ACTIVE_TOKENS} in use`,
    actions:
      full || !entitled
        ? html`<span class="muted" id="why">${why}</span><button class="primary" disabled aria-describedby="why">Create key</button>`
        : html`<a class="button primary" href="/keys/new" data-dialog>Create key</a>`,
    body: html`
      ${query.get('done') === 'revoked' ? html`<p class="note" role="status">The key is revoked. Programs that use it are refused from now on.</p>` : nothing}
      ${entitled ? nothing : withoutTier(keys.length)}
      ${
        keys.length === 0
          ? emptyState(
              'No keys yet',
              html`Scripts and other programs read your history with a key: one for each, so that each can be revoked alone. Create one here; it is shown a single time. The <a href="/docs">API reference</a> has what can be asked.`,
            )
          : card('Keys', keyTable(visit, keys, entitled))
      }
      <p class="muted">A key reads what you can read, and changes nothing. </p>
    `,
  })
}

function withoutTier(keys: number): Html {
  return html`
    <div class="warning">
      <p><strong>This account has no subscription at the moment.</strong> The API answers to accounts with the tier Ultra, Pioneer, Founder or Employee. ${
        keys === 0
          ? 'With one, keys can be created here.'
          : 'Your keys are kept: they work again when the subscription does.'
      } Your history stays here in any case.</p>
    </div>
  `
}

function keyTable({ viewer, now }: Visit, keys: readonly TokenFacts[], entitled: boolean): Html {
  const state = (key: TokenFacts) => {
    if (isExpired(key, now)) return html` <span class="state">Expired</span>`
    return entitled ? nothing : html` <span class="state">Inactive</span>`
  }
  return table(
    'API keys',
    [
      { title: 'Name', cell: key => html`<strong>${key.name}</strong>${state(key)}` },
      { title: 'Key', cell: ({ last4 }) => html`<code class="nowrap">lks_…${last4}</code>` },
      { title: 'May read', cell: ({ scopes }) => scopeText(scopes.split(' ')) },
      {
        title: 'Created',
        cell: ({ created_at }) =>
          html`<time datetime="${new Date(created_at).toISOString()}">${dateText(viewer, created_at)}</time>`,
      },
      {
        title: 'Last used',
        cell: ({ last_used_at: at }) =>
          at === null ? html`<span class="muted">Never</span>` : timeAgo(viewer, at, now),
      },
      {
        title: 'Expires',
        cell: ({ expires_at: at }) =>
          at === null
            ? html`<span class="muted">Never</span>`
            : html`<span class="nowrap">${dateText(viewer, at - 1)}</span>`,
      },
      {
        title: html`<span class="hidden">Action</span>`,
        numeric: true,
        cell: ({ id, name }) =>
          html`<a class="button small" href="/keys/${id}/revoke" data-dialog aria-label="Revoke ${name}">Revoke</a>`,
      },
    ],
    keys,
    undefined,
    { stacks: true },
  )
}

interface KeyForm {
  readonly name: string
  readonly chosen: readonly string[]
  readonly expires: string
  readonly date: string
  /** Null for never, undefined for a date that is none. */
  readonly expiresAt: number | null | undefined
}

function readForm({ form, viewer, now }: Visit): KeyForm {
  const expires = form.get('expires') ?? DEFAULT_EXPIRY
  const date = form.get('date') ?? ''
  return {
    name: (form.get('name') ?? '').trim(),
    chosen: scopes.filter(scope => form.getAll('scope').includes(scope)),
    expires,
    date,
    expiresAt: expiryOf(expires, date, viewer.timeZone, now),
  }
}

function expiryOf(expires: string, date: string, timeZone: string, now: number): number | null | undefined {
  if (expires === 'never') return null
  // The whole day still counts.
  if (expires === 'date') return dayFrom(date, timeZone)?.[1]
  const days = /^(30|90|365)d$/.exec(expires)?.[1]
  return days === undefined ? undefined : now + Number(days) * DAY_MS
}

function problemOf({ name, chosen, expiresAt }: KeyForm): string | undefined {
  if (!isName(name)) return `Give the key a name of 1 to ${MAX_NAME_LENGTH} characters.`
  if (chosen.length === 0) return 'Choose what the key may read.'
  return expiresAt === undefined ? 'Choose a day on which the key is to expire.' : undefined
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

async function showForm(visit: Visit, asked: Partial<KeyForm>, problem?: string) {
  const { inUse, entitled } = await keysOf(visit)
  const full = inUse >= MAX_ACTIVE_TOKENS
  if (full || !entitled) return redirect('/keys')
  const { name = '', chosen = scopes, expires = DEFAULT_EXPIRY, date = '' } = asked
  const { timeZone } = visit.viewer
  return view({
    section: 'keys',
    title: 'Create key',
    back: { path: '/keys', title: 'API keys' },
    status: problem === undefined ? 200 : 422,
    body: html`
      <div class="card narrow" data-dialog-body>
        <h2 class="dialog-title" id="dialog-title">Create key</h2>
        <form class="stack" method="post" action="/keys">
          ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
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
                html`<label><input type="checkbox" name="scope" value="${scope}"${chosen.some(one => one === scope) ? html` checked` : nothing}>${scopeLabels[scope]} <code class="muted">${scope}</code></label>`,
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
          <div class="buttons">
            <button class="primary">Create key</button>
            <a class="button" href="/keys" data-close>Cancel</a>
          </div>
        </form>
      </div>
    `,
  })
}

function showOnce({ viewer, baseUrl }: Visit, token: string, { name, chosen, expiresAt }: KeyForm) {
  const path = chosen.includes('dtt:read') ? '/api/v1/dtt/sessions/latest' : '/api/v1/lkbx/sessions/latest'
  return view({
    section: 'keys',
    title: 'Your new key',
    back: { path: '/keys', title: 'API keys' },
    body: html`
      <div class="card narrow" data-dialog-body data-once>
        <h2 class="dialog-title" id="dialog-title">Your new key</h2>
        <div class="stack">
          <p><strong>${name}</strong> is ready. The key is shown this one time: copy it now. It expires ${
            expiresAt == null ? 'never' : `on ${dateText(viewer, expiresAt - 1)}`
          }.</p>
          ${code(token, 'Key', { kind: 'secret', focus: true })}
          <div><h3>For an .env file</h3>${code(`API_TOKEN=${token}`, 'Line for an .env file')}</div>
          <div><h3>In a shell</h3>${code(curlLine(baseUrl, path, token), 'curl line')}</div>
          <div class="needs-script">
            <button type="button" data-test="${path}" data-discreet="${viewer.discreet ? '1' : '0'}">Test it now</button>
            <div data-test-result role="status"></div>
          </div>
          <div class="buttons"><a class="button primary" href="/keys" data-done>Done</a></div>
        </div>
      </div>
    `,
  })
}

function showRevoking({ viewer, now }: Visit, key: TokenFacts) {
  const { id, name, last4, last_used_at: at } = key
  return view({
    section: 'keys',
    title: 'Revoke key',
    back: { path: '/keys', title: 'API keys' },
    body: html`
      <div class="card narrow" data-dialog-body>
        <h2 class="dialog-title" id="dialog-title">Revoke key</h2>
        <form class="stack" method="post" action="/keys/${id}/revoke">
          <p>Revoke <strong>${name}</strong> (<code>lks_…${last4}</code>)? Programs that use it are refused at once. This cannot be taken back.</p>
          ${facts([
            ['Last used', at === null ? 'Never' : `${agoText(at, now)}, ${dateTimeText(viewer, at)}`],
            ['Created', dateTime(viewer, key.created_at)],
          ])}
          <div class="buttons">
            <button class="danger" autofocus>Revoke key</button>
            <a class="button" href="/keys" data-close>Keep it</a>
          </div>
        </form>
      </div>
    `,
  })
}

/** The key in the path, where it is the viewer's own and still there. */
async function ownKey(visit: Visit): Promise<TokenFacts> {
  const { keys } = await keysOf(visit)
  const key = keys.find(({ id }) => id === visit.id)
  if (key === undefined) throw notFound('Key')
  return key
}

/** The keys of the viewer that are not revoked, the newest first. */
async function keysOf({ store, viewer, now }: Visit) {
  const keys = (await listTokens(store, viewer.session.accountId))
    .filter(({ revoked_at }) => revoked_at === null)
    .reverse()
  return {
    keys,
    inUse: keys.filter(key => !isExpired(key, now)).length,
    entitled: isEntitled(viewer.session, now),
  }
}

function isExpired({ expires_at }: TokenFacts, now: number): boolean {
  return expires_at !== null && expires_at <= now
}

function scopeText(names: readonly string[]): string {
  return names.map(name => scopeLabels[name] ?? name).join(', ')
}
