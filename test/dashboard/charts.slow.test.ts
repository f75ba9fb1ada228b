// engine: any
import { describe } from 'node:test'
import { testDrawn, testMarks, testStill } from '../support/charts.ts'
import { needsChromium } from '../support/chromium.ts'

describe('every chart in a browser', needsChromium, () => {
  testDrawn('every chart')
  testMarks({ colorScheme: 'dark', width: 320 })
  for (const width of [768, 1440]) testStill(width)
})
