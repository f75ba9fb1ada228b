// engine: any
import { describe } from 'node:test'
import { needsChromium } from '../support/chromium.ts'
import { paths, testAccessible, testDrawn, testWidth } from '../support/pages.ts'

describe('every page in a browser', needsChromium, () => {
  testDrawn('every chart')
  testAccessible('dark', '1', paths)
  for (const width of [768, 1440]) testWidth(width)
})
