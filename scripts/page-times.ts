/**
 * Prints how long the server takes for each page of the dashboard, over a year of heavy use: `npm run page-times`. The
 * time is that of the access log, from the headers of the request to the end of the answer; of each page the first time
 * and the median and the longest of the others.
 */
import { allowSignIn, visitor } from '../test/support/dashboard.ts'
import { heavyYear } from '../test/support/heavy-year.ts'
import { startService } from '../test/support/service.ts'

const ROUNDS = 20

const paths = [
  '/',
  '/training',
  '/training?range=1y',
  '/training?range=all&sort=grade',
  '/training/1000',
  '/training.csv?range=all',
  '/programs',
  '/programs/7',
  '/locks',
  '/locks/150',
  '/locks.csv',
  '/lock-templates',
  '/lock-templates/7',
  '/keys',
  '/settings',
]

await using service = await startService([...heavyYear(Date.now())])
await allowSignIn(service, 'ann')
const ann = visitor(service.url)
await ann.signIn('ann')

const times = new Map(paths.map(path => [path, [] as number[]]))
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const path of paths) {
    const { status, headers } = await ann.get(path)
    if (status !== 200) throw new Error(`${path} answers ${status}`)
    times.get(path)?.push(await loggedTime(headers.get('X-Request-Id') ?? ''))
  }
}

console.log(`${'page'.padEnd(34)}${'first'.padStart(9)}${'median'.padStart(9)}${'longest'.padStart(9)}   (ms)`)
for (const [path, [first = 0, ...rest]] of times) {
  const sorted = rest.toSorted((a, b) => a - b)
  const figures = [first, sorted[Math.floor(sorted.length / 2)] ?? 0, sorted.at(-1) ?? 0]
  console.log(`${path.padEnd(34)}${figures.map(figure => figure.toFixed(1).padStart(9)).join('')}`)
}

async function loggedTime(requestId: string): Promise<number> {
  for (;;) {
    const line = service.log
      .join('')
      .split('\n')
      .findLast(one => one.includes(`"requestId":"${requestId}"`))
    if (line !== undefined) return (JSON.parse(line) as { ms: number }).ms
    // Lines are held back for a moment.
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}
