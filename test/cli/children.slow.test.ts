// engine: any
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { connectSource, listRounds, readConnection } from '../../src/pull/connections.ts'
import { open, type Store } from '../../src/store/index.ts'
import { makeFolder, start } from '../support/command.ts'
import { PASSWORD, type Visitor, visitor, visitorAs } from '../support/dashboard.ts'
import { newPostgres, newSqlite } from '../support/databases.ts'
import { makeFailingCalls } from '../support/preloaded.ts'
import { runSql, startPostgres, testOnPostgres } from '../support/postgres.ts'
import { childrenOf as allChildrenOf, isAlive, needsProc, readOf } from '../support/programs.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { canMount, CANNOT_MOUNT, mountSmall, smallDatabase } from '../support/small-disk.ts'
import { byOperator } from '../support/sources/pulls.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { settledPage, upload } from '../support/uploads.ts'
import { until, within } from '../support/waiting.ts'

// The processes that a service starts, and what becomes of them.

suite('children', { concurrency: 4, ...needsProc }, () => {
  testOnPostgres('after PostgreSQL was away for two seconds, pulls and uploads go on without a restart', async () => {
    using server = await startPostgres()
    const { url } = await newPostgres(server.url)
    await using scene = await makeScene(url)
    await scene.goesOnAfter(async () => {
      await server.stop('fast')
      await sleep(2000)
      await server.start()
    })
  })

  testOnPostgres(
    'while the disk of PostgreSQL is full, sign-in and Source say so, and afterwards pulls and uploads go on without a restart',
    async t => {
      if (!canMount) return t.skip(CANNOT_MOUNT)
      await using folder = await makeFolder()
      await using disk = mountSmall(folder, '32m')
      using server = await startPostgres()
      const url = await smallDatabase(server, folder, disk)
      await using scene = await makeScene(url)
      // A page of a table takes few sessions, so that one soon needs more room.
      await runSql(url, 'alter table browser_session set (fillfactor = 10)')
      await scene.goesOnAfter(async () => {
        disk.fill()
        // A busy machine may refuse some for another reason.
        await until(async () => {
          const { status, text } = await visitor(scene.url).signIn('ann')
          return status === 503 && FULL.test(text)
        })
        await until(async () => (await readConnection(scene.store, 1))?.failure === 'disk-full')
        assert.match((await scene.ann.get('/source')).text, FULL)
        assert.match(await settledPage(scene.ann), /There is not enough free space on the disk of this service/i)
        disk.empty()
        await upload(scene.url, scene.ann, { a: template })
        await scene.ann.post('/source/pull')
      })
    },
  )

  test('after the disk was full for two seconds, pulls and uploads go on without a restart', async t => {
    await using folder = await makeFolder()
    await using kept = await makeFolder()
    using failing = makeFailingCalls(folder.path, kept.path)
    if (failing === undefined) return t.skip('gcc is not installed')
    await using scene = await makeScene(`sqlite:${folder.file('lockstep.db')}`, failing.env)
    await scene.goesOnAfter(async () => {
      failing.arm(1, 'full disk')
      const { status, text } = await visitor(scene.url).signIn('ann')
      assert.equal(status, 503)
      assert.match(text, FULL)
      await sleep(2000)
      failing.arm(0, 'full disk')
    })
  })

  test('a process that pulls and stands still is ended after two minutes, and another one goes on', async () => {
    const database = newSqlite()
    {
      await using scene = await makeScene(database.url)
      const stopped = await scene.stopChild('pull')
      // At most three minutes, and the time that a busy machine adds.
      const said = /the process that pulls: it showed no progress for 120 seconds, and was ended/
      await within(600_000, async () => said.test(scene.said()))
      assert.ok(!isAlive(stopped))
      await until(() => scene.hasPulled())
    }
    await database.remove()
  })

  test('of a process that stands still when its service is killed, another service takes over the account when its lease has ended', async () => {
    const database = newSqlite()
    {
      await using scene = await makeScene(database.url)
      const stopped = await scene.stopChild('pull')
      scene.killService()
      await using next = await scene.serveAgain()
      await within(120_000, () => scene.hasPulled())
      assert.ok(isAlive(stopped))
      await until(async () => next.said.stderr !== '')
      assert.match(
        next.said.stderr,
        /the pull since \S+ by the service \(process \d+ on .+\) stands still: this one takes/,
      )
    }
    await database.remove()
  })

  test('a command that stands still keeps an account until its lease has ended, the page says what is waited for, and afterwards it stores nothing more', async () => {
    const database = newSqlite()
    {
      await using scene = await makeScene(database.url)
      scene.release()
      await until(() => scene.hasPulled())
      scene.hold()
      await using command = start(['pull', '--full', '--database', database.url], { env: scene.pullSettings })
      await until(async () => scene.isAskedForSessions() && (await isHeldBy(scene.store, 'the command')))
      await scene.ann.post('/source/pull')
      assert.match((await scene.ann.get('/source')).text, /Another process is copying into your account: a command of/)
      command.process.kill('SIGSTOP')
      scene.release()
      await within(120_000, async () => (await listRounds(scene.store, 1)).length > 1)
      await until(async () => scene.said() !== '')
      assert.match(scene.said(), /the pull since \S+ by the command \(process \d+ on .+\) stands still: this one takes/)
      assert.equal((await readConnection(scene.store, 1))?.failure, null)
      scene.hold()
      await scene.ann.post('/source/pull')
      await until(() => isHeldBy(scene.store, 'the service'))
      command.process.kill('SIGCONT')
      scene.release()
      const { code, stderr } = await command.ended
      assert.equal(code, 3, stderr)
      // The other one may have ended by now, too.
      assert.match(stderr, /another process has taken over, since \S+ by the service|was ended meanwhile/)
    }
    await database.remove()
  })

  test('a check that takes long lets the file of another account pass after a minute, and goes on', async () => {
    const database = newSqlite()
    {
      await using scene = await makeScene(database.url)
      scene.release()
      await until(() => scene.hasPulled())
      const templates = Array.from({ length: 60_000 }, (_, index) => `${JSON.stringify(lockTemplate(index + 1, 1))}\n`)
      await upload(scene.url, scene.ann, { a: templates.join('') })
      const checking = await scene.stopChild('upload')
      const ben = await visitorAs(scene.url, 'ben')
      await upload(scene.url, ben, { b: template })
      const passed = settledPage(ben)
      // It makes little progress meanwhile.
      while ((await Promise.race([passed, sleep(15_000)])) === undefined) {
        const before = cpuOf(checking)
        process.kill(checking, 'SIGCONT')
        await until(async () => cpuOf(checking) > before + 40)
        process.kill(checking, 'SIGSTOP')
      }
      assert.match(await passed, /1 record of other accounts/)
      assert.match((await scene.ann.get('/source/file')).text, /data-busy/)
      process.kill(checking, 'SIGCONT')
      assert.match(await settledPage(scene.ann), /60,000/)
    }
    await database.remove()
  })

  test('a check that stands still lets the file of another account pass after a minute, is ended, and the page names the command', async () => {
    const database = newSqlite()
    {
      await using scene = await makeScene(database.url)
      scene.release()
      await until(() => scene.hasPulled())
      await upload(scene.url, scene.ann, { a: template })
      const stopped = await scene.stopChild('upload')
      const ben = await visitorAs(scene.url, 'ben')
      await upload(scene.url, ben, { b: template })
      assert.match(await settledPage(ben), /1 record of other accounts/)
      assert.match(await settledPage(scene.ann), /made no progress, so this service ended it\..+lockstep import/)
      await until(async () => !isAlive(stopped))
    }
    await database.remove()
  })
})

