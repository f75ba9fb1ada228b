import fc from 'fast-check'

/**
 * Any code point but half of a surrogate pair, and often one of ASCII: for `fc.string({ unit: characters })`. The unit `binary` of
 * fast-check takes two seconds once in each process.
 */
export const characters: fc.Arbitrary<string> = fc
  .oneof(
    fc.integer({ min: 0, max: 0x7f }),
    fc.integer({ min: 0, max: 0xd7ff }),
    fc.integer({ min: 0xe000, max: 0x10ffff }),
  )
  .map(
    point => String.fromCodePoint(point),
    text => (text as string).codePointAt(0) ?? 0,
  )
