// engine: both
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import { BUSY, type Caller, Callers, neighbours, OTHERS, quantile, Turns } from '../support/neighbours.ts'
import { startService, unlimited } from '../support/service.ts'

const ROWS = 3000

test('others hardly wait for two callers who page deep and ask for statistics of years, without any limit', async context => {
  await using service = await startService([...neighbours(ROWS, Date.now())], {
    ...unlimited,
    LOCKSTEP_CONCURRENCY_LIMIT: '0',
  })
  const callers = async (ids: readonly number[]): Promise<Caller[]> =>
    Promise.all(ids.map(async account => ({ account, token: await service.token(`caller-${account}`) })))
  const [busy, others] = [await callers(BUSY), await callers(OTHERS)]
  await using thread = new Callers()
  using turns = new Turns()
  const send = (some: readonly Caller[]) =>
    thread.send({
      url: service.url,
      busy: some,
      others,
      rows: ROWS,
      requests: 400,
      connections: 16,
      clock: turns.clock,
    })
  const excess: number[] = []
  // Other work on the machine slows down single rounds.
  for (let round = 0; round < 3 && Math.min(Infinity, ...excess) >= 0; round += 1) {
    const idle = await send([])
    const meanwhile = await send(busy)
    assert.deepEqual([idle.statuses, meanwhile.statuses], [{ 200: 400 }, { 200: 400 }])
    // On PostgreSQL, a busy machine may answer one of these too late.
    assert.ok(Number(meanwhile.busy['200']) > 0)
    const [usual, wait] = [quantile(idle.work, 0.5), quantile(meanwhile.work, PART)]
    context.diagnostic(`${wait.toFixed(1)} ms of work, alone ${usual.toFixed(1)} ms (median)`)
    excess.push(wait - Math.max(MOST_MS, 20 * usual))
  }
  assert.ok(Math.min(...excess) < 0, `${excess.map(ms => ms.toFixed(0)).join(', ')} ms too much`)
})

/** Which part of the waits counts: PostgreSQL shares the cores with the requests, which makes single ones long. */
const PART = postgresUrl === undefined ? 0.99 : 0.5

/** How much the service works at most while one of the others waits; more where the processor is shared with other programs. */
const MOST_MS = 60
