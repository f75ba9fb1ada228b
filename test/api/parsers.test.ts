import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatTimestamp, parseDay, parseTimestamp } from '../../src/contract/time.ts'
import { parseQuery } from '../../src/http/parameters.ts'
import { isKeyForm, mintKey } from '../../src/accounts/secrets.ts'
import { characters } from '../support/characters.ts'

const DAY_MS = 86_400_000
const FIRST = Temporal.Instant.from('0000-01-01T00:00:00Z').epochMilliseconds
const LAST = Temporal.Instant.from('9999-12-31T23:59:59.999Z').epochMilliseconds

// Days and instants

test('days from 0000-01-01 to 9999-12-31 are parsed without gaps or extra days', () => {
  let next = FIRST
  for (let year = 0; year <= 9999; year += 1) {
    for (let month = 0; month <= 13; month += 1) {
      const prefix = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-`
      for (let day = 27; day <= 32; day += 1) {
        const parsed = parseDay(prefix + day)
        if (parsed === undefined) continue
        // The days before the 27th are in every month.
        if (day === 27) {
          assert.equal(parseDay(`${prefix}01`), next, prefix)
          next += 26 * DAY_MS
        }
        assert.equal(parsed, next, prefix + day)
        next += DAY_MS
      }
    }
  }
  assert.equal(next, LAST + 1)
})

const two = (max: number) => fc.integer({ min: 0, max }).map(value => String(value).padStart(2, '0'))
const written = fc.record({
  year: fc.oneof(fc.integer({ min: 0, max: 9999 }), fc.constantFrom(0, 4, 99, 100, 1900, 2000, 2024, 9999)),
  month: two(13),
  day: fc.oneof(two(32), fc.constantFrom('28', '29', '30', '31')),
  hour: two(24),
  minute: two(60),
  second: two(60),
  fraction: fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,3}0*$/), fc.stringMatching(/^\.\d{1,9}$/)),
  zone: fc.oneof(
    fc.constantFrom('Z', 'z', '+00:00', '-00:00', '+14:00', '-23:59'),
    fc.tuple(fc.constantFrom('+', '-'), two(24), two(60)).map(([sign, hours, minutes]) => `${sign}${hours}:${minutes}`),
  ),
  separator: fc.constantFrom('T', 't'),
})

test('a timestamp means what Temporal says, in any year, with any offset, to the millisecond', () => {
  let accepted = 0
  fc.assert(
    fc.property(written, parts => {
      const text = `${String(parts.year).padStart(4, '0')}-${parts.month}-${parts.day}${parts.separator}${parts.hour}:${parts.minute}:${parts.second}${parts.fraction}${parts.zone}`
      const expected = instantOf(parts)
      assert.equal(parseTimestamp(text), expected, text)
      if (expected !== undefined) accepted += 1
    }),
    { numRuns: 5000 },
  )
  assert.ok(accepted > 1000, 'enough of them exist')
  assert.equal(parseTimestamp('0000-01-01T00:01:00+00:01'), FIRST)
  assert.equal(parseTimestamp('0000-01-01T00:00:59.999+00:01'), undefined)
  assert.equal(parseTimestamp('9999-12-31T23:58:59.999-00:01'), LAST)
  assert.equal(parseTimestamp('9999-12-31T23:59:00-00:01'), undefined)
})

/** An independent implementation. The year must have four digits in UTC, too, and what is finer than a millisecond is cut off. */
function instantOf({ year, month, day, hour, minute, second, fraction, zone }: Written): number | undefined {
  const digits = fraction.slice(1).padEnd(9, '0')
  const [, sign, hours = '0', minutes = '0'] = /^([+-])(\d\d):(\d\d)$/.exec(zone) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined
  let local: Temporal.PlainDateTime
  try {
    const fields = { month: Number(month), day: Number(day), hour: Number(hour), minute: Number(minute) }
    const rest = { second: Number(second), millisecond: Number(digits.slice(0, 3)) }
    local = Temporal.PlainDateTime.from({ year, ...fields, ...rest }, { overflow: 'reject' })
  } catch {
    return undefined
  }
  const offset = { hours: Number(hours), minutes: Number(minutes) }
  const utc = sign === '-' ? local.add(offset) : local.subtract(offset)
  const instant = utc.toZonedDateTime('UTC').epochMilliseconds
  return instant < FIRST || instant > LAST ? undefined : instant
}
type Written = typeof written extends fc.Arbitrary<infer Parts> ? Parts : never

test('a timestamp is written as UTC, with milliseconds only if they are not zero, and parses to the same instant', () => {
  fc.assert(
    fc.property(fc.integer({ min: FIRST, max: LAST }), fc.boolean(), (instant, whole) => {
      const sent = whole ? Math.max(FIRST, instant - (instant % 1000)) : instant
      const text = formatTimestamp(sent)
      assert.match(text, sent % 1000 === 0 ? /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/ : /^\d{4}-.*T.*:\d\d\.\d{3}Z$/)
      assert.equal(parseTimestamp(text), sent)
    }),
  )
})

// Tokens

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

test('a new API key has the documented form and checksum', () => {
  assert.equal(crc32('123456789'), 0xcb_f4_39_26n, 'the check value of the algorithm')
  const seen = new Set<string>()
  for (let count = 0; count < 300; count += 1) {
    const token = mintKey()
    assert.match(token, /^lks_[0-9A-Za-z]{36}$/)
    assert.equal(token.slice(-6), base62(crc32(token.slice(0, -6))).padStart(6, '0'))
    assert.ok(isKeyForm(token))
    seen.add(token)
  }
  assert.equal(seen.size, 300)
  assert.equal(new Set(Array.from(seen, token => token.slice(4, 34)).join('')).size, 62, 'all characters are used')
})

/** CRC32 as the standard describes it, bit by bit. */
function crc32(text: string): bigint {
  let rest = 0xff_ff_ff_ffn
  for (const byte of Buffer.from(text)) {
    rest ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit += 1) rest = rest % 2n === 1n ? (rest / 2n) ^ 0xed_b8_83_20n : rest / 2n
  }
  return rest ^ 0xff_ff_ff_ffn
}

function base62(value: bigint): string {
  return (value < 62n ? '' : base62(value / 62n)) + (BASE62[Number(value % 62n)] ?? '')
}

// Queries

const decoded = fc
  .string({ unit: characters, maxLength: 8 })
  .filter(text => text.isWellFormed() && !text.includes('\0'))

test('a query is split at & only; empty pairs are skipped; without = the value is empty', () => {
  const pair = fc
    .tuple(decoded, fc.option(decoded, { nil: undefined }))
    .filter(([name, value]) => name !== '' || value !== undefined)
  fc.assert(
    fc.property(
      fc.array(pair),
      fc.array(fc.constantFrom('&', '&&', '&&&'), { minLength: 12, maxLength: 12 }),
      (pairs, joints) => {
        const parts = pairs.map(([name, value]) => encode(name) + (value === undefined ? '' : `=${encode(value)}`))
        const query = parts.map((part, index) => part + (joints[index % joints.length] ?? '&')).join('')
        const expected = pairs.map(([name, value]) => [name, value ?? ''])
        assert.deepEqual(parseQuery(query), expected)
        assert.deepEqual(parseQuery(`&${parts.join('&')}`), expected)
      },
    ),
  )
})

test('a plus sign is literal, and no other character separates pairs', () => {
  assert.deepEqual(parseQuery('a+b=c+d'), [['a+b', 'c+d']])
  assert.deepEqual(parseQuery('a%2Bb=c%2bd%20e'), [['a+b', 'c+d e']])
  assert.deepEqual(parseQuery('a;b=c;d=e'), [['a;b', 'c;d=e']])
  assert.deepEqual(parseQuery('a=b=c?d=e/f'), [['a', 'b=c?d=e/f']])
  assert.deepEqual(parseQuery('a[]=1&a[b]=2'), [
    ['a[]', '1'],
    ['a[b]', '2'],
  ])
  assert.deepEqual(parseQuery('%26=%3D'), [['&', '=']])
  assert.deepEqual(parseQuery('=&a'), [
    ['', ''],
    ['a', ''],
  ])
  assert.deepEqual(parseQuery('a=%2541'), [['a', '%41']], 'decoded once')
  assert.deepEqual(parseQuery('&&&'), [])
  assert.deepEqual(parseQuery('%00=%00'), [['\0', '\0']], 'which no parameter has')
})

/** All encodings of it are equal: here everything is percent-encoded except plus signs. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%2B', '+')
}
