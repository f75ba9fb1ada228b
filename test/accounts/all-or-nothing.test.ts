// engine: sqlite
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { allowSignIn, PASSWORD, type Visitor, visitor } from '../support/dashboard.ts'
import { everything } from '../support/every-table.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

// If one statement of a form fails, nothing of the form is stored.

interface Form {
  readonly title: string
  /** What is done before; returns the path of the form, if only that tells it. */
  readonly before?: (service: TestService, ann: Visitor) => Promise<string | void>
  readonly send: (ann: Visitor, path: string) => Promise<{ readonly status: number }>
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
    before: async ({ url }) => void (await visitor(url).signIn('ann')),
    send: ann => ann.post('/settings/password', { current: PASSWORD, next, again: next }),
  },
  {
    title: 'an invitation that is used',
    before: async ({ store }) => `/invitation/${await createInvitation(store, 1, Date.now())}`,
    send: (ann, path) => ann.post(path, { next, again: next }),
  },
  { title: 'a new key', send: ann => ann.post('/keys', { name: 'Script', scope: 'dtt:read', expires: '30d' }) },
  {
    title: 'a key that replaces another',
    before: async service => void (await service.token('ann')),
    send: ann => ann.post('/keys/1/regenerate'),
  },
  { title: 'access that is given', send: ann => ann.post('/people/give', [['username', 'cas'], ...AREAS]) },
  {
    title: 'access that is given to a name without an account',
    send: ann => ann.post('/people/give', [['username', 'nobody'], ...AREAS]),
  },
  { title: 'the end of an account', send: ann => ann.post('/settings/delete', { username: 'ann' }) },
]

for (const form of forms) {
  test(`${form.title} is stored whole or not at all`, async () => {
    const steps = await stepsOf(form)
    assert.ok(steps.length > 0)
    await using service = await signedIn()
    const path = (await form.before?.(service, service.ann)) ?? ''
    const before = await stateOf(service)
    using database = new DatabaseSync(service.databaseUrl.slice('sqlite:'.length), { timeout: 5000 })
    for (const step of steps) {
      database.exec(`create trigger stop before ${step} begin select raise(abort, 'stopped'); end`)
      const { status } = await form.send(service.ann, path)
      database.exec('drop trigger stop')
      assert.ok(status >= 500, `${step}: ${status}`)
      assert.deepEqual(await stateOf(service), before, step)
    }
    assert.ok((await form.send(service.ann, path)).status < 400)
  })
}

/** What a form does to which tables, such as `update on account`. */
async function stepsOf(form: Form): Promise<string[]> {
  await using service = await signedIn()
  const path = (await form.before?.(service, service.ann)) ?? ''
  using database = new DatabaseSync(service.databaseUrl.slice('sqlite:'.length), { timeout: 5000 })
  const tables = Object.keys(await everything(service.store))
  database.exec('create table seen (step text primary key) strict')
  for (const [index, table] of tables.entries()) {
    for (const what of ['insert', 'update', 'delete']) {
      const step = `${what} on "${table}"`
      database.exec(
        `create trigger "see ${what} ${index}" after ${step} begin insert or ignore into seen values ('${step}'); end`,
      )
    }
  }
  assert.ok((await form.send(service.ann, path)).status < 400)
  const seen = database.prepare('select step from seen').all()
  // When a session was used is stored beside its requests.
  return seen.map(({ step }) => String(step)).filter(step => step !== 'update on "browser_session"')
}

/** Ann is signed in. */
async function signedIn() {
  const service = await startService([...world, trainingSession(1, 1)], unlimited)
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  assert.equal((await ann.signIn('ann')).status, 303)
  return { ...service, ann }
}

async function stateOf({ store }: TestService): Promise<string> {
  return JSON.stringify(await everything(store)).replaceAll(/\[\\"seen_at\\",\d+\]/g, '')
}
