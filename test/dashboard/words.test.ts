// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sampleService, shownText, visitorAs } from '../support/dashboard.ts'
import { samplePages } from '../support/page-addresses.ts'

/** What a reader can take in beside a picture. */
const MAX_WORDS = 25

const views = ['/training?range=4w', '/training?range=1y', '/training?range=all', '/locks/37']

test('no text beside a chart has more than 25 words, and no page has an id twice', async () => {
  await using service = await sampleService()
  const alex = await visitorAs(service.url, 'alex')
  let texts = 0
  for (const path of [...samplePages, ...views]) {
    const { text: page } = await alex.get(path)
    const ids = Array.from(page.matchAll(/\sid="([^"]*)"/g), ([, id]) => id)
    assert.deepEqual(ids, [...new Set(ids)], path)
    const charts = page
      .split('<section')
      .filter(card => /class="(?:plot|calendar|bars|runs|spark|measure)\b/.test(card))
    for (const [markup] of charts.join('').matchAll(/<(p|li)\b[^]*?<\/\1>/g)) {
      const words = shownText({ text: markup }).match(/[\p{L}\p{N}]\S*/gu) ?? []
      assert.ok(words.length <= MAX_WORDS, `${path}: ${words.length} words: ${words.join(' ')}`)
      texts += 1
    }
  }
  assert.ok(texts > 30, `${texts} texts`)
})
