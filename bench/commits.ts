import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../src/archive/import.ts'
import { seeded } from '../src/demo/random.ts'
import { open } from '../src/store/index.ts'
import { lockTemplate } from '../test/support/records.ts'

/** Changes lock templates of pseudorandom accounts, at the given number of changes per minute, until it is killed. */
const [url = '', perMinute = '', accounts = '', templates = ''] = process.argv.slice(2)
const store = await open(url, { busyTimeoutMs: 60_000 })
const random = seeded(Date.now())
process.stdout.write('Started\n')
for (let count = 1; ; count += 1) {
  const owner = random.whole(1, Number(accounts))
  const id = (owner - 1) * Number(templates) + random.whole(1, Number(templates))
  const line = lockTemplate(id, owner, { name: `Changed ${count}`, createdAt: new Date().toISOString() })
  await importArchive(store, archiveOf(line), { onConflict: 'replace' })
  await sleep(60_000 / Number(perMinute))
}

async function* archiveOf(line: object) {
  yield Buffer.from(`${JSON.stringify(line)}\n`)
}
