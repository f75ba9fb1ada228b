import type { Command } from 'commander'
import { type Config, readConfig, settings } from '../config.ts'
import { messageOf, open, sqliteFile, type Store } from '../store/index.ts'
import { ownCommand } from '../version.ts'
import { type Check, checks, type Environment, type Patient } from './doctor-checks.ts'
import { thisMachine } from './doctor-machine.ts'
import { databaseUrlOf, type StoreOptions } from './opening.ts'
import { databaseOption, jsonOption, withOptions } from './options.ts'
import { print } from './print.ts'
import { isRefusal } from '../contract/refusal.ts'

export type Diagnosis = Awaited<ReturnType<typeof examine>>

export function addDoctorCommand(program: Command) {
  withOptions(program.command('doctor'), databaseOption(), jsonOption())
    .summary('check the installation, and say what to do')
    .description('Checks the installation without changing anything. The exit code is 1 if something is wrong.')
    .action(async (flags: StoreOptions & { json?: boolean }) => {
      const { database } = flags
      const given = database === undefined ? {} : { [settings.databaseUrl.env]: databaseUrlOf(flags) }
      const found = await diagnose({ ...process.env, ...given })
      if (flags.json === true) print(JSON.stringify(found, null, 2))
      else for (const diagnosis of found) print(diagnosisText(diagnosis))
      if (found.some(({ result }) => result === 'wrong')) process.exitCode = 1
    })
}

export async function diagnose(environment: Environment, machine = thisMachine): Promise<Diagnosis[]> {
  const { config, invalid } = readValid(environment)
  const { databaseUrl } = config
  const opened = await openPatient(databaseUrl)
  await using _store = opened.store
  const patient: Patient = { environment, config, invalid, ...opened, file: sqliteFile(databaseUrl), machine }
  const found: Diagnosis[] = []
  for (const check of checks) found.push(await examine(check, patient))
  return found
}

async function examine({ name, advice, examine: look, note }: Check, patient: Patient) {
  let problems: readonly string[] | undefined
  try {
    problems = await look(patient)
  } catch (error) {
    problems = [messageOf(error)]
  }
  // With commands as people run them here.
  const here = advice.replaceAll('`lockstep ', `\`${ownCommand} `)
  const result: 'ok' | 'wrong' | 'skipped' = problems === undefined ? 'skipped' : problems.length === 0 ? 'ok' : 'wrong'
  return { check: name, result, problems: problems ?? [], advice: here, note: note?.(patient) }
}

function diagnosisText({ check, result, problems, advice, note }: Diagnosis): string {
  const start = `${{ ok: 'ok', wrong: 'WRONG', skipped: '–' }[result].padEnd(7)}${check}`
  const text = result === 'wrong' ? `${start}: ${problems.join('; ')}\n       ${advice}` : start
  return note === undefined ? text : `${text}\n       ${note}`
}

/** The valid settings, and what is wrong with the others. */
function readValid(environment: Environment): { config: Config; invalid: readonly string[] } {
  try {
    return { config: readConfig(environment), invalid: [] }
  } catch (error) {
    if (!isRefusal(error, 'usage')) throw error
    const invalid = error.message.split('\n')
    const names = invalid.map(problem => problem.split(' ')[0])
    const others = Object.entries(environment).filter(([name]) => !names.includes(name))
    // Without a setting that is invalid, others may have no effect.
    return { config: readValid(Object.fromEntries(others)).config, invalid }
  }
}

async function openPatient(url: string): Promise<Pick<Patient, 'store' | 'failure'>> {
  let store: Store | undefined
  try {
    store = await open(url, { busyTimeoutMs: 5000, create: false, schema: 'any', inspect: true })
    // PostgreSQL connects with the first statement.
    await store.reads.introspection.getSchemas()
    return { store, failure: undefined }
  } catch (error) {
    await store?.close()
    return { store: undefined, failure: error instanceof Error ? error : new Error(messageOf(error)) }
  }
}
