import type { Page } from 'playwright-core'
import { OWNER_UNKNOWN } from '../src/archive/batch-importer.ts'
import { createInvitation } from '../src/accounts/invitations.ts'
import { makeReadLog } from '../src/accounts/read-log.ts'
import { allowSignIn, sampleService, signIn } from '../test/support/dashboard.ts'
import { pullJob } from '../src/jobs/jobs.ts'
import type { RoundProgress } from '../src/pull/connections.ts'
import { openSecret, sealKey } from '../src/pull/stored-key.ts'
import { samplePages } from '../test/support/page-addresses.ts'
import { fiveYears } from '../test/support/heavy-year.ts'
import { account, trainingSession } from '../test/support/records.ts'
import { startService, type TestService } from '../test/support/service.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../test/support/sources/source-server.ts'

/** What is photographed: every page, in each of its states. */

export interface Scene {
  /** Names sort as the pages are used. */
  readonly name: string
  /** The path of the page, below the address of its service. */
  readonly path: string
  /** What the service has: the sample by default. */
  readonly on?: StageName
  /** What is done on the page before it is photographed. */
  readonly act?: (page: Page, stage: Stage) => Promise<unknown>
  /** Shown to somebody who is not signed in. */
  readonly signedOut?: boolean
}

export type StageName = keyof typeof stages

/** A service and the name of the account that looks at it. */
export interface Stage {
  readonly service: TestService
  readonly username?: string
  /** The address of a server to connect. */
  readonly source?: string
  /** What is done once after signing in. */
  readonly prepare?: (page: Page) => Promise<unknown>
}

export const stages = {
  sample: async () => ({ service: await preparedSample(), username: 'alex' }),
  /** Without any account. */
  empty: async () => ({ service: await startService() }),
  /** An account without any record. */
  fresh: async () => {
    const service = await startService([account(1, 'ann')])
    await allowSignIn(service, 'ann')
    return { service, username: 'ann' }
  },
  /** An account without any record, and a server that it may connect. */
  connecting: async () => {
    const world = new SourceWorld().add(account(4711, 'alex'), trainingSession(1, 4711))
    const source = await startSource({ world, me: 4711, identity: '/me', withoutLists: ['/lkbx'] })
    const service = await startService([account(1, 'ann')], { LOCKSTEP_SOURCE_ORIGINS: source.url })
    await allowSignIn(service, 'ann')
    const close = async () => {
      await service[Symbol.asyncDispose]()
      await source[Symbol.asyncDispose]()
    }
    return { service: { ...service, [Symbol.asyncDispose]: close }, username: 'ann', source: source.url }
  },
  /** An account with a connected source, from which all records are stored. */
  connected: () => connectedStage({ rejected: 0, isOld: false }),
  /** And some are not. */
  rejected: () => connectedStage({ rejected: 75, isOld: false }),
  /** And nothing came for a day. */
  refused: () => connectedStage({ rejected: 0, isOld: true }),
  /** Five years of heavy use. */
  heavy: async () => {
    const service = await startService([account(1, 'ann'), ...fiveYears(1, Date.now())])
    await allowSignIn(service, 'ann')
    return { service, username: 'ann' }
  },
  /** Looking at the records of somebody else, as three days before. */
  partner: async () => {
    const service = await preparedSample()
    const log = makeReadLog(service.store, { days: 30, onFailure: console.error })
    log.record({ accountId: 1, via: 'dashboard', keyName: '' }, 2, 'dtt', 'statistics', Date.now() - 3 * 86_400_000)
    await log.close()
    return { service, username: 'alex', prepare: showRecordsOfAnother }
  },
  /** Signed in so long ago that the password is asked for again. */
  aged: async () => ({ service: await preparedSample(), username: 'alex' }),
  /** Few pages in a while. */
  limited: async () => ({ service: await sampleService({ LOCKSTEP_PAGE_LIMIT: '6' }), username: 'alex' }),
  /** A service that fails to show lock templates. */
  broken: async () => {
    const service = await sampleService()
    await service.store.db.schema.alterTable('lock_template').renameTo('gone').execute()
    return { service, username: 'alex' }
  },
} satisfies Record<string, () => Promise<Stage>>

