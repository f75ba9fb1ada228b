// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../src/store/index.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { PASSWORD, type Visitor, visitorAs } from '../support/dashboard.ts'
import { childrenOf, isAlive, needsProc } from '../support/programs.ts'
import { lockTemplate } from '../support/records.ts'
import { cookiesOf, decide, settledPage, upload } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

const records = Array.from({ length: 20 }, (_, index) => `${JSON.stringify(lockTemplate(index + 1, 1))}\n`).join('')

test('a killed service leaves nothing of what it was receiving', needsProc, async () => {
  await using folder = await prepared()
  {
    await using running = await serving(folder)
    const { hostname, port } = new URL(running.url)
    const socket = connect(Number(port), hostname).on('error', () => {})
    const head = ['POST /source/upload HTTP/1.1', `Host: ${hostname}:${port}`, `Cookie: ${cookiesOf(running.ann)}`]
    const more = ['Sec-Fetch-Site: same-origin', 'Content-Type: multipart/form-data; boundary=cut']
    socket.write([...head, ...more, 'Content-Length: 1000', '', ''].join('\r\n'))
    socket.write('--cut\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nsecret')
    await until(async () => left(folder).some(name => name.endsWith('/1')))
    await running.kill()
    socket.destroy()
    assert.notDeepEqual(left(folder), [])
  }
  await using running = await serving(folder)
  await until(async () => left(folder).length === 0)
  assert.equal((await upload(running.url, running.ann, { a: records })).status, 303, 'another file is accepted at once')
  await settledPage(running.ann)
})

test('any command removes what killed services were receiving, and old uploads', needsProc, async () => {
  await using folder = await prepared()
  {
    await using running = await withUpload(folder)
    await running.kill()
  }
  const list = () => folder.run(['account', 'list'])
  await list()
  assert.notDeepEqual(left(folder), [])
  const [id = ''] = left(folder).filter(name => !name.includes('/'))
  const old = `${(Date.now() - 3_601_000).toString(36)}${id.slice(id.indexOf('-'))}`
  await folder.shell(`cd data/*.uploads && mv ${id} ${old}`)
  await list()
  assert.deepEqual(left(folder), [])
})

test('the check of a file ends with a killed service, and begins again with the next one', needsProc, async () => {
  await using folder = await prepared()
  {
    await using running = await serving(folder)
    await upload(running.url, running.ann, { a: records })
    const child = await childOf(running.pid)
    process.kill(child, 'SIGSTOP')
    assert.equal(readFileSync(`/proc/${child}/oom_score_adj`, 'utf8').trim(), '500')
    await running.kill()
    process.kill(child, 'SIGCONT')
    await until(async () => !isAlive(child))
  }
  await using running = await serving(folder)
  assert.match(await settledPage(running.ann), /Lock templates/)
})

test('a service that is killed while it stores a file has stored nothing, and can again', needsProc, async () => {
  await using folder = await prepared()
  await using store = await folder.store()
  {
    await using running = await withUpload(folder)
    await decide(running.ann, 'store')
    const child = await childOf(running.pid)
    process.kill(child, 'SIGSTOP')
    await whileLocked(store, async () => {
      process.kill(child, 'SIGCONT')
      // Long enough for it to wait for the lock, mostly.
      await sleep(1500)
      await running.kill()
      await until(async () => !isAlive(child))
    })
  }
  assert.deepEqual(await stored(store), [])
  await using running = await serving(folder)
  assert.match(await settledPage(running.ann), /could not be stored.+Nothing was stored/s)
  await decide(running.ann, 'store')
  assert.match(await settledPage(running.ann), /Lock templates: 20 new/)
  assert.equal((await stored(store)).length, 20)
  await until(async () => left(folder).length === 0)
})

