import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Store } from '../store/index.ts'

/** Whom the sign-in page fills in, if all data is a sample. */
export interface SampleAccount {
  readonly username: string
  readonly password: string
}

/** Where failures of our own are logged. */
interface FailureLog {
  failure(error: unknown, requestId: string | undefined): void
}

export interface DashboardOptions {
  readonly store: Store
  readonly config: Config
  /** Leaves a request to the listener, which answers the error as JSON. */
  readonly leave: (request: FastifyRequest, reply: FastifyReply, error: unknown) => void
  readonly log: FailureLog
  readonly sample?: SampleAccount | undefined
}
