import type { Page } from 'playwright-core'
import { createInvitation } from '../src/accounts/invitations.ts'
import { allowSignIn, sampleService, signIn } from '../test/support/dashboard.ts'
import { samplePages } from '../test/support/page-addresses.ts'
import { heavyYear } from '../test/support/heavy-year.ts'
import { account } from '../test/support/records.ts'
import { startService, type TestService } from '../test/support/service.ts'

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
  /** A year of heavy use. */
  heavy: async () => {
    const service = await startService([account(1, 'ann'), ...heavyYear(1, Date.now())])
    await allowSignIn(service, 'ann')
    return { service, username: 'ann' }
  },
  /** Looking at the records of somebody else. */
  partner: async () => ({ service: await preparedSample(), username: 'alex', prepare: showRecordsOfAnother }),
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
  { name: 'training-compare-before', path: '/training?range=12w&compare=before' },
  { name: 'training-compare-year', path: '/training?range=12w&compare=year&scale=full' },
  { name: 'training-kind', path: '/training?range=1y&kind=endurance&sort=grade' },
  { name: 'training-nothing-found', path: '/training?range=4w&result=not-passed&kind=freeform' },
  { name: 'training-fresh', path: '/training', on: 'fresh' },
  { name: 'training-table', path: '/training?range=1y&table=grades' },
  { name: 'training-tooltip', path: '/training?range=12w', act: hoverOverBar },
  { name: 'bests-fresh', path: '/bests', on: 'fresh' },
  { name: 'session-json', path: '/training/100?view=json' },
  { name: 'session-curl', path: '/training/100?view=curl' },
  { name: 'programs-fresh', path: '/programs', on: 'fresh' },
  { name: 'program-json', path: '/programs/13?view=json' },
  { name: 'locks-fresh', path: '/locks', on: 'fresh' },
  { name: 'locks-heavy', path: '/locks', on: 'heavy' },
  { name: 'lock-running-json', path: '/locks/43?view=json' },
  { name: 'lock-ended', path: '/locks/37' },
  { name: 'lock-ended-curl', path: '/locks/37?view=curl' },
  { name: 'lock-short', path: '/locks/42' },
  { name: 'lock-templates-fresh', path: '/lock-templates', on: 'fresh' },
  { name: 'lock-templates-500', path: '/lock-templates', on: 'broken' },
  { name: 'keys-fresh', path: '/keys', on: 'fresh' },
  { name: 'keys-dialog', path: '/keys', act: openKeyDialog },
  { name: 'keys-dialog-revoke', path: '/keys', act: page => openDialog(page, 'Revoke') },
  { name: 'keys-dialog-regenerate', path: '/keys', act: page => openDialog(page, 'Regenerate') },
  { name: 'keys-dialog-revoke-all', path: '/keys', act: page => openDialog(page, 'Revoke all keys') },
  { name: 'keys-never', path: '/keys/new', act: chooseNever },
  { name: 'settings-confirm', path: '/settings', on: 'aged', act: confirmAgain },
  { name: 'invitation', path: '/', act: openInvitation, signedOut: true },
  { name: 'keys-dialog-shown', path: '/keys', act: createKey },
  { name: 'people-ended', path: '/people?done=ended' },
  { name: 'settings-password-changed', path: '/settings?saved=password' },
  { name: 'settings-weak-password', path: '/settings', act: showPasswordNotice },
  { name: 'download-from-elsewhere', path: '/settings', act: followFromElsewhere },
  { name: 'too-many-pages', path: '/', act: reloadOften, on: 'limited' },
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
  await db
    .updateTable('token')
    .set({ last_used_at: Date.now() - 7 * 60_000 })
    .where('name', '=', 'Home Assistant')
    .execute()
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

async function showRecordsOfAnother(page: Page) {
  await page.getByLabel('Records of').selectOption({ index: 1 })
  await page.locator('.banner').waitFor()
}

async function openInvitation(page: Page, { service }: Stage) {
  await page.goto(`${service.url}/invitation/${await createInvitation(service.store, 3, Date.now())}`)
}

async function confirmAgain(page: Page, { service }: Stage) {
  const longAgo = { created_at: Date.now() - 20 * 60_000, confirmed_at: null }
  await service.store.db.updateTable('browser_session').set(longAgo).execute()
  await page.goto(`${service.url}/settings/export`)
  await page.getByText('Enter your password to continue').waitFor()
}

async function openKeyDialog(page: Page) {
  await page.getByRole('link', { name: 'Create key' }).click()
  await page.locator('dialog').waitFor()
}

async function openDialog(page: Page, action: string) {
  await page.getByRole('link', { name: action }).first().click()
  await page.locator('dialog').waitFor()
}

async function createKey(page: Page, { service }: Stage) {
  await service.store.db.deleteFrom('token').where('name', '=', 'Grafana').execute()
  await openKeyDialog(page)
  await page.getByLabel('Name').fill('Grafana')
  await page.getByLabel('Expires').selectOption('365d')
  await page.locator('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Your new key').waitFor()
}

async function chooseNever(page: Page) {
  await page.getByLabel('Name').fill('Grafana')
  await page.getByLabel('Expires').selectOption('never')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByText('A key that never expires?').first().waitFor()
}

async function showPasswordNotice(page: Page, { service }: Stage) {
  await page.context().addCookies([{ name: 'password-notice', value: 'common', url: service.url }])
  await page.reload()
  await page.locator('.banner').waitFor()
}

async function followFromElsewhere(page: Page, { service }: Stage) {
  await page.goto('about:blank')
  await page.setContent(`<a href="${service.url}/settings/events.csv">Events</a>`)
  await page.getByText('Events').click()
  await page.waitForURL('**/events.csv')
}

async function reloadOften(page: Page) {
  for (const _ of Array(6)) await page.reload()
  await page.getByText('Try again in').waitFor()
}

async function hoverOverBar(page: Page) {
  const bar = page.locator('#repetitions .plot g[data-mark=rect] rect').nth(2)
  await bar.scrollIntoViewIfNeeded()
  await bar.hover({ force: true })
  await page.locator('#repetitions .plot g[aria-label=tip] path').waitFor()
}
