import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { generateBundles } from '../../scripts/bundles.ts'

test('the bundles of packages are what their lists and the installed versions make', async () => {
  for (const { path, text } of await generateBundles()) {
    assert.ok(readFileSync(path, 'utf8') === text, `${path} is out of date: run npm run docs`)
  }
})