/** Pages in other states than that of the sample. */
const states: readonly Scene[] = [
  { name: 'signin', path: '/signin', signedOut: true },
  { name: 'signin-wrong', path: '/signin', signedOut: true, act: enterWrongPassword },
  { name: 'signin-empty-service', path: '/signin', signedOut: true, on: 'empty' },
  { name: 'signed-out-not-found', path: '/nowhere', signedOut: true },
  { name: 'docs', path: '/docs', signedOut: true },
  { name: 'overview-fresh', path: '/', on: 'fresh' },
  { name: 'overview-heavy', path: '/', on: 'heavy' },
  { name: 'overview-partner', path: '/', on: 'partner' },
  { name: 'training-partner', path: '/training', on: 'partner' },
  { name: 'training-4w', path: '/training?range=4w' },
  { name: 'training-1y', path: '/training?range=1y' },
  { name: 'training-all-heavy', path: '/training?range=all', on: 'heavy' },
  { name: 'training-type', path: '/training?range=1y&type=endurance&sort=grade' },
  { name: 'training-nothing-found', path: '/training?from=2020-01-01&to=2020-01-28&type=freeform' },
  { name: 'training-fresh', path: '/training', on: 'fresh' },
  { name: 'training-table', path: '/training?range=1y&table=grades' },
  { name: 'training-tooltip', path: '/training?range=12w', act: hoverOverBar },
  { name: 'year-fresh', path: '/year', on: 'fresh' },
  { name: 'session-data', path: '/training/100?view=data' },
  { name: 'programs-fresh', path: '/programs', on: 'fresh' },
  { name: 'program-data', path: '/programs/13?view=data' },
  { name: 'locks-fresh', path: '/locks', on: 'fresh' },
  { name: 'locks-heavy', path: '/locks', on: 'heavy' },
  { name: 'lock-running-data', path: '/locks/44?view=data' },
  { name: 'lock-ended', path: '/locks/37' },
  { name: 'lock-short', path: '/locks/43' },
  { name: 'lock-templates-fresh', path: '/lock-templates', on: 'fresh' },
  { name: 'lock-templates-500', path: '/lock-templates', on: 'broken' },
  { name: 'keys-fresh', path: '/keys', on: 'fresh' },
  { name: 'keys-revoke', path: '/keys', act: page => openForm(page, 'Revoke') },
  { name: 'keys-regenerate', path: '/keys', act: page => openForm(page, 'Regenerate') },
  { name: 'settings-confirm', path: '/settings', on: 'aged', act: confirmAgain },
  { name: 'invitation', path: '/', act: openInvitation, signedOut: true },
  { name: 'keys-shown', path: '/keys', act: createKey },
  { name: 'people-ended', path: '/people?done=ended' },
  { name: 'settings-password-changed', path: '/settings?saved=password' },
  { name: 'download-from-elsewhere', path: '/settings', act: followFromElsewhere },
  { name: 'too-many-pages', path: '/', act: reloadOften, on: 'limited' },
  { name: 'source-fresh', path: '/source', on: 'fresh' },
  { name: 'source-upload-preview', path: '/source/upload', on: 'fresh', act: checkTable },
  { name: 'source-old-sign-in', path: '/source', on: 'fresh', act: ageSignIn },
  { name: 'source-wrong', path: '/source/connect', on: 'connecting', act: enterWrongSource },
  { name: 'source-whose', path: '/source', on: 'connecting', act: checkSource },
  { name: 'source-copying', path: '/source', on: 'connected', act: changeSource({ state: 'running', failure: null }) },
  {
    name: 'source-connected',
    path: '/source',
    on: 'connected',
    act: changeSource({ state: 'waiting', failure: null }),
  },
  { name: 'source-stopped', path: '/source', on: 'connected', act: changeSource({ state: 'stopped', failure: null }) },
  {
    name: 'source-rejected',
    path: '/source',
    on: 'rejected',
    act: changeSource({ state: 'waiting', failure: null, rejected: 75 }),
  },
  {
    name: 'source-refused',
    path: '/source',
    on: 'refused',
    act: changeSource({ state: 'waiting', failure: 'refused' }),
  },
  {
    name: 'source-change',
    path: '/source',
    on: 'connected',
    act: page => page.getByText('More', { exact: true }).click(),
  },
  { name: 'source-key', path: '/source/key', on: 'connected' },
  { name: 'source-gone', path: '/source/gone', on: 'rejected' },
  { name: 'source-locks', path: '/source/locks', on: 'connected' },
  { name: 'source-forget', path: '/source/forget', on: 'connected' },
  { name: 'overview-refused', path: '/', on: 'refused' },
  { name: 'not-found', path: '/locks/99999' },
]

