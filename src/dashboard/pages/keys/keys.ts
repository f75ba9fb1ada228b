import {
  createKey,
  isActive,
  MAX_ACTIVE_KEYS,
  replaceKey,
  revokeKey,
  type ListedKey,
  listKeys,
} from '../../../accounts/api-keys.ts'
import { expiryOf, endedTier, isEntitled } from '../../../accounts/grants.ts'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { settings } from '../../../config.ts'
import { hasEnded } from '../../../accounts/access.ts'
import {
  action,
  actionColumn,
  card,
  code,
  curlLine,
  emptyState,
  table,
  options,
  stepsCard,
  usageColumns,
} from '../../layout/components.ts'
import { actPages, formPage } from '../../layout/form-page.ts'
import { html, type Html, nothing, fieldText } from '../../html.ts'
import { scopeLabels, scopeTexts } from '../../text/labels.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { agoText, countText, dateText, dateTime, lastUsed, momentText } from '../../text/text.ts'
import { DAY_MS } from '../../../contract/time.ts'
import { notFound } from '../../../contract/errors.ts'
import { defaultScopes, scopes } from '../../../contract/endpoint.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'

const OF_KEYS = { section: 'keys', reads: null } as const

/** The API keys of the account that signed in, whichever account's records the other pages show. */
export const keyPages: readonly DashboardPage[] = [
  { ...OF_KEYS, path: '/keys', handler: showKeys },
  ...actPages({
    section: 'keys',
    path: '/keys/new',
    sentTo: '/keys',
    act: createKey,
    find: readKeyForm,
    show: showKeyForm,
    enter: (_, form) => form,
    done: showCreated,
  }),
  ...actPages({
    section: 'keys',
    path: '/keys/:id/regenerate',
    act: replaceKey,
    find: ownKey,
    body: regenerating,
    enter: (_, { id }) => ({ id }),
    done: showCreated,
  }),
  ...actPages({
    section: 'keys',
    path: '/keys/:id/revoke',
    act: revokeKey,
    find: ownKey,
    isDangerous: true,
    body: revoking,
    enter: (_, { id }) => ({ id }),
    done: () => redirect('/keys?done=revoked'),
  }),
  // With the address of this service in place of the usual one.
  { ...OF_KEYS, path: '/keys/examples', handler: showExamples },
]

async function showKeys(visit: Visit) {
  const { keys, inUse, entitled, tierEnded } = await keysOf(visit)
  const full = inUse >= MAX_ACTIVE_KEYS
  const why = entitled ? 'Revoke one to make room for another.' : 'Keys need a subscription.'
  const create =
    full || !entitled
      ? html`<span class="muted" id="why">${why}</span><button class="primary" disabled aria-describedby="why">Create key</button>`
      : html`<a class="button primary" href="/keys/new">Create key</a>`
  const isEmpty = keys.length === 0
  const examples = html`<p>Examples: ${offered.map(([title, file], index) => html`${index > 0 && ', '}<a href="/keys/examples#${basename(file)}">${title}</a>`)}.</p>`
  return view({
    title: 'API keys',
    lead: isEmpty ? undefined : `${inUse} of ${MAX_ACTIVE_KEYS} keys`,
    actions: create,
    body: html`
      ${entitled ? nothing : withoutTier(visit, keys.length, tierEnded)}
      ${
        isEmpty
          ? emptyState('No keys yet', 'A key lets other software read your history, not change it.', examples)
          : html`
              ${card('Your keys', keyTable(visit, keys, entitled))}
              ${card(
                'Use a key',
                html`
                  <p>A first request, with the key in <code>LOCKSTEP_TOKEN</code>. A key is shown once, when it is created.</p>
                  ${code(curlLine(visit.site.baseUrl, testPathOf(keys[0])), 'curl command')}
                  ${examples}
                `,
              )}
            `
      }
    `,
  })
}

function withoutTier({ viewer, now }: Visit, keys: number, ended: number | undefined): Html {
  const since =
    ended === undefined
      ? 'This account has no subscription at the moment.'
      : `The subscription of this account ended at ${momentText(viewer, ended, now)}.`
  const then = keys === 0 ? 'With one, keys can be created here.' : 'Your keys are kept, and work again with one.'
  return html`<p class="warning"><strong>${since}</strong> The API is for accounts with the tier Ultra, Pioneer, Founder or Employee. ${then} Your history stays here in any case.</p>`
}

function keyTable({ viewer, now }: Visit, keys: readonly ListedKey[], entitled: boolean): Html {
  const state = (key: ListedKey) => {
    if (hasEnded(key.expires_at, now)) return html` <span class="state">Expired</span>`
    if (key.replaced_at !== null) return html` <span class="state">Replaced</span>`
    return entitled ? nothing : html` <span class="state">Inactive</span>`
  }
  return table(
    'API keys',
    [
      {
        title: 'Name',
        line: 'first',
        cell: key =>
          html`<strong>${recordName(viewer, 'key', key)}</strong>${state(key)} <br><code class="muted nowrap">lks_…${key.last4}</code>`,
      },
      {
        title: 'May read',
        line: 'second',
        before: 'May read ',
        cell: ({ scopes }) =>
          scopes
            .split(' ')
            .map(name => scopeLabels[name] ?? name)
            .join(', '),
      },
      ...usageColumns<ListedKey>(viewer, now),
      {
        title: 'Expires',
        line: 'second',
        before: 'expires ',
        cell: ({ expires_at: at }) =>
          at === null
            ? 'never'
            : html`${dateText(viewer, at - 1)} <span class="state${at < now + 14 * DAY_MS && ' warn'}">${agoText(viewer, at, now)}</span>`,
      },
      actionColumn<ListedKey>(key => {
        const [path, name] = [`/keys/${key.id}`, recordName(viewer, 'key', key)]
        const isReplaceable = entitled && isActive(key, now)
        return html`<span class="buttons">${isReplaceable && action(`${path}/regenerate`, 'Regenerate', name)}${action(`${path}/revoke`, 'Revoke', name, ' danger')}</span>`
      }),
    ],
    keys,
  )
}

