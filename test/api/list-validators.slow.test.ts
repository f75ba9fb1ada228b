// engine: both
import { test } from 'node:test'
import { checkValidators } from '../support/list-changes.ts'
import { sweep } from '../support/sweeps.ts'

test('while lists are read and changed, no two responses have the same validator, and every 304 is right', () =>
  checkValidators(sweep(3, 100)))
