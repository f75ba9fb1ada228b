import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request as insecureRequest } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request, type RequestOptions } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type SecureVersion } from 'node:tls'
import { freePort } from './postgres.ts'
import { until } from './waiting.ts'

/** The proxies of deploy/, run with its samples. */

export function readSample(file: string): string {
  return readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8')
}

/** The settings in the first comment of a sample. */
export function settingsOf(sample: string): Record<string, string> {
  return Object.fromEntries(
    [...sample.matchAll(/^# (LOCKSTEP_[A-Z_]+)=(\S+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
}

/** Runs nginx with a sample as it stands, but for its ports and its certificate. */
export async function startNginx(sample: string, port: number, tlsPort?: number) {
  return startProxy('nginx', { hostname: hostOf(sample), tlsPort }, ({ folder, tlsPort, plainPort }) => {
    const site = sample
      .replaceAll(/\/etc\/letsencrypt\/live\/[a-z]+\.example/g, folder)
      .replace('server 127.0.0.1:5625', `server 127.0.0.1:${port}`)
      .replace('listen 443 ssl', `listen 127.0.0.1:${tlsPort} ssl`)
      .replace('listen [::]:443 ssl', `listen [::1]:${tlsPort} ssl`)
      .replace('listen 80', `listen 127.0.0.1:${plainPort}`)
      .replace('listen [::]:80', `listen [::1]:${plainPort}`)
    writeFileSync(join(folder, 'lockstep.conf'), site)
    mkdirSync(join(folder, 'temp'))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      name => `${name}_temp_path ${join(folder, 'temp', name)};`,
    )
    const main = `daemon off; master_process off; pid ${folder}/pid; error_log stderr;
      events {} http { access_log off; ${temporary.join(' ')} include ${folder}/lockstep.conf; }`
    writeFileSync(join(folder, 'main.conf'), main)
    return ['-e', 'stderr', '-c', join(folder, 'main.conf'), '-p', folder]
  })
}

/** Runs Caddy with a sample as it stands, but for its ports and its certificate, unless it makes that itself. */
export async function startCaddy(sample: string, port: number, tlsPort?: number) {
  return startProxy('caddy', { hostname: hostOf(sample), tlsPort }, ({ folder, tlsPort, plainPort }) => {
    const options = `
      admin off
      skip_install_trust
      http_port ${plainPort}
      https_port ${tlsPort}
      storage file_system ${folder}`
    const site = sample
      .replace(/^\{$/m, `{${options}`)
      .replace('127.0.0.1:5625', `127.0.0.1:${port}`)
      .replace('# tls internal', `tls ${folder}/fullchain.pem ${folder}/privkey.pem`)
    writeFileSync(join(folder, 'Caddyfile'), site)
    return ['run', '--config', join(folder, 'Caddyfile')]
  })
}

interface Place {
  /** Has `privkey.pem` and `fullchain.pem`. */
  readonly folder: string
  readonly tlsPort: number
  readonly plainPort: number
}

/** The host name that a sample is for. */
function hostOf(sample: string): string {
  return /https:\/\/([a-z.]+)/.exec(sample)?.[1] ?? ''
}

/** Starts a proxy; `configure` writes its files and returns its arguments. */
async function startProxy(
  program: string,
  { hostname, tlsPort = 0 }: { readonly hostname: string; readonly tlsPort: number | undefined },
  configure: (place: Place) => readonly string[],
) {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  const place = { folder, tlsPort: tlsPort === 0 ? await freePort() : tlsPort, plainPort: await freePort() }
  const [key, certificate] = [join(folder, 'privkey.pem'), join(folder, 'fullchain.pem')]
  const subject = ['-subj', `/CN=${hostname}`, '-addext', `subjectAltName=DNS:${hostname}`]
  const form = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1']
  execFileSync('openssl', ['req', '-x509', ...form, ...subject, '-keyout', key, '-out', certificate], {
    stdio: 'ignore',
  })
  const args = configure(place)
  const running = spawn(program, args, { stdio: 'ignore', env: { ...process.env, HOME: folder } })
  const ended = once(running, 'exit')
  const ownAuthority = join(folder, 'pki/authorities/local/root.crt')
  const readAuthorities = () => [certificate, ownAuthority].filter(existsSync).map(file => readFileSync(file))
  const requestTo = (path: string, headers: Readonly<Record<string, string | number>>, more: RequestOptions) =>
    request({
      host: '127.0.0.1',
      port: place.tlsPort,
      servername: hostname,
      path,
      ca: readAuthorities(),
      agent: false,
      headers: { ...headers, Host: hostname },
      ...more,
    })
  const get = (path: string, headers: Record<string, string> = {}, localAddress = '127.0.0.1') =>
    answerOf(requestTo(path, headers, { localAddress }).end())
  const stop = async () => {
    running.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true })
  }
  try {
    await until(() =>
      get('/healthz').then(
        () => true,
        () => running.exitCode !== null,
      ),
    )
  } catch (error) {
    await stop()
    throw error
  }
  return {
    get,
    /** As browsers ask that can: over HTTP/2 and IPv6. */
    async getByHttp2(path: string, headers: Record<string, string> = {}) {
      const session = connectHttp2(`https://[::1]:${place.tlsPort}`, { servername: hostname, ca: readAuthorities() })
      try {
        const sent = session.request({ ...headers, ':path': path, ':authority': hostname })
        const [answer] = (await once(sent, 'response')) as [Record<string, unknown>]
        return { status: answer[':status'], headers: answer }
      } finally {
        session.destroy()
      }
    },
    /** The statuses of requests that are sent at once, on one connection. */
    async flood(path: string, count: number) {
      const session = connectHttp2(`https://127.0.0.1:${place.tlsPort}`, {
        servername: hostname,
        ca: readAuthorities(),
      })
      try {
        const sent = Array.from({ length: count }, () => session.request({ ':path': path, ':authority': hostname }))
        const answers = await Promise.all(sent.map(stream => once(stream, 'response')))
        return answers.map(([headers]) => (headers as Record<string, unknown>)[':status'])
      } finally {
        session.destroy()
      }
    },
    /** Sends an empty form. */
    post: (path: string, headers: Record<string, string> = {}) =>
      answerOf(requestTo(path, { ...headers, 'Content-Length': 0 }, { method: 'POST' }).end()),
    /** Sends the headers of a form, and nothing of its body. */
    async announce(path: string, headers: Readonly<Record<string, string | number>>) {
      const sent = requestTo(path, headers, { method: 'POST' })
      sent.flushHeaders()
      const answer = await answerOf(sent)
      sent.on('error', () => {}).destroy()
      return answer
    },
    /** Whether the proxy accepts this version and cipher. */
    handshake: (version: SecureVersion, ciphers: string) =>
      new Promise<boolean>(resolve => {
        const offer = { minVersion: version, maxVersion: version, ciphers, ca: readAuthorities() }
        const socket = connect({ host: '127.0.0.1', port: place.tlsPort, servername: hostname, ...offer })
        const end = (isOffered: boolean) => {
          socket.destroy()
          resolve(isOffered)
        }
        socket.once('secureConnect', () => end(true)).once('error', () => end(false))
      }),
    plain: (path: string, host = '127.0.0.1') =>
      answerOf(insecureRequest({ host, port: place.plainPort, path, headers: { Host: hostname } }).end()),
    [Symbol.asyncDispose]: stop,
  }
}

async function answerOf(sent: ReturnType<typeof request>) {
  const [response] = await once(sent, 'response')
  response.resume()
  return { status: response.statusCode as number, headers: response.headers as Record<string, unknown> }
}
