import { test } from 'node:test'
import { flipEverywhere } from '../support/flips.ts'

// engine: sqlite

test('one byte flipped anywhere in a backup is noticed', () => flipEverywhere(20))
