import type { Page } from 'playwright-core'
import { createInvitation } from '../src/accounts/invitations.ts'
import { allowSignIn, sampleService, signIn } from '../test/support/dashboard.ts'
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
  /** A service that fails to show lock templates. */
  broken: async () => {
    const service = await sampleService()
    await service.store.db.schema.alterTable('lock_template').renameTo('gone').execute()
    return { service, username: 'alex' }
  },
} satisfies Record<string, () => Promise<Stage>>

export const scenes: readonly Scene[] = [
  { name: 'signin', path: '/signin', signedOut: true },
  { name: 'signin-wrong', path: '/signin', signedOut: true, act: enterWrongPassword },
  { name: 'signin-empty-service', path: '/signin', signedOut: true, on: 'empty' },
  { name: 'signed-out-not-found', path: '/nowhere', signedOut: true },
  { name: 'docs', path: '/docs', signedOut: true },
  { name: 'overview', path: '/' },
  { name: 'overview-fresh', path: '/', on: 'fresh' },
  { name: 'overview-heavy', path: '/', on: 'heavy' },
  { name: 'overview-partner', path: '/', on: 'partner' },
  { name: 'training-partner', path: '/training', on: 'partner' },
  { name: 'training', path: '/training' },
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
  { name: 'bests', path: '/bests' },
  { name: 'bests-fresh', path: '/bests', on: 'fresh' },
  { name: 'session', path: '/training/100' },
  { name: 'session-json', path: '/training/100?view=json' },
  { name: 'session-curl', path: '/training/100?view=curl' },
  { name: 'programs', path: '/programs' },
  { name: 'programs-fresh', path: '/programs', on: 'fresh' },
  { name: 'program', path: '/programs/13' },
  { name: 'program-json', path: '/programs/13?view=json' },
  { name: 'locks', path: '/locks' },
  { name: 'locks-fresh', path: '/locks', on: 'fresh' },
  { name: 'locks-heavy', path: '/locks', on: 'heavy' },
  { name: 'lock-running', path: '/locks/43' },
  { name: 'lock-running-json', path: '/locks/43?view=json' },
  { name: 'lock-ended', path: '/locks/37' },
  { name: 'lock-ended-curl', path: '/locks/37?view=curl' },
  { name: 'lock-short', path: '/locks/42' },
  { name: 'lock-templates', path: '/lock-templates' },
  { name: 'lock-templates-fresh', path: '/lock-templates', on: 'fresh' },
  { name: 'lock-templates-500', path: '/lock-templates', on: 'broken' },
  { name: 'lock-template', path: '/lock-templates/44' },
  { name: 'keys', path: '/keys' },
  { name: 'keys-fresh', path: '/keys', on: 'fresh' },
  { name: 'keys-dialog', path: '/keys', act: openKeyDialog },
  { name: 'keys-dialog-revoke', path: '/keys', act: page => openDialog(page, 'Revoke') },
  { name: 'keys-dialog-regenerate', path: '/keys', act: page => openDialog(page, 'Regenerate') },
  { name: 'keys-new', path: '/keys/new' },
  { name: 'settings-confirm', path: '/settings', on: 'aged', act: confirmAgain },
  { name: 'invitation', path: '/', act: openInvitation, signedOut: true },
  { name: 'keys-recipes', path: '/keys/recipes' },
  { name: 'keys-dialog-shown', path: '/keys', act: createKey },
  { name: 'people', path: '/people' },
  { name: 'people-give', path: '/people/give' },
  { name: 'people-narrow', path: '/people', act: page => followFirst(page, 'narrow') },
  { name: 'people-end', path: '/people', act: page => followFirst(page, 'end') },
  { name: 'settings', path: '/settings' },
  { name: 'settings-delete', path: '/settings/delete' },
  { name: 'not-found', path: '/locks/99999' },
]

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

async function followFirst(page: Page, action: string) {
  const address = await page.locator(`a[href$="/${action}"]`).first().getAttribute('href')
  await page.goto(new URL(address ?? '', page.url()).href)
}

async function createKey(page: Page, { service }: Stage) {
  await service.store.db.deleteFrom('token').where('name', '=', 'Grafana').execute()
  await openKeyDialog(page)
  await page.getByLabel('Name').fill('Grafana')
  await page.locator('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByText('Your new key').waitFor()
}

async function hoverOverBar(page: Page) {
  const bar = page.locator('#repetitions .plot g[data-mark=rect] rect').nth(2)
  await bar.scrollIntoViewIfNeeded()
  await bar.hover({ force: true })
  await page.locator('#repetitions .plot g[aria-label=tip] path').waitFor()
}
