import { test } from 'node:test'
import { flipEverywhere } from '../support/flips.ts'

// engine: sqlite

test('one byte flipped at any of a thousand places, of a plain and an encrypted backup, is noticed', () =>
  flipEverywhere(500))
