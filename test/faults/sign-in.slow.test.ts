import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open } from '../../src/store/index.ts'
import { makeFolder, type Running } from '../support/command.ts'
import { allowSignIn, type Visitor, visitor } from '../support/dashboard.ts'
import { type Failure, failures, makeFailingCalls } from '../support/preloaded.ts'
import { makeScene, type Scene } from '../support/faulted-commands.ts'
import { sharedServer, testOnPostgres } from '../support/postgres.ts'
import { type Cut, cuts, startQueryCuts } from '../support/query-cuts.ts'
import { onBusyMachine, startService } from '../support/service.ts'
import { eachPoint } from '../support/sweeps.ts'
import { until } from '../support/waiting.ts'

// engine: any

test('whichever call on a file fails in a sign-in, a session that was given is stored, and the next sign-in works', async t => {
  await using scene = await makeScene()
  await using kept = await makeFolder()
  using failing = makeFailingCalls(scene.folder.path, kept.path)
  if (failing === undefined) return t.skip('gcc is not installed')
  const url = `sqlite:${scene.folder.file('data/lockstep.db')}`
  let calls = 0
  const counted = (number: number, how: Failure) => {
    calls = failing.calls
    failing.arm(number, how)
  }
  const signIn = signInOn(scene, url, failing.env, counted)
  await signIn(0, 'once')
  const total = calls
  const failed = await eachPoint({ total, ways: failures, sample: 2 }, async ({ how, number }) => {
    await signIn(number, how)
    return calls >= number
  })
  t.diagnostic(`${total} calls, ${failed} failures`)
})

testOnPostgres(
  'whichever query loses its connection in a sign-in, a session that was given is stored, and the next sign-in works',
  async t => {
    const server = await sharedServer()
    await using proxy = await startQueryCuts(server.port)
    await using scene = await makeScene(server)
    let queries = 0
    const counted = (number: number, how: Cut) => {
      queries = proxy.queries
      proxy.arm(number, how)
    }
    const through = { LOCKSTEP_DATABASE_URL: proxy.urlOf(scene.databaseUrl) }
    const signIn = signInOn(scene, scene.databaseUrl, through, counted)
    await signIn(0, 'before')
    const total = queries
    const failed = await eachPoint({ total, ways: cuts, sample: 2 }, async ({ how, number }) => {
      await signIn(number, how)
      return queries >= number
    })
    t.diagnostic(`${total} queries, ${failed} failures`)
  },
)

/** Signs in to a service in which something fails meanwhile. */
function signInOn<How extends string>(
  scene: Scene,
  databaseUrl: string,
  env: Readonly<Record<string, string>>,
  arm: (number: number, how: How) => void,
) {
  return async (number: number, how: How) => {
    await scene.reset({ args: [] })
    const store = await open(databaseUrl, { busyTimeoutMs: 5000 })
    await allowSignIn({ store }, 'ann')
    await store.close()
    const settings = { ...onBusyMachine, LOCKSTEP_PULL: 'off', LOCKSTEP_DATABASE_URL: databaseUrl, ...env }
    await using running = scene.folder.start(['serve', '--port', '0'], { env: settings })
    const [, url = ''] = await running.says(/Listening on (\S+)/)
    arm(number, how)
    const given: Visitor[] = []
    const status = await trySignIn(url, given)
    // What failed works again.
    arm(0, how)
    if (status !== undefined) {
      assert.ok([303, 503].includes(status), `${status}: ${running.said.stderr}`)
      // That a server is back is noticed within a second.
      if (how === 'away') await until(async () => (await trySignIn(url, given)) === 303)
      else assert.equal(await trySignIn(url, given), 303, 'the next sign-in')
    }
    await end(running)
    await checkSessions(databaseUrl, given)
  }
}

/** Returns the status, and undefined if the process has ended. */
async function trySignIn(url: string, given: Visitor[]): Promise<number | undefined> {
  const ann = visitor(url)
  try {
    const { status } = await ann.signIn('ann')
    if (status === 303) given.push(ann)
    return status
  } catch {
    return undefined
  }
}

async function end(running: Running) {
  running.process.kill('SIGKILL')
  await running.ended
}

async function checkSessions(databaseUrl: string, given: readonly Visitor[]) {
  await using service = await startService([], {}, { databaseUrl })
  for (const { cookies } of given) {
    const ann = visitor(service.url)
    for (const [name, value] of cookies) ann.cookies.set(name, value)
    assert.equal((await ann.get('/keys')).status, 200, 'a session that was given')
  }
  const { db } = service.store
  const sessions = await db.selectFrom('browser_session').select('account_id').execute()
  const events = await db.selectFrom('account_event').select('times').where('kind', '=', 'signed-in-password').execute()
  const total = events.reduce((sum, { times }) => sum + times, 0)
  assert.equal(total, sessions.length)
}