/** Every page of the sample, each before its states. */
export const scenes: readonly Scene[] = [
  ...states.filter(({ path }) => !samplePages.includes(pathOf(path))),
  ...samplePages.flatMap(path => [
    { name: path === '/' ? 'overview' : path.slice(1).replaceAll('/', '-'), path },
    ...states.filter(scene => pathOf(scene.path) === path),
  ]),
]

function pathOf(address: string): string {
  return address.replace(/\?.*/, '')
}

async function preparedSample(): Promise<TestService> {
  const service = await sampleService({ LOCKSTEP_RATE_LIMIT: '0' })
  const { db } = service.store
  await db.updateTable('token').set({ last_used_at: Date.now() }).where('name', '=', 'Home Assistant').execute()
  await db
    .updateTable('token')
    .set({ expires_at: Date.now() + 12 * 86_400_000 })
    .where('name', '=', 'Notebook')
    .execute()
  return service
}

export async function signInTo(page: Page, { service, username, prepare }: Stage) {
  if (username !== undefined) await signIn(page, service.url, username)
  await prepare?.(page)
}

async function enterWrongPassword(page: Page) {
  await page.getByLabel('Username').fill('alex')
  await page.getByLabel('Password').fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('.problem').waitFor()
}

/** Sends a table as people keep one, up to the page that shows what is in it. */
export async function checkTable(page: Page) {
  const start = page.url()
  if (new URL(start).pathname === '/source/file') {
    // That of the look before.
    await page.getByRole('button', { name: /discard/i }).click()
    await page.getByText('No file waits here').waitFor()
    await page.goto(new URL('/source/upload', start).href)
  }
  const rows = [
    'Recorded,Passed,Program,Type,Grade,Duration (min),Repetitions,Distance (km),Mood',
    '2026-02-13 18:00,yes,Evening program,repetition,84,20,410,0.041,good',
    '2026-02-14 18:10,yes,Evening program,repetition,88,21,452,0.045,good',
    '2026-02-16 19:05,no,Evening program,repetition,52,9,188,0.019,tired',
    '2026-02-17 18:20,yes,Evening program,repetition,1000,,440,,good',
  ]
  await page
    .getByLabel('Files')
    .setInputFiles({ name: 'evenings.csv', mimeType: 'text/csv', buffer: Buffer.from(rows.join('\r\n')) })
  await page.getByRole('button', { name: 'Upload and check' }).click()
  await page.getByRole('heading', { name: 'What is in it' }).waitFor()
}

async function showRecordsOfAnother(page: Page) {
  await page.locator('.account > summary').click()
  await page.getByLabel('Records of').selectOption({ index: 1 })
  await page.locator('.banner').waitFor()
}

