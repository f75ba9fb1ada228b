import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { RefusedError } from '../accounts/errors.ts'
import { readSecretFile } from '../accounts/secret-files.ts'
import { type Config, settings } from '../config.ts'
import { syncFile, syncFolder } from '../store/index.ts'

/**
 * API keys of sources, encrypted under a secret that is a file and never in the database. So a backup, an export or the database
 * alone holds no key that works.
 */

/** What stored keys are encrypted with. */
export interface Secret {
  /** Stored next to each key, so that it is known which secret opens it. It tells nothing of the secret. */
  readonly id: string
  readonly key: Buffer
}

/** Whose key it is, and where it may be sent. Whoever renumbers the account must encrypt its key again. */
interface KeyOwner {
  readonly accountId: number
  readonly origin: string
}

/**
 * The secret of this service, in a file that its first use makes. Throws RefusedError, for the operator, if no file is named and the
 * database is none, or if others can read the file or it is none of these.
 */
export function openSecret(config: SecretConfig): Secret {
  const file = fileOf(config)
  if (!existsSync(file)) createSecret(file)
  return readSecret(file)
}

/** Whether a key was stored with another secret, as after a restore elsewhere, so that it must be given again. Makes no secret. */
export function isOtherSecret(secretId: string | null, config: SecretConfig): boolean {
  if (secretId === null) return false
  try {
    const file = fileOf(config)
    return !existsSync(file) || readSecret(file).id !== secretId
  } catch (error) {
    if (error instanceof RefusedError) return true
    throw error
  }
}

function readSecret(file: string): Secret {
  const text = readSecretFile(file).trim()
  if (!SECRET.test(text)) throw new RefusedError(`${file} is not a file with a secret of Lockstep`)
  const derive = (purpose: string, bytes: number) => Buffer.from(hkdfSync('sha256', text, '', purpose, bytes))
  return { id: derive('id of the secret', 8).toString('hex'), key: derive('keys of sources', 32) }
}

/** Encrypts an API key, for this account and this origin only. */
export function sealKey(secret: Secret, owner: KeyOwner, apiKey: string): { sealed: string; secretId: string } {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', secret.key, nonce).setAAD(boundTo(owner))
  const text = Buffer.concat([cipher.update(apiKey, 'utf8'), cipher.final()])
  return { sealed: Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url'), secretId: secret.id }
}

/** The API key; undefined if it was encrypted with another secret, for another account or another origin, or was changed. */
export function openKey(secret: Secret, owner: KeyOwner, sealed: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', secret.key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(boundTo(owner)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return undefined
  }
}

function boundTo({ accountId, origin }: KeyOwner): Buffer {
  return Buffer.from(JSON.stringify([accountId, origin]))
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
/** 32 random bytes in base64url. */
const SECRET = /^[\w-]{43}$/

type SecretConfig = Pick<Config, 'databaseUrl' | 'secretFile'>

function fileOf({ databaseUrl, secretFile }: SecretConfig): string {
  if (secretFile !== '') return secretFile
  if (databaseUrl.startsWith('sqlite:')) return `${databaseUrl.slice('sqlite:'.length)}.secret`
  throw new RefusedError(
    `on PostgreSQL, API keys of sources are stored only if ${settings.secretFile.env} names a file`,
  )
}

/** The file gets its name when it is whole, so that several processes that start at once have the same secret. */
function createSecret(file: string) {
  const unfinished = `${file}.${randomBytes(8).toString('hex')}`
  try {
    writeFileSync(unfinished, `${randomBytes(32).toString('base64url')}\n`, { flag: 'wx', mode: 0o600 })
    syncFile(unfinished)
    linkSync(unfinished, file)
  } catch (error) {
    // Another process was first.
    if (!existsSync(file)) throw new RefusedError(`${file} cannot be made`, { cause: error })
  } finally {
    rmSync(unfinished, { force: true })
  }
  syncFolder(dirname(file))
}
