import { listAccounts } from '../accounts/accounts.ts'
import { hasSignInMethods } from '../accounts/sign-in-methods.ts'
import { type Config, readConfig } from '../config.ts'
import type { Store } from '../store/index.ts'
import { ownCommand } from '../version.ts'
import type { StoreOptions } from './opening.ts'
import { say } from './print.ts'

export function hasNewAccounts(kinds: readonly { readonly kind: string; readonly added: number }[]): boolean {
  return kinds.some(({ kind, added }) => kind === 'account' && added > 0)
}

/** Says what comes after the first records of a new database, until somebody can sign in to it. */
export async function sayNextSteps(store: Store, { database }: StoreOptions, accountId?: number) {
  if (await hasSignInMethods(store)) return
  const accounts = await listAccounts(store)
  const username = (accounts.find(({ id }) => id === accountId) ?? accounts[0])?.username
  if (username === undefined) return
  const config = readConfig(process.env, ['publicUrl', 'host', 'port'])
  const where = database === undefined ? '' : ` --database '${database}'`
  say(`
Next, choose a password, and start the service unless it runs:
  ${ownCommand} account set-password --account '${username}'${where}
  ${ownCommand} serve${where}
Then sign in at ${serviceAddress(config)}/signin`)
}

/** The address of the service, as far as the settings say it. A service on all addresses has one on this machine. */
export function serviceAddress({ publicUrl, host, port }: Pick<Config, 'publicUrl' | 'host' | 'port'>): string {
  if (publicUrl !== '') return publicUrl
  const name = ['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
