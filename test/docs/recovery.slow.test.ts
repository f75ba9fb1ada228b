import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Folder, makeFolder } from '../support/command.ts'
import { postgresPrograms, runSql, startPostgres, testOnPostgres } from '../support/postgres.ts'
import { account, trainingSession } from '../support/records.ts'
import { ask, type Load, serve, startLoad } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

const page = readFileSync(join(import.meta.dirname, '../../docs/postgresql.md'), 'utf8')

/** The blocks of commands and settings in a section, in order. */
function blocksOf(title: string): string[] {
  const [, section = ''] = new RegExp(`^## ${title}\\n(.*?)^## `, 'ms').exec(page) ?? []
  // Those of numbered steps are indented.
  const text = section.replaceAll(/^ {3}(?! )/gm, '')
  return [...text.matchAll(/^```\w+\n([^]*?)^```$/gm)].map(([, block = '']) => block)
}

testOnPostgres('the commands to restore a dump bring back everything, and no response shows a part of it', async () => {
  const [leastPrivilege = '', grants = ''] = blocksOf('Least privilege')
  const [dump = '', restore = ''] = blocksOf('Dump and restore')
  await using folder = await makeFolder()
  const machine = makeMachine(folder)
  const old = await startPostgres()
  const url = (role: string) => `postgres://${role}@127.0.0.1:${old.port}/lockstep`
  let renewed: typeof old | undefined
  try {
    machine.shell(`psql --set ON_ERROR_STOP=1 <<'SQL'\n${leastPrivilege}SQL\n`, old.port)
    await machine.run(['migrate', '--database', url('lockstep_owner')])
    machine.shell(`psql --set ON_ERROR_STOP=1 --username lockstep_owner lockstep <<'SQL'\n${grants}SQL\n`, old.port)
    const token = await machine.fill(url('lockstep_owner'), COUNT)
    const wanted = await machine.run(['export', '--database', url('lockstep_owner')])

    await using service = await serve(url('lockstep_service'), { args: ['--no-migrate'] })
    const newest = `${service.url}/api/v1/dtt/sessions?limit=100`
    const whole = (await ask(newest, token)).text
    await using load = startLoad(newest, token)
    machine.shell(dump, old.port)
    await old.stop('fast')
    await load.more(20)
    renewed = await startPostgres({ port: old.port })
    await unavailable(load)
    // Line by line, so that requests come between any two.
    for (const command of commandsOf(restore)) {
      assert.equal(load.outcomes.at(-1)?.status, 503, command)
      machine.shell(command, old.port)
      await load.more(20)
    }
    await until(async () => (await ask(newest, token)).status === 200)
    for (const { status, text } of await load.stop()) assert.ok(status === 503 || text === whole, text)
    assert.equal(await machine.run(['export', '--database', url('lockstep_owner')]), wanted)
    assert.deepEqual((await ask(`${service.url}/readyz`)).status, 200)
  } finally {
    old.remove()
    renewed?.remove()
  }
})

testOnPostgres('the commands to move to a server with two roles bring everything, and it serves', async () => {
  const [leastPrivilege = '', grants = ''] = blocksOf('Least privilege')
  const [, move = ''] = /^ *lockstep (move --to .*)$/m.exec(page) ?? []
  const [, setting = ''] = /^ *LOCKSTEP_DATABASE_URL=(postgres:.*)$/m.exec(page) ?? []
  await using folder = await makeFolder()
  const machine = makeMachine(folder)
  const server = await startPostgres()
  const here = (text: string) => text.replace('db.example', `127.0.0.1:${server.port}`)
  try {
    const token = await machine.fill(folder.databaseUrl, 20)
    const wanted = await machine.run(['export'])
    machine.shell(`psql --set ON_ERROR_STOP=1 <<'SQL'\n${leastPrivilege}SQL\n`, server.port)
    await machine.run(here(move).split(' '))
    machine.shell(`psql --set ON_ERROR_STOP=1 --username lockstep_owner lockstep <<'SQL'\n${grants}SQL\n`, server.port)
    assert.equal(await machine.run(['export', '--database', here(setting)]), wanted)
    // As the unit starts it.
    await using service = await serve(here(setting), { args: ['--workers', '2'] })
    assert.equal((await ask(`${service.url}/api/v1/dtt/sessions`, token)).status, 200)
  } finally {
    server.remove()
  }
})

