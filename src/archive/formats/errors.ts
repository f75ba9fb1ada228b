/** A file that cannot be read as records. The message says what it is, and never repeats anything of it. */
export class FormatError extends Error {
  override readonly name: string = 'FormatError'
}

export class UnclearKindError extends FormatError {
  override readonly name = 'UnclearKindError'
  constructor() {
    super('the records do not say of which kind they are')
  }
}

export class UnclearOwnerError extends FormatError {
  override readonly name = 'UnclearOwnerError'
  constructor() {
    super('the records do not say whose they are')
  }
}
