import { type Source, SourceError } from './source.ts'
import { isObject } from '../archive/values.ts'
import { idOf, type SourceData } from './rows.ts'

/** The account that an API key belongs to, according to the source. */
export interface Identity {
  readonly id: number
  /** The fields of the user; only the id if the source sends no more. */
  readonly user: SourceData
  /** The path that returned it. */
  readonly path: IdentityPath
}

export type IdentityPath = '/users/me' | '/me' | '/users'

const paths: readonly IdentityPath[] = ['/users/me', '/me', '/users']

/** Asks the source whom the API key belongs to, first at the path that returned it before. Undefined if no path returns it. */
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

/** The rows of a page, however the source wraps them. Undefined if there is no list. */
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
