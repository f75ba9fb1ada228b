import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'

/** Values for parameters by name: the first is also combined with those of other parameters, the rest are used alone. */
export type Values = Readonly<Record<string, readonly string[]>>

/** Addresses of every endpoint, with every combination of the parameters that have values. */
export function* addresses(values: Values, ids: readonly string[]): Generator<string> {
  for (const { path, query } of Object.values<Endpoint>(api)) {
    // An alias is never combined with the name it stands for.
    const names = Object.keys(query).filter(name => name in values && query[name]?.aliasOf === undefined)
    const aliases = Object.keys(query).filter(name => name in values && query[name]?.aliasOf !== undefined)
    const valuesOf = (name: string) =>
      (values[name] ?? []).filter(value => name !== 'include' || query[name]?.parse(value) !== undefined)
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
