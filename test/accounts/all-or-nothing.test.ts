// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addAccount } from '../../src/accounts/accounts.ts'
import { listGiven } from '../../src/accounts/given-access.ts'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { giveAccess } from '../support/sharing.ts'
import { authenticator } from '../support/authenticator.ts'
import { allowSignIn, PASSWORD, type Visitor, visitor } from '../support/dashboard.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { assertWholeOrNothing } from '../support/stopped-writes.ts'

// If one statement of a form fails, nothing of the form is stored. Acts share their transaction, so a few of them stand for all.

interface Form {
  readonly title: string
  /** What is done before; returns the path of the form, if only that tells it. */
  readonly before?: (service: TestService, ann: Visitor) => Promise<string | void>
  readonly send: (ann: Visitor, path: string, site: string) => Promise<{ readonly status: number }>
}

const next = 'another long password'
const AREAS: [string, string][] = [
  ['area', 'lkbx'],
  ['area', 'dtt'],
]

const forms: readonly Form[] = [
  { title: 'a sign-in', send: ann => ann.signIn('ann') },
  {
    title: 'a new password, which ends the other sessions',
    before: secondBrowser,
    send: ann => ann.post('/settings/password', { current: PASSWORD, next, again: next }),
  },
  { title: 'a new passkey', send: (ann, _, site) => addPasskey(ann, site) },
  {
    title: 'an invitation that is used',
    before: async ({ store }) => `/invitation/${await createInvitation(store, { accountId: 1 }, Date.now())}`,
    send: (ann, path) => ann.post(path, { next, again: next }),
  },
  {
    title: 'a key that replaces another',
    before: async service => void (await service.token('ann')),
    send: ann => ann.post('/keys/1/regenerate'),
  },
  {
    title: 'the end of access that the owner and the operator gave',
    before: givenTwice,
    send: (ann, path) => ann.post(path),
  },
  { title: 'the end of an account', send: ann => ann.post('/settings/delete', { username: 'ann' }) },
]

for (const form of forms) {
  // Deleted bytes are erased afterwards, in the background.
  test(`${form.title} is stored whole or not at all`, () =>
    assertWholeOrNothing(() => prepared(form), ['update on "job"', 'delete on "job"']))
}

/** Ann is signed in, and what comes before the form is done. */
async function prepared(form: Form) {
  const service = await startService([...world, trainingSession(1, 1)], unlimited)
  await allowSignIn(service, 'ann')
  const ann = visitor(siteOf(service))
  assert.equal((await ann.signIn('ann')).status, 303)
  const path = (await form.before?.(service, ann)) ?? ''
  const attempt = async () => {
    const { status } = await form.send(ann, path, siteOf(service))
    assert.ok(status < 400 || status >= 500, `${status}`)
    return status < 400
  }
  return { databaseUrl: service.databaseUrl, attempt, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

/** Passkeys do not work at an address. */
function siteOf({ url }: TestService): string {
  return url.replace('127.0.0.1', 'localhost')
}

/** Somebody else is signed in as Ann, and has an invitation that was not used. */
async function secondBrowser(service: TestService) {
  assert.equal((await visitor(siteOf(service)).signIn('ann')).status, 303)
  await createInvitation(service.store, { accountId: 1 }, Date.now())
}

async function addPasskey(ann: Visitor, site: string) {
  const { text } = await ann.post('/passkeys/options', { purpose: 'register', name: 'Phone' })
  return ann.post('/settings/passkeys/new', { answer: authenticator(site).create(JSON.parse(text)) })
}

/** Ann has given access to a name that no account had, and the operator to the account that got it. Returns the form that ends both. */
async function givenTwice({ store }: TestService, ann: Visitor): Promise<string> {
  assert.equal((await ann.post('/people/give', [['username', 'zoe'], ...AREAS])).status, 303)
  const { id } = await addAccount(store, { username: 'zoe', tier: null })
  await giveAccess(store, { ownerId: 1, partnerId: id })
  const given = (await listGiven(store, 1, Date.now())).find(({ username }) => username === 'zoe')
  return `/people/${given?.handle}/end`
}
