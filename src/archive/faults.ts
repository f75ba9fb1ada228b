/** Why a value is invalid: each `reason` completes "<path> …" and never contains the value. */
export class InvalidError extends Error {
  override readonly name = 'InvalidError'
  readonly faults: readonly Fault[]

  constructor(reason: string | readonly Fault[], path = '') {
    const faults = typeof reason === 'string' ? [{ reason, path }] : reason
    super(joinFaults(faults))
    this.faults = faults
  }

  within(parent: string): InvalidError {
    return new InvalidError(
      this.faults.map(({ reason, path }) => ({
        reason,
        path: `${parent}${path === '' || path.startsWith('[') ? '' : '.'}${path}`,
      })),
    )
  }
}

interface Fault {
  readonly reason: string
  readonly path: string
}

/** Collects the faults of a value, so that all of them are reported at once. */
export class Faults {
  readonly #faults: Fault[] = []

  collect<Value>(check: () => Value): Value | undefined {
    try {
      return check()
    } catch (error) {
      this.add(error)
      return undefined
    }
  }

  /** Rethrows an error that is not an InvalidError. */
  add(error: unknown, parent?: string) {
    if (!(error instanceof InvalidError)) throw error
    const { faults } = parent === undefined ? error : error.within(parent)
    for (const fault of faults) {
      // One fault of each value is enough.
      const isReported = fault.path !== '' && this.#faults.some(({ path }) => path === fault.path)
      if (!isReported && this.#faults.length <= MAX_FAULTS) this.#faults.push(fault)
    }
  }

  /** What an error of them says; undefined if there are none. */
  get message(): string | undefined {
    return this.#faults.length === 0 ? undefined : joinFaults(this.#faults)
  }

  throwIfAny() {
    if (this.#faults.length > 0) throw new InvalidError(this.#faults)
  }
}

const MAX_FAULTS = 20

function joinFaults(faults: readonly Fault[]): string {
  const texts = faults.map(({ reason, path }) => (path === '' ? reason : `${path} ${reason}`))
  return texts.length > MAX_FAULTS ? `${texts.slice(0, MAX_FAULTS).join('; ')}; and more` : texts.join('; ')
}
