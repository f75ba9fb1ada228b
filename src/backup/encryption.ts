import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { ReadableStream as NodeStream } from 'node:stream/web'
import type * as Age from 'age-encryption'
import { Refusal } from '../contract/refusal.ts'
import { readChunks, startOf } from './files.ts'

/** Streams of age v1, as the `age` tool reads and writes them. */

const require = createRequire(import.meta.url)

/** Loaded on first use: it takes some megabytes of memory, and most commands do not need it. */
function age() {
  // The package has these types.
  return require('age-encryption') as typeof Age
}

/** Throws an Error that says what is wrong with it. */
export function checkRecipient(recipient: string) {
  new (age().Encrypter)().addRecipient(recipient)
}

/** The identities of a file, one a line as `age-keygen` writes them. Throws an Error that says what is wrong with it. */
export function readIdentities(path: string): readonly string[] {
  const identities = readFileSync(path, 'utf8')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
  if (identities.length === 0) throw new Error('it holds no identity')
  const decrypter = new (age().Decrypter)()
  for (const identity of identities) decrypter.addIdentity(identity)
  return identities
}

export function isEncryptedFile(path: string): boolean {
  return startOf(path, AGE_START.length) === AGE_START
}

const AGE_START = 'age-encryption.org/v1'

async function encrypt(
  chunks: AsyncIterable<Uint8Array>,
  recipients: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new (age().Encrypter)()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  return encrypter.encrypt(streamOf(chunks))
}

/** May throw Refusal after it has yielded bytes, which must then not be used. */
async function* decrypt(chunks: AsyncIterable<Uint8Array>, keys: Keys): AsyncGenerator<Uint8Array> {
  const decrypter = decrypterOf(keys)
  let failure: { readonly error: unknown } | undefined
  const source = async function* () {
    try {
      yield* chunks
    } catch (error) {
      failure = { error }
      throw error
    }
  }
  try {
    yield* await decrypter.decrypt(streamOf(source()))
  } catch (error) {
    // An error of the source itself, such as an interruption.
    if (failure !== undefined) throw failure.error
    if (error instanceof Error && /no identity matched/.test(error.message)) {
      throw new Refusal(
        'wrong-identity',
        'identities' in keys
          ? 'none of the identities opens the file: it was encrypted for others'
          : 'the passphrase does not open the file',
        { cause: error },
      )
    }
    throw new Refusal('no-backup', 'the encrypted file is damaged or incomplete', { cause: error })
  }
}

function decrypterOf(keys: Keys): Age.Decrypter {
  const decrypter = new (age().Decrypter)()
  if ('passphrase' in keys) decrypter.addPassphrase(keys.passphrase)
  else
    for (const identity of keys.identities) {
      try {
        decrypter.addIdentity(identity)
      } catch {
        // The message of the package could hold a part of it.
        throw new Refusal('wrong-identity', 'this is not a valid identity')
      }
    }
  return decrypter
}

export function encryptTexts(texts: AsyncIterable<string>, recipients: readonly string[]) {
  const bytes = async function* () {
    for await (const text of texts) yield Buffer.from(text)
  }
  return encrypt(bytes(), recipients)
}

export type Keys = { readonly identities: readonly string[] } | { readonly passphrase: string }

/** What somebody typed: an identity, or a passphrase. */
export function typedKeys(secret: string): Keys {
  const typed = secret.trim()
  return /^AGE-SECRET-KEY-/i.test(typed) ? { identities: [typed] } : { passphrase: secret }
}

/** Decrypts an archive. Throws Refusal. */
export async function* decryptArchive(chunks: AsyncIterable<Buffer>, keys: Keys | undefined): AsyncGenerator<Buffer> {
  if (keys === undefined) throw new Refusal('no-identity', 'the archive is encrypted: name a file with --identity')
  for await (const chunk of decrypt(chunks, keys)) yield Buffer.from(chunk)
}

export async function encryptFile(from: string, to: string, recipients: readonly string[], signal?: AbortSignal) {
  await writeFile(to, await encrypt(readChunks(from, signal), recipients), { mode: 0o600 })
}

export async function decryptFile(from: string, to: string, identities: readonly string[], signal?: AbortSignal) {
  await writeFile(to, decrypt(readChunks(from, signal), { identities }), { mode: 0o600 })
}

/** The types of browsers, which the package uses, have no streams of iterables. */
function streamOf(chunks: AsyncIterable<Uint8Array>) {
  return NodeStream.from(chunks) as unknown as ReadableStream<Uint8Array>
}
