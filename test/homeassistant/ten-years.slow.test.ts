// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeClient } from '../../src/client.ts'
import { writeHistory } from '../../src/homeassistant/history.ts'
import { setPreferences } from '../../src/accounts/preferences.ts'
import { ADMIN, startHomeAssistant } from '../support/home-assistant.ts'
import { checkTotals, yearsOfDemo } from '../support/home-history.ts'
import { startService, unlimited } from '../support/service.ts'

test('ten years have the same days and months in Home Assistant, also where clocks change by half an hour', async () => {
  const zone = 'Australia/Lord_Howe'
  const lines: any[] = yearsOfDemo(10)
  await using service = await startService(lines, unlimited)
  await setPreferences(service.store, lines[0].data.id, {
    displayName: '',
    timeZone: zone,
    units: '',
    weeklyGoal: null,
  })
  const client = makeClient({ baseUrl: service.url, token: await service.token('alex', { scopes: ['status:read'] }) })
  await using home = await startHomeAssistant()
  const written: number[] = []
  const options = {
    client,
    server: `${home.url}/api/websocket`,
    token: ADMIN,
    id: 'lockstep',
    name: 'Lockstep',
    signal: new AbortController().signal,
    progress: (title: string, rows: number, expected: number) => {
      if (title === 'rows written') written.push(rows)
      assert.ok(rows < expected)
    },
  }
  await writeHistory(options)
  assert.deepEqual(
    written.toSorted((a, b) => a - b),
    written,
  )
  assert.ok((await checkTotals(home, client, zone, 11)) > 3000)
  assert.ok((home.series.get('lockstep:locked')?.rows.size ?? 0) > 10_000)
  const before = home.imports().length
  assert.equal(await writeHistory(options), 'Home Assistant has the whole history')
  assert.equal(home.imports().length, before)
})
