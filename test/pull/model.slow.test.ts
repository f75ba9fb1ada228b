// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { type Change, checkStore, ModelSource, OTHER } from '../support/sources/model.ts'
import { checkSchedules } from '../support/sources/model-runs.ts'
import { SOURCE_TOKEN, startSource } from '../support/sources/source-server.ts'
import { sweep } from '../support/sweeps.ts'

test('after many schedules of changes, failures and stops, the store equals the source', () =>
  checkSchedules(sweep(12, 10_000)))

test('a pull that is killed at random points ends with the same store as one that is not', async () => {
  const model = new ModelSource(120)
  model.now = Date.now()
  await using source = await startSource({ world: model.world, identity: '/users/me', others: [OTHER], maxLimit: 50 })
  await using folder = await makeFolder()
  const env = { LOCKSTEP_SOURCE_URL: source.url, LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN, LOCKSTEP_PULL_RATE: '0' }
  let kills = 0
  for (let round = 0; kills < KILLS; round += 1) {
    for (const change of changesOf(round)) model.apply(change)
    await using running = folder.start(['pull', ...(round % 3 === 0 ? ['--full'] : [])], { env })
    const first = source.requests.length
    const requests = Math.floor(Math.random() * 30)
    source.before = (_, index) => {
      // Between the requests a page is stored.
      if (index === first + requests) setTimeout(() => running.process.kill('SIGKILL'), Math.random() * 40)
    }
    const { code, stderr: said } = await running.ended
    if (code === null) kills += 1
    else assert.equal(code, 0, said)
  }
  source.before = undefined
  const { code, stderr } = await folder.run(['pull', '--full'], { env })
  assert.equal(code, 0, stderr)
  const { stdout } = await folder.run(['export', '--account', '1'])
  await checkStore(stdout, model)
})

const KILLS = sweep(4, 50)

function changesOf(round: number): Change[] {
  const kinds = ['lock-template', 'training-template', 'lock-session', 'training-session'] as const
  return [
    ...kinds.map(kind => ({ does: 'add', kind, ageHours: 0, isMine: true, isOpen: round % 4 === 0 }) as const),
    { does: 'edit', pick: round * 7919 },
    { does: 'remove', pick: round * 104_729 },
  ]
}