const FULL = /The disk of this service is full, so nothing can be stored/

const template = `${JSON.stringify(lockTemplate(1, 1))}\n`

/** A service with accounts of Ann and Ben, and a source of Ann that lets a pull wait until it is released. */
async function makeScene(databaseUrl: string, env: Readonly<Record<string, string>> = {}) {
  const folder = await makeFolder()
  const config = { databaseUrl, secretFile: folder.file('secret') }
  const sessions = Array.from({ length: 120 }, (_, index) => trainingSession(index + 1, 1))
  const world = new SourceWorld().add(account(1, 'ann'), ...sessions)
  const source = await startSource({ world, identity: '/users/me', maxLimit: 20 })
  const store = await open(databaseUrl, { busyTimeoutMs: 20_000 })
  await importArchive(store, archiveOf([account(1, 'ann'), account(2, 'ben')]))
  for (const id of [1, 2]) await setPassword(store, { accountId: id, password: PASSWORD }, Date.now())
  let isHeld = true
  source.fault = path =>
    isHeld && path.startsWith('/dtt') ? { status: 429, headers: { 'Retry-After': '1' } } : undefined
  const settings = {
    LOCKSTEP_SECRET_FILE: config.secretFile,
    LOCKSTEP_SOURCE_ORIGINS: source.url,
    LOCKSTEP_PULL_RATE: '0',
    // An idle connection must not be closed just as a request is sent.
    LOCKSTEP_KEEP_ALIVE: '600',
    // A busy machine must not refuse an upload.
    LOCKSTEP_OVERLOAD_LAG: '0',
    ...env,
  }
  const serving = await serve(databaseUrl, { settings })
  const { url, process: service, said } = serving
  const ann = await visitorAs(url, 'ann')
  await connectSource({ store, config }, 1, { origin: source.url, key: SOURCE_TOKEN, everyMinutes: 5 }, byOperator)
  const pid = service.pid ?? 0
  const stopped: number[] = []
  let heldSince = 0
  const isAskedForSessions = () => source.requests.slice(heldSince).some(path => path.startsWith('/dtt'))

  const scene = {
    url,
    store: store satisfies Store,
    ann: ann satisfies Visitor,
    said: () => said.stderr,
    pullSettings: { ...settings, LOCKSTEP_SOURCE_URL: source.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN },
    killService: () => service.kill('SIGKILL'),
    serveAgain: () => serve(databaseUrl, { settings }),
    hold() {
      isHeld = true
      heldSince = source.requests.length
    },
    release: () => (isHeld = false),
    async hasPulled() {
      const rounds = await listRounds(store, 1).catch(() => [])
      return rounds.some(({ failure }) => failure === null)
    },
    isAskedForSessions,
    /** Stops the process that does this, as soon as there is one. */
    async stopChild(what: 'pull' | 'upload') {
      let child: number | undefined
      await until(async () => {
        child = childrenOf(pid, what)[0]
        // A pull has its lease by then, and waits for the source: one stopped within a transaction keeps all others from writing to SQLite.
        return child !== undefined && (what === 'upload' || isAskedForSessions())
      })
      process.kill(child ?? 0, 'SIGSTOP')
      stopped.push(child ?? 0)
      if (what === 'pull') scene.release()
      return child ?? 0
    },
    /** Something happens while a process pulls and another one checks a file. */
    async goesOnAfter(trouble: () => Promise<void>) {
      await until(async () => isAskedForSessions())
      const templates = Array.from({ length: 20_000 }, (_, index) => `${JSON.stringify(lockTemplate(index + 1, 1))}\n`)
      assert.equal((await upload(url, ann, { a: templates.join('') })).status, 303)
      const checking = await scene.stopChild('upload')
      const pulling = childrenOf(pid, 'pull')
      assert.equal(pulling.length, 1)
      const troubled = trouble()
      process.kill(checking, 'SIGCONT')
      scene.release()
      await troubled
      // A round that failed is tried again after a minute, and one that failed twice, as on a busy machine, after two.
      await within(400_000, () => scene.hasPulled())
      // The service looks for files every minute.
      let page = ''
      await until(async () => {
        page = (await ann.get('/source/file').catch(() => undefined))?.text ?? ''
        // A check that had to write while the disk was full has said so.
        if (/not enough free space/.test(page)) await upload(url, ann, { a: templates.join('') })
        return /Lock templates/.test(page)
      })
      assert.ok(![...pulling, checking].some(isAlive))
    },
    async [Symbol.asyncDispose]() {
      // One that is stopped would keep what it writes to open.
      for (const child of stopped) if (isAlive(child)) process.kill(child, 'SIGKILL')
      await serving[Symbol.asyncDispose]()
      await store.close()
      await source[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
  return scene
}

/** Whether this pulls into an account now. */
async function isHeldBy({ db }: Store, who: string): Promise<boolean> {
  const jobs = await db.selectFrom('job').select('holder').execute()
  return jobs.some(({ holder }) => holder?.includes(`by ${who}`) === true)
}

/** Hundredths of a second that a process has run. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

function childrenOf(pid: number, what: 'pull' | 'upload'): number[] {
  return allChildrenOf(pid).filter(child => readOf(`/proc/${child}/cmdline`).split('\0').includes(what))
}