test('what opens an encrypted file is in no argument and no environment of its reader', needsProc, async () => {
  await using folder = await prepared()
  await using running = await withUpload(folder)
  await decide(running.ann, 'store', { secret: 'open sesame' })
  const child = await childOf(running.pid)
  process.kill(child, 'SIGSTOP')
  for (const name of ['cmdline', 'environ']) {
    assert.doesNotMatch(readFileSync(`/proc/${child}/${name}`, 'latin1'), /open sesame/)
  }
  process.kill(child, 'SIGCONT')
  await settledPage(running.ann)
  assert.doesNotMatch(running.said.stderr, /open sesame/)
})

test('one file is checked after the other, and a check ends when its file is discarded', needsProc, async () => {
  await using folder = await prepared()
  await folder.run(['account', 'add', '--username', 'ben', '--id', '2'])
  await folder.run(['account', 'set-password', '--account', 'ben'], { input: `${PASSWORD}\n` })
  await using running = await serving(folder)
  const ben = await visitorAs(running.url, 'ben')
  await upload(running.url, running.ann, { a: records })
  const first = await childOf(running.pid)
  process.kill(first, 'SIGSTOP')
  await upload(running.url, ben, { b: records })
  for (let times = 0; times < 5; times += 1) {
    await sleep(100)
    assert.deepEqual(childrenOf(running.pid), [first])
    assert.match((await ben.get('/source/file')).text, /being checked/)
  }
  await decide(running.ann, 'discard')
  // It opens no debugger. A stopped process ends only when it goes on.
  process.kill(first, 'SIGUSR1')
  process.kill(first, 'SIGCONT')
  assert.match(await settledPage(ben), /20 records of other accounts/)
  await until(async () => left(folder).length === 3)
  assert.match(await settledPage(running.ann), /No file waits here/)
  assert.doesNotMatch(running.said.stderr, /Debugger/)
})

/** A folder with an account of Ann, number 1. */
async function prepared(): Promise<Folder> {
  const folder = await makeFolder()
  await folder.succeeds(['account', 'add', '--username', 'ann', '--id', '1'])
  const input = `${PASSWORD}\n`
  await folder.succeeds(['account', 'set-password', '--account', 'ann'], { input })
  return folder
}

interface Serving extends AsyncDisposable {
  readonly url: string
  readonly pid: number
  readonly ann: Visitor
  readonly said: { readonly stderr: string }
  kill(): Promise<void>
}

/** A service with a file of Ann, which was checked. */
async function withUpload(folder: Folder): Promise<Serving> {
  const running = await serving(folder)
  await upload(running.url, running.ann, { a: records })
  await settledPage(running.ann)
  return running
}

async function serving(folder: Folder): Promise<Serving> {
  const running = folder.start(['serve', '--port', '0'], { env: { LOCKSTEP_OVERLOAD_LAG: '0' } })
  const [, url = ''] = await running.says(/Listening on (\S+)/)
  const ann = await visitorAs(url, 'ann')
  return {
    url,
    ann,
    pid: running.process.pid ?? 0,
    said: running.said,
    async kill() {
      // Its output ends later, with that of the process that it started.
      const exited = once(running.process, 'exit')
      running.process.kill('SIGKILL')
      await exited
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

/** The child process of a service, as soon as it has one. */
async function childOf(pid: number): Promise<number> {
  let child: number | undefined
  await until(async () => {
    ;[child] = childrenOf(pid)
    return child !== undefined
  })
  return child ?? 0
}

function whileLocked(store: Store, work: () => Promise<void>): Promise<void> {
  return store.db.connection().execute(db => store.locked(db, work))
}

function stored({ db }: Store) {
  return db.selectFrom('lock_template').select('id').execute()
}

/** What there is of uploads in the folder. */
function left(folder: Folder): string[] {
  const data = existsSync(folder.file('data')) ? readdirSync(folder.file('data')) : []
  const uploads = data.filter(name => name.endsWith('.uploads')).map(name => folder.file(`data/${name}`))
  return uploads.flatMap(path => readdirSync(path, { recursive: true }).map(String))
}
