import {
  createToken,
  expiryOf,
  MAX_ACTIVE_TOKENS,
  replaceToken,
  revokeToken,
  type TokenFacts,
} from '../../accounts/tokens.ts'
import { card, emptyState, facts, table } from '../components.ts'
import { formPage, submit } from '../form-page.ts'
import { html, type Html, nothing } from '../html.ts'
import { scopeLabels } from '../labels.ts'
import { recordName } from '../names.ts'
import { type Page, redirect, view, type Viewer, type Visit } from '../page.ts'
import { agoText, countText, dateText, dateTime, dateTimeText, lastUsed } from '../text.ts'
import { DAY_MS } from '../../contract/time.ts'
import { problemOf, readKeyForm, showKeyForm } from './key-form.ts'
import { showNewKey } from './new-key.ts'
import { isExpired, keysOf, ownKey } from './own-keys.ts'

/** The API keys of the account that signed in, whichever account's records the other pages show. */
export const keyPages: readonly Page[] = [
  { path: '/keys', handler: showKeys },
  { path: '/keys/new', handler: visit => showKeyForm(visit, {}) },
  {
    method: 'POST',
    path: '/keys',
    confirms: { section: 'keys', action: 'Create key' },
    async handler(visit) {
      const { store, viewer, now } = visit
      const form = readKeyForm(visit)
      const { name, chosen, expiresAt } = form
      const problem = problemOf(form, now)
      if (problem !== undefined || expiresAt === undefined) return showKeyForm(visit, form, problem)
      const { accountId } = viewer.session
      return submit(
        async () => showCreated(visit, await createToken(store, { accountId, name, scopes: chosen, expiresAt }, now)),
        refusal => showKeyForm(visit, form, refusal),
      )
    },
  },
  { path: '/keys/:id/regenerate', handler: async visit => showRegenerating(visit, await ownKey(visit)) },
  {
    method: 'POST',
    path: '/keys/:id/regenerate',
    confirms: { section: 'keys', action: 'Regenerate key' },
    async handler(visit) {
      const key = await ownKey(visit)
      return submit(
        async () => showCreated(visit, await replaceToken(visit.store, key.account_id, key.id, visit.now)),
        refusal => showRegenerating(visit, key, refusal),
      )
    },
  },
  { path: '/keys/:id/revoke', handler: async visit => showRevoking(visit, await ownKey(visit)) },
  {
    method: 'POST',
    path: '/keys/:id/revoke',
    async handler(visit) {
      const { id } = await ownKey(visit)
      await revokeToken(visit.store, id, visit.now)
      return redirect('/keys?done=revoked')
    },
  },
]