async function openInvitation(page: Page, { service }: Stage) {
  await page.goto(`${service.url}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`)
}

async function confirmAgain(page: Page, { service }: Stage) {
  const longAgo = { created_at: Date.now() - 20 * 60_000, confirmed_at: null }
  await service.store.db.updateTable('browser_session').set(longAgo).execute()
  await page.goto(`${service.url}/settings/export`)
  await page.getByText('Enter your password to continue').waitFor()
}

async function openForm(page: Page, action: string) {
  await page.getByRole('link', { name: action }).first().click()
  await page.waitForURL(/\/keys\/\d+/)
}

async function createKey(page: Page, { service }: Stage) {
  await service.store.db.deleteFrom('token').where('name', '=', 'Grafana').execute()
  await page.goto(`${service.url}/keys/new`)
  await page.getByLabel('Name').fill('Grafana')
  await page.getByLabel('Expires').selectOption('365d')
  await page.locator('main').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Your new key').waitFor()
}

async function followFromElsewhere(page: Page, { service }: Stage) {
  await page.goto('about:blank')
  await page.setContent(`<a href="${service.url}/people/reads.csv">Reads</a>`)
  await page.getByText('Reads').click()
  await page.waitForURL('**/reads.csv')
}

async function reloadOften(page: Page) {
  for (const _ of Array(6)) await page.reload()
  await page.getByText('Try again in').waitFor()
}

async function hoverOverBar(page: Page) {
  const plot = page.locator('#repetitions .plot')
  await plot.scrollIntoViewIfNeeded()
  await plot.hover()
  await page.locator('.tip').waitFor()
}

const SOURCE = 'https://history.example'

interface CopyOptions {
  readonly rejected: number
  /** Without the records of the last day. */
  readonly isOld: boolean
}

async function connectedStage(options: CopyOptions): Promise<Stage> {
  const service = await sampleService()
  await connectSource(service, Date.now(), options)
  return { service, username: 'alex' }
}

/** As after a few rounds from a source, the last of which it refused. */
async function connectSource(
  { store: { db }, databaseUrl }: TestService,
  now: number,
  { rejected, isOld }: CopyOptions,
) {
  const secret = openSecret({ databaseUrl, secretFile: '' })
  const { sealed, secretId } = sealKey(secret, { accountId: 1, origin: SOURCE }, 'a key')
  const connection = { account_id: 1, origin: SOURCE, every_minutes: 5, sealed_key: sealed, secret_id: secretId }
  const job = { name: pullJob(1), state: 'waiting', attempts: 30, next_at: now + 40 * 60_000 } as const
  const times = { started_at: now - 4000, failing_since: now - 86_400_000, refused_since: now - 86_400_000 }
  const completed = now - 86_700_000
  if (isOld) await db.deleteFrom('training_session').where('at', '>', completed).execute()
  await db.updateTable('account').set({ as_of: completed }).where('id', '=', 1).execute()
  const progress = JSON.stringify({
    read: [{ kind: 'lock-session', read: 37, total: 38 }],
  } satisfies RoundProgress)
  const rest = { failure: 'refused', username: 'alex', known_locks: '', mine: 0 }
  await db
    .insertInto('job')
    .values({ ...job, report: progress })
    .execute()
  await db
    .insertInto('source_connection')
    .values({ ...connection, ...times, ...rest })
    .execute()
  const own = (table: 'training_session' | 'lock_session') =>
    db.selectFrom(table).select('id').where('owner_id', '=', 1).orderBy('id').execute()
  const all = [await own('training_session'), await own('lock_session')].flat().length
  for (const round of [0, 1, 2, 3]) {
    const counts = {
      added: round < 3 ? 0 : all,
      replaced: round % 3,
      gone: round === 1 && rejected > 0 ? 6 : 0,
      rejected: round === 0 ? 0 : rejected,
    }
    const ended = { account_id: 1, ended_at: now - 86_400_000 - round * 300_000 }
    await db
      .insertInto('source_round')
      .values({ ...ended, ...counts, failure: round === 0 ? 'refused' : null })
      .execute()
  }
  const known = { account_id: 1, origin: SOURCE, username: 'alex', knows_me: 1, capabilities: '{}' }
  const { id } = await db
    .insertInto('pull_source')
    .values({ ...known, completed_at: completed, full_at: completed })
    .returning('id')
    .executeTakeFirstOrThrow()
  for (const [kind, table] of [
    ['training-session', 'training_session'],
    ['lock-session', 'lock_session'],
  ] as const) {
    for (const [index, row] of (await own(table)).entries()) {
      const gone = rejected > 0 && index < 3 ? completed : null
      const pulled = { source_id: id, kind, id: row.id, owner_id: 1, form: '', open_at: null }
      await db
        .insertInto('pull_row')
        .values({ ...pulled, missing_at: gone, gone_at: gone })
        .execute()
    }
  }
  for (let index = 0; index < rejected; index += 1) {
    const row = { source: SOURCE, row_key: `k${index}`, kind: 'training-session', record_id: 9000 + index }
    const seen = { owner_id: null, account_id: 1, first_seen_at: now, last_seen_at: now }
    const pulled = { source_id: id, kind: row.kind, id: row.record_id, owner_id: 1, form: '', open_at: null }
    await db
      .insertInto('pull_row')
      .values({ ...pulled, missing_at: null, gone_at: null })
      .execute()
    await db
      .insertInto('set_aside')
      .values({ ...row, ...seen, reason: OWNER_UNKNOWN, raw: `{"id":${9000 + index}}`, encoding: 'utf-8' })
      .execute()
  }
}

