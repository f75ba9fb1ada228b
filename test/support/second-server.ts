import { startService } from '../../src/cli/service.ts'
import { readConfig } from '../../src/config.ts'
import { makeLog } from '../../src/http/log.ts'
import type { Service, ServiceOptions } from '../../src/http/server.ts'
import type { Store } from '../../src/store/index.ts'
import { onBusyMachine, type TestService } from './service.ts'

/** A second server on the store of a service, with other settings or a wrapped store. */
export interface SecondServer extends Service, AsyncDisposable {
  readonly log: readonly string[]
}

export async function startSecondServer(
  service: Pick<TestService, 'store'> & Partial<Pick<TestService, 'databaseUrl'>>,
  settings: Readonly<Record<string, string>> = {},
  options: Partial<Pick<ServiceOptions, 'store' | 'metrics'>> = {},
): Promise<SecondServer> {
  const log: string[] = []
  const { databaseUrl = '' } = service
  const config = readConfig({ ...onBusyMachine, LOCKSTEP_DATABASE_URL: databaseUrl, ...settings })
  const { store } = service
  const again = await startService({
    store,
    config,
    ...options,
    log: makeLog(text => log.push(text), config),
  })
  return { ...again, log, [Symbol.asyncDispose]: () => again.close() }
}

/** A store whose reads wait, all or some of them, until the test lets them go. */
export function gatedStore(store: Store, waits: (values: object) => boolean = () => true) {
  const waiting: (() => void)[] = []
  const gate = {
    waiting,
    isClosed: true,
    /** Lets those go that wait now. */
    release() {
      for (const go of waiting.splice(0)) go()
    },
    open() {
      gate.isClosed = false
      gate.release()
    },
    store: {
      ...store,
      async read(query, values) {
        if (gate.isClosed && waits(values)) await new Promise<void>(resolve => waiting.push(resolve))
        return store.read(query, values)
      },
    } satisfies Store,
  }
  return gate
}
