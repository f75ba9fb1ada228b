import { readConfig } from '../../src/config.ts'
import { makeLog } from '../../src/http/log.ts'
import { type Service, type ServiceOptions, startServer } from '../../src/http/server.ts'
import type { Store } from '../../src/store/index.ts'
import type { TestService } from './service.ts'

/** One more server on the store of a service: with other settings, or with something between it and the store. */
export interface Again extends Service, AsyncDisposable {
  readonly log: readonly string[]
}

export async function serveAgain(
  service: Pick<TestService, 'store'>,
  settings: Readonly<Record<string, string>> = {},
  { store = service.store, metrics }: { store?: Store; metrics?: ServiceOptions['metrics'] } = {},
): Promise<Again> {
  const log: string[] = []
  // On a busy machine any process can be behind.
  const config = readConfig({ LOCKSTEP_PORT: '0', LOCKSTEP_OVERLOAD_LAG: '0', ...settings })
  const again = await startServer({ store, config, metrics, log: makeLog(text => log.push(text), config.accessLog) })
  return { ...again, log, [Symbol.asyncDispose]: () => again.close() }
}
