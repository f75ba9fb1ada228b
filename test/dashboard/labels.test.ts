import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scopes } from '../../src/contract/endpoint.ts'
import { LockSegment } from '../../src/contract/lock-sessions.ts'
import { Account, Token } from '../../src/contract/people.ts'
import { TrainerSegment, TrainingSessionWithOwner } from '../../src/contract/training-sessions.ts'
import { segmentTypes, TemplateSegment } from '../../src/contract/training-templates.ts'
import {
  lockEventLabels,
  typeLabels,
  label,
  scopeLabels,
  scopeTexts,
  stateLabels,
} from '../../src/dashboard/text/labels.ts'
import { schemas } from '../support/arbitraries.ts'
import { sampleService, visitorAs } from '../support/dashboard.ts'
import { fileAddresses, samplePages } from '../support/page-addresses.ts'

const records = [
  ...Object.values(schemas),
  LockSegment,
  TemplateSegment,
  TrainerSegment,
  TrainingSessionWithOwner,
  Account,
  Token,
]
const fields = [...new Set(records.flatMap(({ properties }) => Object.keys(properties)))]

/** Words that only the JSON views and the reference may show. */
const EXPLICIT = /deep ?throat|shame|insert|withdraw|thrust|stroke|chastity|orgasm|penis|sexual|\btoy\b/i

const labels = Object.fromEntries(fields.map(field => [field, label(field)]))

test('every field of the contract has plain words', () => {
  for (const text of Object.values(labels)) assert.match(text, /^[A-Z][a-z0-9]*(?:[ -][a-z0-9]+)*$/)
  for (const type of segmentTypes) assert.ok(typeLabels[type], type)
  for (const scope of scopes) assert.ok(scopeLabels[scope] && scopeTexts[scope], scope)
})

test('plain words are not explicit', () => {
  for (const table of [labels, typeLabels, stateLabels, lockEventLabels, scopeLabels, scopeTexts]) {
    for (const [field, text] of Object.entries(table)) assert.doesNotMatch(text, EXPLICIT, field)
  }
})

test('no page contains an explicit word or the name of a field, except in its JSON view and in programs to copy', async () => {
  await using service = await sampleService()
  const alex = await visitorAs(service.url, 'alex')
  // Names that are more than one word, and so are found only where somebody shows a field as it is.
  const names = fields.filter(field => /[a-z][A-Z]|_/.test(field))
  const start = [
    ...samplePages,
    ...fileAddresses.filter(path => path.endsWith('.csv')),
    '/training?range=all',
    '/signin',
  ]
  const seen = new Set<string>()
  const queue = [...start]
  for (const path of queue) {
    if (seen.has(path)) continue
    seen.add(path)
    const { text, status } = await alex.get(path)
    if (status !== 200) continue
    // Keys of charts are for the script, and lines of drawings are no words.
    const prose = path.startsWith('/keys/examples') ? text.replaceAll(/<pre[^]*?<\/pre>/g, '') : text
    const shown = prose.replaceAll(
      / (?:data-key|data-series|name|id|class|for|autocomplete|stroke[a-z-]*)="[^"]*"/g,
      '',
    )
    assert.equal(EXPLICIT.exec(shown)?.[0], undefined, path)
    const words = prose.replaceAll(/<(script|code|pre)[^]*?<\/\1>/g, ' ').replaceAll(/<[^>]*>/g, ' ')
    assert.equal(/.{0,30}\btokens?\b/i.exec(words)?.[0], undefined, `${path}: the word is API key`)
    for (const name of names) assert.ok(!new RegExp(`\\b${name}\\b`).test(shown), `${name} on ${path}`)
    // One record of each kind, and some more.
    if (seen.size < 60) {
      for (const [, to = ''] of text.matchAll(
        /href="(\/(?:training|locks|programs|lock-templates|keys|people)\/[^"?]+)"/g,
      ))
        queue.push(to)
    }
  }
  assert.ok(seen.size > 50, `${seen.size} pages`)
})
