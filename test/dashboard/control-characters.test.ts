// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleArchive } from '../../src/demo/sample.ts'
import { allowSignIn, visitorAs } from '../support/dashboard.ts'
import { startService, unlimited } from '../support/service.ts'

/** Escape sequences of terminals, C1 and what reverses the text around it. */
const HOSTILE = '\u001b[31m\u009b2J\u0085\u007f\u202e\u2066\u200f\u061c'
const CONTROLS = /[[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]--[\t\n\r]]/v

/** Pages that show names and other texts of records, also in charts. */
const PATHS = [
  '/',
  '/training?range=all',
  '/training/100',
  '/training/100?view=data',
  '/programs',
  '/programs/13',
  '/locks',
  '/locks/44',
  '/lock-templates',
  '/lock-templates/44',
  '/keys',
  '/people',
]

/** The sample, with the text added to each name and description. */
function hostileSample(): any[] {
  return [...sampleArchive(Date.now())].map(line =>
    JSON.parse(line, (key, value: unknown) =>
      ['name', 'tagline', 'description', 'notes'].includes(key) && typeof value === 'string'
        ? `${value}${HOSTILE}`
        : value,
    ),
  )
}

test('no page sends control characters of a stored text; the API returns the text as it is', async () => {
  await using service = await startService(hostileSample(), unlimited)
  await allowSignIn(service, 'alex')
  await service.token('alex', { name: 'Script \u202e' })
  const alex = await visitorAs(service.url, 'alex')
  let shown = 0
  for (const path of PATHS) {
    const { status, text } = await alex.get(path)
    assert.equal(status, 200, path)
    assert.doesNotMatch(text, CONTROLS, path)
    assert.doesNotMatch(
      text,
      /[^\\]\\u202e[^<]*<\/script>/,
      `${path}: data of a script would be parsed to the character`,
    )
    if (text.includes('\\u202e')) shown += 1
  }
  assert.ok(shown >= 8, `${shown} pages show such a text`)
  const response = await fetch(`${service.url}/api/v1/lkbx/templates/44`, {
    headers: { Authorization: `Bearer ${await service.token('alex')}` },
  })
  const { data } = (await response.json()) as { data: { name: string } }
  assert.ok(data.name.endsWith(HOSTILE))
})
