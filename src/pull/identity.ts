import { type Source, SourceError } from './source.ts'
import { idOf, isObject, type SourceData } from './rows.ts'

/** Whose token it is, as far as the source tells. */
export interface Identity {
  readonly id: number
  /** The fields of the user; only the id where the source tells no more. */
  readonly user: SourceData
  /** Where the source told it. */
  readonly path: IdentityPath
}

export type IdentityPath = '/users/me' | '/me' | '/users'

const paths: readonly IdentityPath[] = ['/users/me', '/me', '/users']

/** Asks the source whose token it is: `known` first, where that is the path that told it before. Undefined when it does not tell. */
export async function identify(source: Source, known?: IdentityPath): Promise<Identity | undefined> {
  const order = known === undefined ? paths : [known, ...paths.filter(path => path !== known)]
  for (const path of order) {
    const { data } = await source.get(path)
    const user = path === '/users' ? onlyRow(data) : userOf(data)
    const id = idOf(user?.['id'])
    if (user !== undefined && id !== undefined) return { id, user, path }
  }
  return undefined
}

/** Throws SourceError unless the source has a list of this API. */
export async function checkApi(source: Source): Promise<void> {
  for (const path of ['/lkbx/templates', '/dtt/sessions']) {
    const { status } = await source.get(path, { limit: 1, offset: 0 })
    if (status === 200) return
  }
  throw new SourceError(`${source.address} has no lists of this API: is this the right address?`)
}

/** The rows of a page, however the source wraps them. Undefined where there are none. */
export function rowsOf(data: unknown): readonly unknown[] | undefined {
  if (isArray(data)) return data
  if (!isObject(data)) return undefined
  if (isArray(data['data'])) return data['data']
  const arrays = Object.values(data).filter(isArray)
  return arrays.length === 1 ? arrays[0] : undefined
}

function onlyRow(data: unknown): SourceData | undefined {
  const rows = rowsOf(data) ?? []
  return rows.length === 1 && isObject(rows[0]) ? rows[0] : undefined
}

function userOf(data: unknown): SourceData | undefined {
  if (!isObject(data)) return undefined
  const { account } = data
  return idOf(data['id']) === undefined && isObject(account) ? account : data
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}
