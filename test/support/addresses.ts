import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { listValues } from './parameters.ts'

/** Values for parameters by name: the first is also combined with those of other parameters, the rest are used alone. */
export type Values = Readonly<Record<string, readonly string[]>>

/**
 * Addresses of every endpoint, with every combination of the parameters that have values: those of lists all do, an empty list
 * leaves one out.
 */
export function* addresses(given: Values, ids: readonly string[]): Generator<string> {
  const values = listValues(given, value => [value])
  for (const { path, query } of Object.values<Endpoint>(api)) {
    // Statistics have too many for all combinations.
    const known = 'bucket' in query ? given : values
    const sent = Object.keys(query).filter(name => (known[name] ?? []).length > 0)
    // An alias is never combined with the name it stands for.
    const names = sent.filter(name => query[name]?.aliasOf === undefined)
    const aliases = sent.filter(name => query[name]?.aliasOf !== undefined)
    const valuesOf = (name: string) =>
      (known[name] ?? []).filter(value => name !== 'include' || query[name]?.parse(value) !== undefined)
    const queries = new Set<string>()
    for (let chosen = 0; chosen < 2 ** names.length; chosen += 1) {
      const some = names.filter((_, index) => (chosen >> index) % 2 === 1)
      queries.add(some.map(name => `${name}=${valuesOf(name)[0]}`).join('&'))
    }
    for (const name of [...names, ...aliases]) for (const value of valuesOf(name)) queries.add(`${name}=${value}`)
    for (const text of queries) {
      const address = text === '' ? path : `${path}?${text}`
      if (!path.includes(':id')) yield address
      else for (const id of ids) yield address.replace(':id', id)
    }
  }
}
