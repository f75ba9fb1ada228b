import { hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { decryptText, encryptText } from '../accounts/encryption.ts'
import { readSecretFile } from '../accounts/secret-files.ts'
import type { Config } from '../config.ts'
import { sqliteFile, syncFile, syncFolder } from '../store/index.ts'
import { isRefusal, Refusal } from '../contract/refusal.ts'

/**
 * API keys of sources, encrypted under a secret that is never in the database. So a backup, an export or the database
 * alone holds no key that works.
 */

export type Secret = ReturnType<typeof secretOf>

/** Whose key it is, and where it may be sent. Whoever renumbers the account must encrypt its key again. */
interface KeyOwner {
  readonly accountId: number
  readonly origin: string
}

/**
 * The secret of this service, in a file that its first use makes, or its passing one. Throws Refusal, for the operator, if
 * others can read the file or it is none of these.
 */
export function openSecret(config: SecretConfig): Secret {
  const file = fileOf(config)
  if (file === undefined) return secretOf(passingSecret())
  if (!existsSync(file)) createSecret(file)
  return readSecret(file)
}

/** Whether no file is named, so that stored keys are lost when the service ends. */
export function isPassing(config: SecretConfig): boolean {
  return fileOf(config) === undefined
}

/** The secret where no file is named. All processes of a service have the same one, in their memory only. */
export function passingSecret(): string {
  return (passing ||= newSecret())
}

export function setPassingSecret(secret: string) {
  passing = secret
}

let passing = ''

/** Whether a key was stored with another secret, as after a restore elsewhere, so that it must be given again. Makes no secret. */
export function isOtherSecret(secretId: string | null, config: SecretConfig): boolean {
  if (secretId === null) return false
  const file = fileOf(config)
  // A command does not know the passing secret of the service.
  if (file === undefined) return passing !== '' && secretOf(passing).id !== secretId
  try {
    return !existsSync(file) || readSecret(file).id !== secretId
  } catch (error) {
    if (isRefusal(error, 'refused')) return true
    throw error
  }
}

function readSecret(file: string): Secret {
  const text = readSecretFile(file).trim()
  if (!SECRET.test(text)) throw new Refusal('refused', `${file} is not a file with a secret of Lockstep`)
  return secretOf(text)
}

/** What stored keys are encrypted with; the `id` is stored next to each, and tells nothing of the secret. */
function secretOf(text: string) {
  const derive = (purpose: string, bytes: number) => Buffer.from(hkdfSync('sha256', text, '', purpose, bytes))
  return { id: derive('id of the secret', 8).toString('hex'), key: derive('keys of sources', 32) }
}

/** Encrypts an API key, for this account and this origin only. */
export function sealKey(secret: Secret, owner: KeyOwner, apiKey: string): { sealed: string; secretId: string } {
  return { sealed: encryptText(secret.key, contextOf(owner), apiKey), secretId: secret.id }
}

/** The API key; undefined if it was encrypted with another secret, for another account or another origin, or was changed. */
export function openKey(secret: Secret, owner: KeyOwner, sealed: string): string | undefined {
  return decryptText(secret.key, contextOf(owner), sealed)
}

function contextOf({ accountId, origin }: KeyOwner): string {
  return JSON.stringify([accountId, origin])
}

/** 32 random bytes in base64url. */
const SECRET = /^[\w-]{43}$/

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

type SecretConfig = Pick<Config, 'databaseUrl' | 'secretFile'>

function fileOf({ databaseUrl, secretFile }: SecretConfig): string | undefined {
  if (secretFile !== '') return secretFile
  const database = sqliteFile(databaseUrl)
  return database === undefined ? undefined : `${database}.secret`
}

/** The file gets its name when it is whole, so that several processes that start at once have the same secret. */
function createSecret(file: string) {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}`
  try {
    writeFileSync(unfinished, `${newSecret()}\n`, { flag: 'wx', mode: 0o600 })
    syncFile(unfinished)
    linkSync(unfinished, file)
  } catch (error) {
    // Another process was first.
    if (!existsSync(file)) throw new Refusal('refused', `${file} cannot be made`, { cause: error })
  } finally {
    rmSync(unfinished, { force: true })
  }
  syncFolder(dirname(file))
}