function regenerating({ viewer, now }: Visit, key: ListedKey): Html {
  const { last4, created_at, expires_at } = key
  const days = expires_at === null ? null : Math.round((expires_at - created_at) / DAY_MS)
  return html`
    <p>Create a new key in place of <strong>${recordName(viewer, 'key', key)}</strong> (<code class="nowrap">lks_…${last4}</code>)? The new key has the same name, may read the same, and ${
      days === null ? 'never expires' : `expires in ${countText(Math.max(1, days), 'day')}`
    }.</p>
    <p>The old key works until ${dateTime(viewer, expiryOf({ ...key, replaced_at: now }) ?? now)}, so that you have time to change your programs.</p>
  `
}

function revoking({ viewer, now }: Visit, key: ListedKey): Html {
  const { last4, last_used_at: at } = key
  return html`
    <p>Revoke <strong>${recordName(viewer, 'key', key)}</strong> (<code class="nowrap">lks_…${last4}</code>)? Programs that use it are refused at once. This cannot be undone.</p>
    <p>Last used: ${lastUsed(viewer, at, now)}.</p>
  `
}

async function showCreated(visit: Visit, secret: string) {
  const { viewer, site } = visit
  const key = (await keysOf(visit)).keys.find(({ last4 }) => secret.endsWith(last4))
  if (key === undefined) return redirect('/keys')
  const path = testPathOf(key)
  return view({
    title: 'Your new key',
    body: html`
      <div class="card narrow" data-once>
        <div class="stack">
          <p><strong>${recordName(viewer, 'key', key)}</strong> is ready. The key is shown only once: copy it now. It ${
            key.expires_at === null ? 'never expires' : `expires on ${dateText(viewer, key.expires_at - 1)}`
          }.</p>
          ${code(secret, 'Key', true)}
          <div><h2>For an .env file</h2>${code(`LOCKSTEP_TOKEN=${secret}`, 'Line for an .env file')}</div>
          <div><h2>In a shell</h2>${code(curlLine(site.baseUrl, path, secret), 'curl command')}</div>
          <p class="small"><a href="/keys/examples" target="_blank">Examples</a> for curl, Home Assistant, Python and TypeScript open in a new tab.</p>
          <div class="row needs-script">
            <button type="button" data-test="${path}">Test it now</button>
            <div data-test-result role="status"></div>
          </div>
          <div class="buttons"><a class="button primary" href="/keys">Done</a></div>
        </div>
      </div>
    `,
  })
}

function testPathOf({ scopes }: Pick<ListedKey, 'scopes'> = { scopes: 'dtt:read' }): string {
  if (scopes.includes('dtt:read')) return '/api/v1/dtt/sessions/latest'
  return scopes.includes('lkbx:read') ? '/api/v1/lkbx/sessions/latest' : '/api/v1/status'
}

function readKeyForm({ form, now }: Visit) {
  const expires = form.get('expires') ?? ''
  const days = /^(30|90|365)d$/.exec(expires)?.[1]
  return {
    name: (form.get('name') ?? '').trim(),
    scopes: form.size === 0 ? defaultScopes : form.getAll('scope'),
    expires,
    /** Undefined if nothing was chosen. */
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

async function showKeyForm(
  visit: Visit,
  { name, scopes: chosen, expires }: ReturnType<typeof readKeyForm>,
  problem?: string,
) {
  const { inUse, entitled } = await keysOf(visit)
  const full = inUse >= MAX_ACTIVE_KEYS
  if (full || !entitled) return redirect('/keys')
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
    beside: stepsCard([
      'The key is shown once, with lines to copy for curl and an .env file.',
      'A program that has it can read what you ticked, and change nothing.',
      'You can replace or revoke it at any time. The list says when it was last used.',
    ]),
  })
}

/** The keys of the viewer that are not revoked, the newest first. */
async function keysOf({ store, viewer, now }: Visit) {
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

async function ownKey(visit: Visit): Promise<ListedKey> {
  const { keys } = await keysOf(visit)
  const key = keys.find(({ id }) => id === visit.id)
  if (key === undefined) throw notFound('Key')
  return key
}

const offered: readonly (readonly [title: string, file: string, text: string])[] = [
  [
    'curl',
    'curl/status.sh',
    'Prints the status and four weeks of training. Needs curl, jq and a key for status and statistics.',
  ],
  ['Home Assistant', 'home-assistant/lockstep.yaml', 'Sensors. The first lines say where file and key go.'],
  ['Python', 'python/sessions.py', 'Prints all training sessions. Needs only the standard library.'],
  ['TypeScript', 'typescript/weeks.ts', 'Prints weeks of training. The first lines fetch the typed client.'],
]

function showExamples({ site }: Visit) {
  return view({
    title: 'Examples',
    lead: 'To copy, with the address of this service filled in. They read the key from LOCKSTEP_TOKEN.',
    body: html`${offered.map(([title, file, text]) => {
      const example = readFileSync(new URL(`../../../../examples/${file}`, import.meta.url), 'utf8')
      const shown = code(example.replaceAll(settings.url.fallback, site.baseUrl), basename(file))
      return card(title, html`<div class="stack"><p>${text}</p>${shown}</div>`, { id: basename(file) })
    })}`,
  })
}
