import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

/** A device with passkeys, without a browser: it answers options as a browser would, and can be made to answer wrongly. */

export interface Authenticator {
  /** What a browser sends after making a passkey. */
  create(options: CreationOptions, changes?: Changes): string
  /** What a browser sends after using one; by default the last that was made. */
  get(options: RequestOptions, changes?: Changes): string
}

/** What differs from the answer of an honest browser. */
export interface Changes {
  readonly origin?: string
  readonly challenge?: string
  readonly rpId?: string
  readonly userVerified?: boolean
  readonly counter?: number
  readonly userHandle?: string
}

interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id?: string }
  readonly user: { readonly id: string }
}

interface RequestOptions {
  readonly challenge: string
  readonly rpId?: string
}

export function authenticator(origin: string): Authenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(16)
  let userHandle = ''
  let uses = 0
  const clientData = (type: string, challenge: string, changes: Changes) =>
    Buffer.from(
      JSON.stringify({
        type,
        challenge: changes.challenge ?? challenge,
        origin: changes.origin ?? origin,
        crossOrigin: false,
      }),
    )

  return {
    create({ challenge, rp, user }, changes = {}) {
      userHandle = user.id
      const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, id.length]), id, coseKey(publicKey)])
      const authData = Buffer.concat([authenticatorData(rp.id ?? '', ATTESTED, 0, changes), attested])
      const attestation = new Map<string, string | Uint8Array | Map<string, string>>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', authData],
      ])
      return answer(id, {
        clientDataJSON: encoded(clientData('webauthn.create', challenge, changes)),
        attestationObject: encoded(Buffer.from(isoCBOR.encode(attestation))),
        transports: ['internal'],
      })
    },
    get({ challenge, rpId = '' }, changes = {}) {
      uses += 1
      const data = authenticatorData(rpId, 0, uses, changes)
      const client = clientData('webauthn.get', challenge, changes)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      return answer(id, {
        clientDataJSON: encoded(client),
        authenticatorData: encoded(data),
        signature: createSign('sha256').update(signed).sign(privateKey, 'base64url'),
        userHandle: changes.userHandle ?? userHandle,
      })
    },
  }
}

function answer(id: Buffer, response: object): string {
  return JSON.stringify({
    id: encoded(id),
    rawId: encoded(id),
    type: 'public-key',
    response,
    clientExtensionResults: {},
  })
}

const PRESENT = 0x01
const VERIFIED = 0x04
const ATTESTED = 0x40

function authenticatorData(rpId: string, flags: number, uses: number, changes: Changes): Buffer {
  const counter = Buffer.alloc(4)
  counter.writeUInt32BE(changes.counter ?? uses)
  const all = flags | PRESENT | (changes.userVerified === false ? 0 : VERIFIED)
  const host = createHash('sha256')
    .update(changes.rpId ?? rpId)
    .digest()
  return Buffer.concat([host, Buffer.from([all]), counter])
}

function coseKey(key: KeyObject): Uint8Array {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  const point = (value: string) => new Uint8Array(Buffer.from(value, 'base64url'))
  // EC2, ES256, P-256, x and y.
  const parameters = new Map<number, number | Uint8Array>([
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, point(x)],
    [-3, point(y)],
  ])
  return isoCBOR.encode(parameters)
}

function encoded(value: Buffer): string {
  return value.toString('base64url')
}
