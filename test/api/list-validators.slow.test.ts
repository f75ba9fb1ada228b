import { test } from 'node:test'
import { checkValidators } from '../support/list-changes.ts'

test('no validator names two answers after many changes, and every 304 is right', () => checkValidators(15))
