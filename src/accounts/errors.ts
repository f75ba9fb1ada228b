import { Refusal } from '../contract/refusal.ts'

/** A request that is not allowed. */
export class RefusedError extends Refusal {
  override readonly name = 'RefusedError'

  constructor(message: string, options?: ErrorOptions) {
    super('refused', message, options)
  }
}
