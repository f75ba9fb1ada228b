import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../support/command.ts'
import { ask } from '../support/databases.ts'
import { freePort, postgresPrograms, startPostgres, testOnPostgres } from '../support/postgres.ts'
import { account, trainingSession } from '../support/records.ts'

// engine: any

const page = readFileSync(join(import.meta.dirname, '../../docs/operating.md'), 'utf8')
const section = /^### Point-in-time recovery\n(.*?)^### /ms.exec(page)?.[1] ?? ''
const [settings = '', base = '', recover = ''] = [...section.matchAll(/^```\w+\n([^]*?)^```$/gm)].map(
  ([, block = '']) => block,
)

testOnPostgres('the commands for recovery to a point in time bring back what was there then', async () => {
  await using folder = await makeFolder()
  const machine = folder.file('machine')
  for (const name of ['wal', 'lib']) mkdirSync(join(machine, name), { recursive: true })
  // The server runs as another user.
  spawnSync('chmod', ['a+x', folder.path])
  spawnSync('chown', ['-R', 'postgres', machine])
  const onMachine = (text: string) =>
    text.replaceAll('/var/backups', machine).replaceAll('/var/lib/postgresql', join(machine, 'lib'))
  const [, command = ''] = /^archive_command = '(.*)'$/m.exec(onMachine(settings)) ?? []
  const server = await startPostgres({ settings: { archive_mode: 'on', archive_command: command } })
  const lines = [account(1, 'ann'), trainingSession(1, 1)].map(line => JSON.stringify(line)).join('\n')
  const url = ['--database', server.url]
  const run = async (args: readonly string[], input = '') => {
    const { code, stdout, stderr } = await folder.run(args, { input })
    assert.equal(code, 0, stderr)
    return stdout
  }
  await run(['migrate', ...url])
  try {
    shell(base, { PGHOST: '127.0.0.1', PGPORT: String(server.port), PGUSER: 'postgres' })
    await run(['import', '-', ...url], lines)
    const wanted = await run(['export', ...url])
    const moment = new Date().toISOString().replace('T', ' ').replace('Z', '+00')
    await ask(server.url, 'select pg_sleep(0.1)')
    await run(['account', 'remove', '--account', 'ann', '--yes', ...url])
    await server.stop('fast')

    const port = await freePort()
    // What the test set for the first server on its command line.
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200`
    shell(
      recover
        .replace('2026-01-01 12:00:00+00', moment)
        .replace(/ start$/m, ` -o '${options}' -w -l ${machine}/lib/log start`),
    )
    try {
      const recovered = server.url.replace(`:${server.port}/`, `:${port}/`)
      assert.equal(await run(['export', '--database', recovered]), wanted)
    } finally {
      shell('pg_ctl -D /var/lib/postgresql/recovered -m immediate stop\n')
    }
  } finally {
    server.remove()
  }

  /** Runs lines as the user of the server. */
  function shell(text: string, env: Readonly<Record<string, string>> = {}) {
    const user = process.getuid?.() === 0 ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
    const [program, ...args] = [...user, 'sh', '-euc', onMachine(text)]
    const PATH = `${postgresPrograms}:${process.env['PATH']}`
    const { status, stderr } = spawnSync(program, args, {
      env: { ...process.env, ...env, PATH },
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
  }
})
