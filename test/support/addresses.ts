import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'

/** Values for parameters by name: the first also together with those of others, the rest each alone. */
export type Values = Readonly<Record<string, readonly string[]>>

/** Addresses of every endpoint, with every combination of the parameters that have values. */
export function* addresses(values: Values, ids: readonly string[]): Generator<string> {
  for (const { path, query } of Object.values<Endpoint>(api)) {
    const names = Object.keys(query).filter(name => name in values)
    const queries = new Set<string>()
    for (let chosen = 0; chosen < 2 ** names.length; chosen += 1) {
      const some = names.filter((_, index) => (chosen >> index) % 2 === 1)
      queries.add(some.map(name => `${name}=${values[name]?.[0]}`).join('&'))
    }
    for (const name of names) for (const value of values[name] ?? []) queries.add(`${name}=${value}`)
    for (const text of queries) {
      const address = text === '' ? path : `${path}?${text}`
      if (!path.includes(':id')) yield address
      else for (const id of ids) yield address.replace(':id', id)
    }
  }
}
