import type { Store } from '../../src/store/index.ts'

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
