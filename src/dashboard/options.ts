import type { EventCounter } from '../accounts/event-counter.ts'
import type { Oidc } from '../accounts/oidc.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import type { Config } from '../config.ts'
import type { Log } from '../http/log.ts'
import type { Store } from '../store/index.ts'
import type { Uploads } from '../uploads/uploads.ts'

/** The account that is filled in on the sign-in page, if all data is a sample. */
export interface SampleAccount {
  readonly username: string
  readonly password: string
}

export interface DashboardOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly readLog: ReadLog
  readonly events: EventCounter
  /** Lets work that logs its failure go on after the response; a service that stops waits for its end. */
  readonly inBackground: (work: Promise<void>) => void
  readonly uploads: Uploads
  /** The issuer with which people may also sign in. */
  readonly oidc: Oidc | undefined
  readonly sample?: SampleAccount | undefined
}
