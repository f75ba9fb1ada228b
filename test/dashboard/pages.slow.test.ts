// engine: any
import { describe } from 'node:test'
import { needsChromium } from '../support/chromium.ts'
import { paths, testAccessible, testLargeText, testLongNames, testPaper, testWidth } from '../support/pages.ts'

describe('every page in a browser', needsChromium, () => {
  testAccessible('light', '0', paths)
  testAccessible('dark', '1', paths)
  for (const width of [320, 768, 1440]) testWidth(width, paths)
  testPaper(paths)
  for (const width of [320, 1440]) testLongNames(width, paths)
  for (const width of [768, 1440]) testLargeText(width, paths)
})
