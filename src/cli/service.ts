import { makeEventCounter } from '../accounts/event-counter.ts'
import { makeReadLog } from '../accounts/read-log.ts'
import { makePages } from '../dashboard/app.ts'
import type { SampleAccount } from '../dashboard/options.ts'
import { Uploads } from '../uploads/uploads.ts'
import { type Service, type ServiceOptions, startServer } from '../http/server.ts'
import { runOrder } from './upload.ts'

export interface FullServiceOptions extends Omit<ServiceOptions, 'makePages' | 'readLog' | 'events'> {
  /** The account that is filled in on the sign-in page, if all data is a sample. */
  readonly sample?: SampleAccount | undefined
}

export async function startService({ sample, ...options }: FullServiceOptions): Promise<Service> {
  const { store, config, log } = options
  const readLog = makeReadLog(store, { days: config.readsDays, onFailure: error => log.failure(error, undefined) })
  const events = makeEventCounter(store, error => log.failure(error, undefined))
  const background = new Set<Promise<void>>()
  const inBackground = (work: Promise<void>) => {
    background.add(work)
    void work.finally(() => background.delete(work))
  }
  const uploads = new Uploads({ store, config, runOrder, onFailure: error => log.failure(error, undefined) })
  const parts = { store, config, log, readLog, events, uploads, inBackground, sample }
  const service = await startServer({
    ...options,
    readLog,
    events,
    makePages: load => makePages({ ...parts, load }),
  })
  return {
    ...service,
    async close() {
      await uploads.close()
      await service.close()
      await Promise.all(background)
    },
  }
}
