import { type Config, settings } from '../config.ts'
import type { OidcSettings } from './oidc.ts'
import { readSecretFile } from './secret-files.ts'
import { Refusal, renamed } from '../contract/refusal.ts'

/** The issuer of the settings; undefined if there is none. Throws Refusal if something is missing. */
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
  if (clientId === '')
    throw new Refusal('usage', `${settings.oidcClientId.env} must be set with ${settings.oidcIssuer.env}`)
  if (file === '') return { issuer, clientId, clientSecret: undefined, auth, name }
  const env = settings.oidcClientSecretFile.env
  const clientSecret = renamed(`${env}:`, ['refused', 'usage'], () => readSecretFile(file).trim())
  if (clientSecret === '') throw new Refusal('usage', `${env}: ${file} is empty`)
  return { issuer, clientId, clientSecret, auth, name }
}
