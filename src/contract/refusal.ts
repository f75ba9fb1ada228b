/** Why something is refused. Commands end with an exit code for each. */
export type RefusalCode =
  | 'refused'
  /** A command or a setting is wrong. */
  | 'usage'
  /** The person interrupted it, or declined. */
  | 'interrupted'
  | 'too-often'
  /** Another process does it. */
  | 'busy'
  /** The account was removed here. */
  | 'removed'
  /** Nothing more can be stored of the account. */
  | 'full'
  /** Another program refuses what this one needs, or does not answer and may come back. */
  | 'peer'
  | 'peer-away'
  /** A backup that is damaged, made by a newer program, or none. */
  | 'no-backup'
  /** An encrypted file, and no identity that opens it. */
  | 'no-identity'
  | 'wrong-identity'

/** What is understood but not done. The message says why and, where there is one, what to do instead. */
export class Refusal extends Error {
  override readonly name: string = 'Refusal'
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Does work whose refusals for one reason are refusals for another one, of what `name` is called where the work is done. */
export function renamed<Value>(
  name: string,
  codes: readonly [from: RefusalCode, to: RefusalCode],
  work: () => Value,
): Value {
  try {
    return work()
  } catch (error) {
    throw isRefusal(error, codes[0]) ? new Refusal(codes[1], `${name} ${error.message}`) : error
  }
}

/** Whether an error is a refusal for one of some reasons. */
export function isRefusal(error: unknown, ...codes: readonly RefusalCode[]): error is Refusal {
  return error instanceof Refusal && codes.includes(error.code)
}
