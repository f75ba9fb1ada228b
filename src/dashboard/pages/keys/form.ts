import { isActive, listKeys, type ListedKey, MAX_ACTIVE_KEYS } from '../../../accounts/api-keys.ts'
import { endedTier, isEntitled } from '../../../accounts/grants.ts'
import { notFound } from '../../../contract/errors.ts'
import { defaultScopes, scopes } from '../../../contract/endpoint.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'
import { DAY_MS } from '../../../contract/time.ts'
import { options } from '../../layout/components.ts'
import { formPage } from '../../layout/form-page.ts'
import { fieldText, html, nothing } from '../../html.ts'
import { scopeLabels, scopeTexts } from '../../text/labels.ts'
import { redirect, type Visit } from '../../page.ts'

interface KeyForm {
  readonly name: string
  readonly scopes: readonly string[]
  readonly expires: string
  /** Null for never, undefined if nothing was chosen. */
  readonly expiresAt: number | null | undefined
}

export function readKeyForm({ form, now }: Visit): KeyForm {
  const expires = form.get('expires') ?? ''
  const days = /^(30|90|365)d$/.exec(expires)?.[1]
  return {
    name: (form.get('name') ?? '').trim(),
    scopes: form.getAll('scope'),
    expires,
    expiresAt: expires === 'never' ? null : days === undefined ? undefined : now + Number(days) * DAY_MS,
  }
}

const expiries = [
  ['', 'Choose…'],
  ['30d', 'In 30 days'],
  ['90d', 'In 90 days'],
  ['365d', 'In one year'],
  ['never', 'No expiry'],
] as const

export async function showKeyForm(visit: Visit, entered: Partial<KeyForm>, problem?: string) {
  const { inUse, entitled } = await keysOf(visit)
  const full = inUse >= MAX_ACTIVE_KEYS
  if (full || !entitled) return redirect('/keys')
  const { name = '', scopes: chosen = defaultScopes, expires = '' } = entered
  return formPage(visit, {
    title: 'Create key',
    action: '/keys',
    problem,
    body: html`
      <label>Name <span class="muted">what it is for</span>
        <input name="name" required maxlength="${MAX_NAME_LENGTH}" autocomplete="off" value="${fieldText(name)}" autofocus${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
      </label>
      <fieldset>
        <legend>May read</legend>
        ${scopes.map(
          scope =>
            html`<label><input type="checkbox" name="scope" value="${scope}"${chosen.some(one => one === scope) ? html` checked` : nothing}><span>${scopeLabels[scope]} <code class="muted">${scope}</code><br><small class="muted">${scopeTexts[scope]}</small></span></label>`,
        )}
      </fieldset>
      <label>Expires
        <select name="expires" required>${options(expiries, expires)}</select>
      </label>
    `,
  })
}

/** The keys of the viewer that are not revoked, the newest first. */
export async function keysOf({ store, viewer, now }: Visit) {
  const keys = (await listKeys(store, viewer.session.accountId))
    .filter(({ revoked_at }) => revoked_at === null)
    .reverse()
  return {
    keys,
    inUse: keys.filter(key => isActive(key, now)).length,
    entitled: isEntitled(viewer.session, now),
    tierEnded: endedTier(viewer.session, now),
  }
}

export async function ownKey(visit: Visit): Promise<ListedKey> {
  const { keys } = await keysOf(visit)
  const key = keys.find(({ id }) => id === visit.id)
  if (key === undefined) throw notFound('Key')
  return key
}
