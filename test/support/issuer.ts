import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Visitor, visitor } from './dashboard.ts'

/** An OpenID Connect issuer in a process of its own. */
export interface Issuer extends AsyncDisposable {
  readonly url: string
  /** The settings of a service that uses it. */
  readonly settings: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export interface IssuerOptions {
  /** Where it is below its host. */
  readonly path?: string
  /** What else is registered for the client. */
  readonly client?: object
}

export async function startIssuer(options: IssuerOptions = {}): Promise<Issuer> {
  const folder = await mkdtemp(join(tmpdir(), 'issuer-'))
  const secretFile = join(folder, 'secret')
  writeFileSync(secretFile, 'the secret of the client\n', { mode: 0o600 })
  const program = fileURLToPath(new URL('./issuer-process.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [printed] = (await once(child.stdout, 'data')) as [Buffer]
  const url = printed.toString().trim()
  const stop = async () => {
    await ended(child)
    await rm(folder, { recursive: true, force: true })
  }
  return {
    url,
    settings: {
      LOCKSTEP_OIDC_ISSUER: url,
      LOCKSTEP_OIDC_CLIENT_ID: 'lockstep',
      LOCKSTEP_OIDC_CLIENT_SECRET_FILE: secretFile,
      LOCKSTEP_OIDC_NAME: 'Example ID',
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function ended(child: ChildProcess) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill()
  await once(child, 'exit')
}

/** A browser at the issuer, which keeps its cookies from one visit to the next. */
export interface IssuerVisitor {
  /** Signs in as somebody, unless the issuer knows who it is. Returns the address at the service that it leads back to. */
  follow(address: string, login: string): Promise<string>
}

export function issuerVisitor(issuer: string): IssuerVisitor {
  const person = visitor('')
  return {
    async follow(address, login) {
      let seen = await person.get(address)
      for (let step = 0; step < 12; step += 1) {
        if (seen.to !== null) {
          const next = new URL(seen.to, issuer).href
          if (new URL(next).origin !== new URL(issuer).origin) return next
          seen = await person.get(next)
          continue
        }
        const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(seen.text) ?? []
        const [, prompt = ''] = /name="prompt" value="([^"]*)"/.exec(seen.text) ?? []
        if (action === '') throw new Error(`the issuer answered ${seen.status}: ${seen.text.slice(0, 300)}`)
        seen = await person.post(new URL(action, issuer).href, { prompt, login, password: 'x' })
      }
      throw new Error('the issuer leads nowhere')
    },
  }
}

/** The address at the issuer that a link or a form of this service leads to. */
export async function addressAt(person: Visitor, path: string): Promise<string> {
  const isForm = /\/settings\/oidc$|^\/invitation\//.test(path)
  const { to, headers, text } = await (isForm ? person.post(path) : person.get(path))
  return to ?? headers.get('Refresh')?.replace('0; url=', '') ?? assert.fail(text)
}
