// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fastify from 'fastify'
import { type AccountEvent, type EventType, listEvents } from '../../src/accounts/events.ts'
import { listGiven } from '../../src/accounts/given-access.ts'
import { listFiles } from '../../src/accounts/imported-files.ts'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { readConfig } from '../../src/config.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { DashboardOptions } from '../../src/dashboard/options.ts'
import { pages, registerDashboard } from '../../src/dashboard/routes.ts'
import { makeFolder } from '../support/command.ts'
import { type Authenticator, authenticator } from '../support/authenticator.ts'
import { allowSignIn, PASSWORD, type Visitor, visitor } from '../support/dashboard.ts'
import { type Issuer, issuerVisitor, startIssuer, addressAt } from '../support/issuer.ts'
import { account, lockSession, lockTemplate, trainingSession, trainingTemplate, world } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { addGoneSession, addKnownSource } from '../support/sources/pulls.ts'
import { SOURCE_TOKEN, type SourceServer, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { decide, settledPage, upload } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

// Every action on pages that concerns the safety of an account leaves exactly one event.

/** Ann, signed in, and what she has. */
interface Scene {
  readonly service: TestService
  readonly ann: Visitor
  readonly site: string
  readonly device: Authenticator
  /** A link to the page of an invitation. */
  invite(): Promise<string>
  handle(): Promise<string>
  /** Answers of the device, for a form. */
  answer(purpose: string, secret?: string): Promise<string>
  /** Makes Ann go to the issuer from a page, sign in there and come back. */
  viaIssuer(path: string): Promise<{ readonly status: number }>
}

interface Action {
  /** The route that changes something, or the page that it leads back from. */
  readonly route: string
  readonly act: (scene: Scene) => Promise<{ readonly status: number }>
  /** What it leaves, if its page has no act that says so; nothing, if it does not concern the safety of the account. */
  readonly leaves?: EventType
  /** The name of the key, the passkey, the person or the source in the event. */
  readonly about?: string | (() => string)
}

const next = 'another long password'
const areas: [string, string][] = [
  ['area', 'lkbx'],
  ['area', 'dtt'],
]

/** A record of each section that has pages of them. */
const deletable = {
  training: trainingSession(61, 1),
  programs: trainingTemplate(61, 1),
  locks: lockSession(61, 1),
  'lock-templates': lockTemplate(61, 1),
}

const typed = { ...trainingSession(62, 1), madeHere: { minute: '2026-02-16T18:00' } }

/** In an order in which each can succeed. */
const actions: readonly Action[] = [
  { route: 'POST /signin', act: ({ site }) => visitor(site, AGENT).signIn('ann'), leaves: 'signed-in-password' },
  {
    route: 'POST /signout',
    act: async ({ site }) => (await signedIn(site)).post('/signout'),
    leaves: 'signed-in-password',
  },
  { route: 'POST /settings', act: ({ ann }) => ann.post('/settings', { timeZone: 'UTC', units: 'metric' }) },
  { route: 'POST /display', act: ({ ann }) => ann.post('/display', { theme: 'dark' }) },
  { route: 'POST /subject', act: ({ ann }) => ann.post('/subject', { subject: '2' }) },
  { route: 'POST /settings/sessions', act: ({ ann }) => ann.post('/settings/sessions') },
  {
    route: 'POST /source/upload',
    act: ({ ann, site }) => upload(site, ann, { a: `${JSON.stringify(trainingSession(9, 1))}\n` }),
  },
  {
    // There is nothing to ask for.
    route: 'POST /source/upload/check',
    async act({ ann }) {
      await settledPage(ann)
      const answer = await decide(ann, 'check')
      await settledPage(ann)
      return answer
    },
  },
  {
    route: 'POST /source/upload/store',
    async act({ ann }) {
      const answer = await decide(ann, 'store')
      await settledPage(ann)
      return answer
    },
    leaves: 'file-stored',
  },
  {
    route: 'POST /source/files/:id/undo',
    async act({ ann, service }) {
      const [file] = await listFiles(service.store, 1)
      return ann.post(`/source/files/${file?.id}/undo`)
    },
  },
  ...Object.entries(deletable).map(([name, { kind }]) => ({
    route: `POST /${name}/:id/delete`,
    act: ({ ann }: Scene) => ann.post(`/${name}/61/delete`),
    about: `${kind} 61`,
  })),
  {
    route: 'POST /source/typed',
    async act({ ann, service }) {
      await addGoneSession(service.store, await addKnownSource(service.store), 1)
      return ann.post('/source/typed')
    },
    about: 'training-session 62',
  },
  {
    route: 'POST /settings/deleted',
    act: ({ ann }) => ann.post('/settings/deleted', { kind: 'lock-session', id: '61' }),
    about: 'lock-session 61',
  },
  {
    route: 'POST /source/upload/allow',
    async act({ ann, site }) {
      await upload(site, ann, { 'evening.ndjson': JSON.stringify(deletable.training) })
      await settledPage(ann)
      const answer = await decide(ann, 'allow')
      await settledPage(ann)
      return answer
    },
    about: 'training-session 61',
  },
  { route: 'POST /source/upload/discard', act: ({ ann }) => ann.post('/source/upload/discard') },
  {
    route: 'POST /source/connect',
    act: ({ ann }) => ann.post('/source/connect', { origin: source.url, key: SOURCE_TOKEN }),
  },
  {
    route: 'POST /source/start',
    act: ({ ann }) => ann.post('/source/start'),
    leaves: 'source-connected',
    about: () => source.url,
  },
  {
    route: 'POST /source/key',
    act: ({ ann }) => ann.post('/source/key', { key: SOURCE_TOKEN }),
    leaves: 'source-key-changed',
    about: () => source.url,
  },
  ...['stop', 'continue', 'pull', 'mine', 'retry', 'locks', 'gone'].map((name): Action => {
    return { route: `POST /source/${name}`, act: ({ ann }) => ann.post(`/source/${name}`) }
  }),
  {
    route: 'POST /source/forget',
    act: ({ ann }) => ann.post('/source/forget'),
    leaves: 'source-forgotten',
    about: () => source.url,
  },
  { route: 'GET /settings/export', act: ({ ann }) => ann.get('/settings/export'), leaves: 'exported' },
  { route: 'GET /settings/page', act: ({ ann }) => ann.get('/settings/page'), leaves: 'exported' },
  {
    route: 'POST /keys',
    act: ({ ann }) => ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' }),
    about: 'Script',
  },
  {
    route: 'POST /keys/:id/regenerate',
    act: ({ ann }) => ann.post('/keys/1/regenerate'),
    about: 'Script',
  },
  {
    route: 'POST /keys/:id/revoke',
    act: ({ ann }) => ann.post('/keys/1/revoke'),
    about: 'Script',
  },
  ...['cas', 'nobody'].flatMap((username): Action[] => [
    {
      route: 'POST /people/give',
      act: ({ ann }) => ann.post('/people/give', [['username', username], ...areas]),
      about: username,
    },
    {
      route: 'POST /people/:id/narrow',
      act: async ({ ann, handle }) => ann.post(`/people/${await handle()}/narrow`, { area: 'dtt' }),
      about: username,
    },
    {
      route: 'POST /people/:id/end',
      act: async ({ ann, handle }) => ann.post(`/people/${await handle()}/end`),
      about: username,
    },
  ]),
  {
    route: 'POST /settings/password',
    act: ({ ann }) => ann.post('/settings/password', { current: PASSWORD, next, again: next }),
    leaves: 'password-set',
  },
  {
    route: 'POST /passkeys/options',
    act: ({ ann }) => ann.post('/passkeys/options', { purpose: 'register', name: 'Phone' }),
  },
  {
    route: 'POST /settings/passkeys/new',
    act: async ({ ann, answer }) => ann.post('/settings/passkeys/new', { answer: await answer('register') }),
    about: 'Phone',
  },
  {
    route: 'POST /signin/passkey',
    act: async ({ ann, answer }) => ann.post('/signin/passkey', { answer: await answer('signin') }),
    leaves: 'signed-in-passkey',
  },
  {
    route: 'POST /settings/oidc',
    act: ({ viaIssuer }) => viaIssuer('/settings/oidc'),
    leaves: 'oidc-linked',
  },
  {
    route: 'POST /settings/passkeys/:id/remove',
    act: ({ ann }) => ann.post('/settings/passkeys/1/remove'),
    about: 'Phone',
  },
  {
    route: 'POST /settings/password/remove',
    act: ({ ann }) => ann.post('/settings/password/remove'),
  },
  {
    route: 'GET /signin/oidc',
    act: async ({ ann, viaIssuer }) => {
      await ann.post('/signout')
      return viaIssuer('/signin/oidc')
    },
    leaves: 'signed-in-oidc',
  },
  {
    route: 'POST /settings/password',
    act: ({ ann }) => ann.post('/settings/password', { next, again: next }),
    leaves: 'password-set',
  },
  { route: 'POST /settings/oidc/remove', act: ({ ann }) => ann.post('/settings/oidc/remove') },
  {
    route: 'POST /invitation/:secret',
    act: async ({ ann, invite }) => ann.post(await invite(), { next: PASSWORD, again: PASSWORD }),
    leaves: 'invitation-password',
  },
  {
    route: 'POST /invitation/:secret/passkey',
    act: async ({ ann, invite, answer }) => {
      const path = await invite()
      return ann.post(`${path}/passkey`, { answer: await answer('invitation', path.split('/')[2]) })
    },
    leaves: 'invitation-passkey',
  },
  {
    route: 'POST /invitation/:secret/oidc',
    act: async ({ invite, viaIssuer }) => viaIssuer(`${await invite()}/oidc`),
    leaves: 'invitation-oidc',
  },
  // The page that the issuer leads back to: three of the actions above end there.
  { route: 'GET /signin/oidc/callback', act: ({ ann }) => ann.get('/signin/oidc/callback') },
  // Everything of the account goes.
  { route: 'POST /settings/delete', act: ({ ann }) => ann.post('/settings/delete', { username: 'ann' }) },
]

const eventsOfActs = new Map(
  pages.flatMap(({ method, path, act }) => (act === undefined ? [] : [[`${method ?? 'GET'} ${path}`, act.event]])),
)

let issuer: Issuer
let source: SourceServer
let folder: Awaited<ReturnType<typeof makeFolder>>
before(async () => {
  issuer = await startIssuer()
  source = await startSource({ world: new SourceWorld().add(account(1, 'ann')), identity: '/me' })
  folder = await makeFolder()
})
after(async () => {
  await issuer.stop()
  await source[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

const settingsOfAll = () => ({
  ...unlimited,
  ...issuer.settings,
  LOCKSTEP_SOURCE_ORIGINS: source.url,
  LOCKSTEP_SECRET_FILE: folder.file('secret'),
})

test('every form, and every return from the issuer, leaves at most one event: who did what, and from where', async () => {
  await using service = await startService(
    [...world, trainingSession(1, 1), typed, ...Object.values(deletable)],
    settingsOfAll(),
  )
  const scene = await sceneOf(service)
  for (const { route, act, leaves = eventsOfActs.get(route), about = '' } of actions) {
    const earlier = await eventsOf(service)
    const { status } = await act(scene)
    assert.ok(status < 400 || leaves === undefined, `${route}: ${status}`)
    const added = (await eventsOf(service)).filter(
      ({ id, kind }) => kind !== 'invitation-made' && !earlier.some(event => event.id === id),
    )
    const subject = typeof about === 'string' ? about : about()
    const expected = { actor: 'self', subject, network: '127.0.0.0/24', browser: 'Firefox on Linux', times: 1 }
    assert.deepEqual(
      added.map(({ id: _, at, subject_id, ...event }) => event),
      leaves === undefined ? [] : [{ kind: leaves, ...expected }],
      route,
    )
    for (const { at } of added) assert.ok(Math.abs(Date.now() - at) < DAY_MS)
  }
  assert.deepEqual(await eventsOf(service), [], 'the events go with the account')
})

test('every form has its row in these tests, and opening a page leaves no event', async () => {
  await using service = await startService([...world, trainingSession(1, 1)], settingsOfAll())
  const routes = await routesOf(service)
  const considered = new Set(actions.map(({ route }) => route))
  const posts = routes.filter(route => route.startsWith('POST ')).toSorted()
  assert.deepEqual(posts, [...considered].filter(route => route.startsWith('POST ')).toSorted())
  const { ann } = await sceneOf(service)
  const earlier = await eventsOf(service)
  for (const route of routes) {
    const [method, path = ''] = route.split(' ')
    if (method !== 'GET' || considered.has(route)) continue
    await ann.get(path.replace(':id', '1').replace(':secret', 'x').replace(':name', 'x'))
  }
  assert.deepEqual(await eventsOf(service), earlier)
})

async function routesOf({ store }: TestService): Promise<string[]> {
  const app = fastify()
  const routes: string[] = []
  app.addHook('onRoute', ({ method, url }) => void routes.push(`${String(method)} ${url}`))
  // Registering routes uses no more than this.
  registerDashboard(app, { store, config: readConfig({}), oidc: {} } as DashboardOptions)
  await app.ready()
  return routes
}

async function sceneOf(service: TestService): Promise<Scene> {
  await allowSignIn(service, 'ann')
  const site = service.url.replace('127.0.0.1', 'localhost')
  const ann = await signedIn(site)
  const device = authenticator(site)
  return {
    service,
    ann,
    site,
    device,
    invite: async () => `/invitation/${await createInvitation(service.store, { accountId: 1 }, Date.now())}`,
    handle: async () =>
      String((await listGiven(service.store, 1, Date.now())).find(({ username }) => username !== 'ben')?.handle),
    async answer(purpose, invitation = '') {
      const { text } = await ann.post('/passkeys/options', { purpose, invitation, name: 'Phone' })
      const options = JSON.parse(text)
      if (purpose === 'signin') return device.get(options)
      return (purpose === 'register' ? device : authenticator(site)).create(options)
    },
    async viaIssuer(path) {
      const address = await addressAt(ann, path)
      const { pathname, search } = new URL(await issuerVisitor(issuer.url).follow(address, 'somebody'))
      return ann.get(pathname + search)
    },
  }
}

const AGENT = { 'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

async function signedIn(site: string): Promise<Visitor> {
  const ann = visitor(site, AGENT)
  assert.equal((await ann.signIn('ann')).status, 303)
  return ann
}

const eventsOf = ({ store }: Pick<TestService, 'store'>): Promise<AccountEvent[]> =>
  listEvents(store, 1, { limit: 500 })

test('failed sign-ins are counted by hour and network, in a bounded number of rows, and unknown names write nothing', async () => {
  await using service = await startService(world, { ...BEHIND_PROXY, LOCKSTEP_INSECURE_HTTP: 'on' })
  await allowSignIn(service, 'ann')
  const fail = async (username: string, address: string) => {
    const seen = await visitor(service.url, { ...AGENT, 'X-Forwarded-For': address }).signIn(username, 'wrong password')
    assert.equal(seen.status, 403)
  }
  for (const username of ['ann', 'nobody', 'a\u0000', 'x'.repeat(10_000)]) await fail(username, '203.0.113.7')
  for (const address of ['203.0.113.200', '2001:db8:1:2::7', '2001:db8:1:ffff::8']) await fail('ann', address)
  const failed = async () => (await eventsOf(service)).filter(({ kind }) => kind === 'sign-in-failed')
  const total = async () => (await failed()).reduce((sum, { times }) => sum + times, 0)
  await until(async () => (await total()) === 4)
  const counted = (await failed()).map(({ network, browser, actor, times, at }) =>
    [network, browser, actor, times, at % HOUR_MS].join(' / '),
  )
  assert.deepEqual(
    new Set(counted),
    new Set(['2001:db8:1::/48 / Firefox on Linux /  / 2 / 0', '203.0.113.0/24 / Firefox on Linux /  / 2 / 0']),
  )
  const all = await service.store.db.selectFrom('account_event').select('kind').execute()
  assert.equal(all.filter(({ kind }) => kind === 'sign-in-failed').length, 2)
  const errors = service.log.filter(line => line.includes('error'))
  assert.deepEqual(errors, [])
})

test('a wrong password of somebody who is signed in is counted', async () => {
  await using service = await startService(world)
  await allowSignIn(service, 'ann')
  const ann = await signedIn(service.url)
  await ann.post('/settings/password', { current: 'wrong password', next, again: next })
  await ann.post('/signin', { again: '1', password: 'wrong password', next: '/' })
  await until(async () => (await eventsOf(service)).some(({ kind, times }) => kind === 'sign-in-failed' && times === 2))
})

const HOUR_MS = 3_600_000
const BEHIND_PROXY = { ...unlimited, LOCKSTEP_TRUSTED_PROXIES: '127.0.0.1' }
