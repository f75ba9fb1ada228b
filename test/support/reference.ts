import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapi } from '../../src/openapi/document.ts'
import { needsChromium, openPage } from './chromium.ts'
import { assertAccessible } from './pages.ts'
import type { TestService } from './service.ts'

export const referencePaths = [
  '/docs',
  ...openapi().tags.map(({ name }) => `/docs/${name.toLowerCase().replaceAll(' ', '-')}`),
]

/** Registers the test that axe finds nothing at all on these pages of the reference, and that none scrolls sideways. */
export function testReference(
  theme: 'light' | 'dark',
  width: number,
  paths: readonly string[],
  service: () => TestService,
) {
  test(
    `axe finds nothing on ${paths.length} pages of the reference: ${theme}, ${width} pixels wide`,
    needsChromium,
    async () => {
      const { url } = service()
      await using browser = await openPage({ viewport: { width, height: 900 } })
      const { page } = browser
      await page.context().addCookies([{ name: 'theme', value: theme, url }])
      for (const path of paths) {
        await page.goto(url + path)
        await assertAccessible(page, path, { rules: { 'target-size': { enabled: true } } })
        const [content, view, background] = await page.evaluate(() => [
          document.documentElement.scrollWidth,
          document.documentElement.clientWidth,
          getComputedStyle(document.body).backgroundColor,
        ])
        assert.equal(content, view, path)
        assert.equal(background, theme === 'dark' ? 'rgb(20, 24, 26)' : 'rgb(247, 247, 245)', path)
      }
      assert.deepEqual(browser.problems, [])
    },
  )
}
