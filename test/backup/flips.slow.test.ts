import { test } from 'node:test'
import { flipEverywhere } from '../support/flips.ts'
import { sweep } from '../support/sweeps.ts'

// engine: sqlite

test('one byte flipped at any of many places, of a plain and an encrypted backup, is noticed', () =>
  flipEverywhere(sweep(100, 1000)))