testOnPostgres('the commands for recovery to a point in time bring back the state of that time', async () => {
  const [settings = '', base = '', recover = ''] = blocksOf('Point-in-time recovery')
  await using folder = await makeFolder()
  const machine = makeMachine(folder)
  const [, command = ''] = /^archive_command = '(.*)'$/m.exec(machine.paths(settings)) ?? []
  const server = await startPostgres({ settings: { archive_mode: 'on', archive_command: command } })
  const url = ['--database', server.url]
  await machine.run(['migrate', ...url])
  try {
    machine.shell(base, server.port)
    const token = await machine.fill(server.url, COUNT)
    const wanted = await machine.run(['export', ...url])
    const moment = new Date().toISOString().replace('T', ' ').replace('Z', '+00')
    await runSql(server.url, 'select pg_sleep(0.1)')
    await using service = await serve(server.url)
    const newest = `${service.url}/api/v1/dtt/sessions?limit=100`
    const whole = (await ask(newest, token)).text
    await runSql(server.url, 'delete from training_session')
    await server.stop('fast')
    await using load = startLoad(newest, token)
    await unavailable(load)

    // What the test set for the first server on its command line.
    const options = `-p ${server.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`
    machine.shell(
      recover
        .replace('2026-01-01 12:00:00+00', moment)
        .replace(/ start$/m, ` -o '${options}' -w -l /var/lib/postgresql/log start`),
    )
    try {
      await until(async () => (await ask(newest, token)).status === 200)
      for (const { status, text } of await load.stop()) assert.ok(status === 503 || text === whole, text)
      assert.equal(await machine.run(['export', ...url]), wanted)
    } finally {
      machine.shell('pg_ctl -D /var/lib/postgresql/recovered -m immediate stop\n')
    }
  } finally {
    server.remove()
  }
})

/** Sessions of one account: many enough that a restore takes longer than a request. */
const COUNT = 5000

/** Waits until requests are refused, which they are some time after the server is gone. */
async function unavailable(load: Load) {
  await load.more(8)
  await until(async () => load.outcomes.slice(-4).every(({ status }) => status === 503))
}

/** One command each, with the lines that it is given. */
function commandsOf(block: string): string[] {
  return [...block.matchAll(/^.*<<'SQL'\n[^]*?^SQL\n|^.+\n/gm)].map(([command]) => command)
}

/** Folders that stand in for those of a machine, and commands in them. */
function makeMachine(folder: Folder) {
  const root = folder.file('machine')
  for (const name of ['backups/wal', 'lib']) mkdirSync(join(root, name), { recursive: true })
  // The server runs as another user.
  spawnSync('chmod', ['a+x', folder.path])
  spawnSync('chown', ['-R', 'postgres', root])
  const paths = (text: string) =>
    text.replaceAll('/var/backups', join(root, 'backups')).replaceAll('/var/lib/postgresql', join(root, 'lib'))
  const run = async (args: readonly string[], input = '') => {
    const { stdout } = await folder.succeeds(args, { input })
    return stdout
  }
  return {
    paths,
    run,
    /** Runs lines as the user of the server. */
    shell(text: string, port?: number) {
      const user = process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
      const [program, ...args] = [...user, 'sh', '-euc', paths(text)]
      const server = port === undefined ? {} : { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'postgres' }
      const PATH = `${postgresPrograms}:${process.env['PATH']}`
      const { status, stderr } = spawnSync(program, args, {
        env: { ...process.env, ...server, PATH },
        cwd: '/',
        stdio: ['ignore', 'ignore', 'pipe'],
        encoding: 'utf8',
      })
      assert.equal(status, 0, stderr)
    },
    /** Stores an account with training sessions; returns an API key of it. */
    async fill(url: string, sessions: number) {
      const lines = [
        account(1, 'ann'),
        ...Array.from({ length: sessions }, (_, index) => trainingSession(index + 1, 1)),
      ]
      await run(['import', '-', '--database', url], lines.map(line => JSON.stringify(line)).join('\n'))
      const token = await run(['key', 'create', '--database', url, '--account', 'ann', '--name', 'test'])
      return token.trim()
    },
  }
}
