// engine: any
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { testOnPostgres } from '../support/postgres.ts'
import { childrenOf, commandLines } from '../support/programs.ts'
import { until } from '../support/waiting.ts'

const program = join(import.meta.dirname, '../run.ts')

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  testOnPostgres(`a run of the tests that gets ${signal} leaves no process, no database and no file`, async () => {
    // The one starts services, the other one database servers.
    const run = spawn(process.execPath, [program, '--slow', 'cli/workers', 'store/former-primary'], { stdio: 'ignore' })
    const ended = once(run, 'exit')
    try {
      const folder = await folderOf(run.pid ?? 0)
      const runs = (words: string) => async () => commandsWith(folder).some(command => command.includes(words))
      await until(runs(' serve '))
      await until(runs('/postgres -D '))
      run.kill(signal)
      await ended
      await until(async () => commandsWith(folder).length === 0 && !existsSync(folder))
    } finally {
      run.kill()
    }
  })
}

/** Where the run keeps everything: the process that cleans up is told when it starts. */
async function folderOf(pid: number): Promise<string> {
  let folder: string | undefined
  await until(async () => {
    folder = /run-cleanup\.ts (\S+)/.exec(commandLines(childrenOf(pid)).join('\n'))?.[1]
    return folder !== undefined
  })
  return folder ?? ''
}

/** The command lines of the processes that name this folder. */
function commandsWith(folder: string): string[] {
  return commandLines(readdirSync('/proc').map(Number).filter(Number.isInteger)).filter(command =>
    command.includes(folder),
  )
}