interface SourceChange {
  readonly state: 'running' | 'waiting' | 'stopped'
  readonly failure: string | null
  readonly rejected?: number
}

/** The last round was a minute ago, or a day where it failed. */
function changeSource({ state, failure, rejected = 0 }: SourceChange) {
  return async (page: Page, { service }: Stage) => {
    const { db } = service.store
    await db
      .updateTable('job')
      .set({ state, ...(failure === null && { next_at: Date.now() + 240_000 }) })
      .execute()
    await db
      .updateTable('source_connection')
      .set({ failure, started_at: Date.now() - 9000, refused_since: Date.now() - 86_400_000 })
      .execute()
    const at = Date.now() - (failure === null ? 60_000 : 86_400_000)
    const newest = db.selectFrom('source_round').select(({ fn }) => fn.max('ended_at').as('at'))
    const last = (await newest.executeTakeFirstOrThrow()).at
    await db
      .updateTable('source_round')
      .set(eb => ({ ended_at: eb('ended_at', '+', at - last) }))
      .execute()
    await db.updateTable('source_round').set({ failure, rejected }).where('ended_at', '=', at).execute()
    const completed = failure === null ? at : at - 300_000
    await db.updateTable('pull_source').set({ completed_at: completed }).execute()
    await db.updateTable('account').set({ as_of: completed }).where('id', '=', 1).execute()
    await page.reload()
  }
}

async function ageSignIn(page: Page, { service }: Stage) {
  await service.store.db.updateTable('browser_session').set({ confirmed_at: 1 }).execute()
  await page.reload()
}

async function enterWrongSource(page: Page) {
  await page.getByLabel('Address of the server').fill('http://history.example')
  await page.getByLabel('API key of that server').fill('a key')
  await page.getByRole('button', { name: 'Check connection' }).click()
  await page.locator('.problem').waitFor()
}

async function checkSource(page: Page, { source = '' }: Stage) {
  await page.getByLabel('Address of the server').fill(source)
  await page.getByLabel('API key of that server').fill(SOURCE_TOKEN)
  await page.getByRole('button', { name: 'Check connection' }).click()
  await page.getByText('Whose key is it?').waitFor()
}