/** Shows the key that was just created. */
async function showCreated(visit: Visit, secret: string) {
  const key = (await keysOf(visit)).keys.find(({ last4 }) => secret.endsWith(last4))
  if (key === undefined) return redirect('/keys')
  return showNewKey(visit, secret, { ...key, scopes: key.scopes.split(' ') })
}

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
      ${query.get('done') === 'revoked' ? html`<p class="note" role="status">The key was revoked. Programs that use it are refused from now on.</p>` : nothing}
      ${entitled ? nothing : withoutTier(keys.length)}
      ${
        keys.length === 0
          ? emptyState(
              'No keys yet',
              html`Scripts and other programs read your history with an API key. Create one for each program, so that you can revoke it alone. A key is shown only once. The <a href="/docs">API reference</a> lists all requests.`,
            )
          : card('Keys', keyTable(visit, keys, entitled))
      }
      <p class="muted">A key can read what you can read, and cannot change anything. <a href="/keys/recipes">Recipes</a> show how programs use one.</p>
    `,
  })
}

function withoutTier(keys: number): Html {
  return html`
    <div class="warning">
      <p><strong>This account has no subscription at the moment.</strong> The API is for accounts with the tier Ultra, Pioneer, Founder or Employee. ${
        keys === 0 ? 'With one, keys can be created here.' : 'Your keys are kept, and work again once it has one.'
      } Your history stays here in any case.</p>
    </div>
  `
}

function keyTable({ viewer, now }: Visit, keys: readonly TokenFacts[], entitled: boolean): Html {
  const state = (key: TokenFacts) => {
    if (isExpired(key, now)) return html` <span class="state">Expired</span>`
    if (key.replaced_at !== null) return html` <span class="state">Replaced</span>`
    if (!entitled) return html` <span class="state">Inactive</span>`
    return expiresSoon(key, now)
      ? html` <span class="state warn">expires ${expiryText(key.expires_at, now)}</span>`
      : nothing
  }
  return table(
    'API keys',
    [
      { title: 'Name', cell: key => html`<strong>${recordName(viewer, 'key', key)}</strong>${state(key)}` },
      { title: 'Key', cell: ({ last4 }) => html`<code class="nowrap">lks_…${last4}</code>` },
      { title: 'May read', cell: ({ scopes }) => scopeText(scopes.split(' ')) },
      {
        title: 'Created',
        cell: ({ created_at }) =>
          html`<time datetime="${new Date(created_at).toISOString()}">${dateText(viewer, created_at)}</time>`,
      },
      {
        title: 'Last used',
        cell: ({ last_used_at: at }) => lastUsed(viewer, at, now),
      },
      {
        title: 'Expires',
        cell: ({ expires_at: at, replaced_at }) =>
          at === null
            ? html`<span class="muted">Never</span>`
            : html`<span class="nowrap">${replaced_at === null ? dateText(viewer, at - 1) : dateTimeText(viewer, at)}</span>`,
      },
      {
        title: html`<span class="hidden">Action</span>`,
        numeric: true,
        cell: key => keyActions(viewer, key, entitled && key.replaced_at === null && !isExpired(key, now)),
      },
    ],
    keys,
    undefined,
    { stacks: true },
  )
}

function keyActions(viewer: Viewer, key: TokenFacts, replaceable: boolean): Html {
  const action = (path: string, text: string) =>
    html`<a class="button small" href="/keys/${key.id}/${path}" data-dialog aria-label="${text} ${recordName(viewer, 'key', key)}">${text}</a>`
  return html`<span class="buttons">${replaceable ? action('regenerate', 'Regenerate') : nothing}${action('revoke', 'Revoke')}</span>`
}

const SOON_MS = 30 * DAY_MS

function expiresSoon(key: TokenFacts, now: number): key is TokenFacts & { expires_at: number } {
  return key.expires_at !== null && key.expires_at - now < SOON_MS
}

/** Days are rounded to the nearest: rounded down, a new key for 30 days would have 29 left at once. */
function expiryText(at: number, now: number): string {
  const days = Math.round((at - now) / DAY_MS)
  return days > 1 ? `in ${countText(days, 'day')}` : agoText(at, now)
}

function showRegenerating({ viewer, now }: Visit, key: TokenFacts, problem?: string) {
  const { id, last4, created_at, expires_at } = key
  const days = expires_at === null ? null : Math.round((expires_at - created_at) / DAY_MS)
  return formPage({
    section: 'keys',
    title: 'Regenerate key',
    action: `/keys/${id}/regenerate`,
    problem,
    button: 'Regenerate key',
    focusesButton: true,
    body: html`
      <p>Create a new key in place of <strong>${recordName(viewer, 'key', key)}</strong> (<code class="nowrap">lks_…${last4}</code>)? The new key has the same name, may read the same, and ${
        days === null ? 'never expires' : `expires in ${countText(Math.max(1, days), 'day')}`
      }.</p>
      <p>The old key works until ${dateTime(viewer, expiryOf({ ...key, replaced_at: now }) ?? now)}, so that you have time to change your programs.</p>
    `,
  })
}

function showRevoking({ viewer, now }: Visit, key: TokenFacts) {
  const { id, last4, last_used_at: at } = key
  return formPage({
    section: 'keys',
    title: 'Revoke key',
    action: `/keys/${id}/revoke`,
    button: 'Revoke key',
    isDangerous: true,
    focusesButton: true,
    body: html`
      <p>Revoke <strong>${recordName(viewer, 'key', key)}</strong> (<code class="nowrap">lks_…${last4}</code>)? Programs that use it are refused at once. This cannot be undone.</p>
      ${facts([
        ['Last used', at === null ? 'Never' : `${agoText(at, now)}, ${dateTimeText(viewer, at)}`],
        ['Created', dateTime(viewer, key.created_at)],
      ])}
    `,
  })
}

function scopeText(names: readonly string[]): string {
  return names.map(name => scopeLabels[name] ?? name).join(', ')
}
