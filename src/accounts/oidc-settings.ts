import { type Config, ConfigError, settings } from '../config.ts'
import { RefusedError } from './errors.ts'
import type { OidcSettings } from './oidc.ts'
import { readSecretFile } from './secret-files.ts'

/** The issuer of the settings; undefined if there is none. Throws ConfigError if something is missing. */
export function readOidcSettings(
  config: Pick<Config, 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecretFile' | 'oidcAuth' | 'oidcName'>,
): OidcSettings | undefined {
  const {
    oidcIssuer: issuer,
    oidcClientId: clientId,
    oidcClientSecretFile: file,
    oidcAuth: auth,
    oidcName: name,
  } = config
  if (issuer === '') return undefined
  if (clientId === '') throw new ConfigError(`${settings.oidcClientId.env} must be set with ${settings.oidcIssuer.env}`)
  if (file === '') return { issuer, clientId, clientSecret: undefined, auth, name }
  try {
    const clientSecret = readSecretFile(file).trim()
    if (clientSecret === '') throw new RefusedError(`${file} is empty`)
    return { issuer, clientId, clientSecret, auth, name }
  } catch (error) {
    if (error instanceof RefusedError) throw new ConfigError(`${settings.oidcClientSecretFile.env}: ${error.message}`)
    throw error
  }
}
