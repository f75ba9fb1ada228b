// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import { sampleService, visitorAs } from '../support/dashboard.ts'

test('a form that meets an import waits, and then says that one is being stored; pages are shown meanwhile', async () => {
  await using service = await sampleService()
  const alex = await visitorAs(service.url, 'alex')
  using importing = new DatabaseSync(service.databaseUrl.slice('sqlite:'.length))
  const form = { timeZone: 'UTC', units: 'metric', weeklyGoal: '' }
  importing.exec('begin immediate')
  const short = alex.post('/settings', form)
  assert.equal((await alex.get('/training')).status, 200)
  importing.exec('rollback')
  assert.equal((await short).status, 303)

  importing.exec('begin immediate')
  const { status, headers, text } = await alex.post('/settings', form)
  importing.exec('rollback')
  assert.deepEqual([status, headers.get('Retry-After')], [503, '1'])
  assert.match(text, /An import or another long change is being stored, so nothing was changed here\. Try again/)
  assert.equal((await alex.post('/settings', form)).status, 303)
})
