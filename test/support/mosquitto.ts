import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, connectAsync, type IClientOptions } from 'mqtt'
import { freePort } from './postgres.ts'
import { needs, programPath } from './programs.ts'
import { until } from './waiting.ts'

/** A real MQTT broker, and what is on it. */

export const needsMosquitto = needs('mosquitto')

export interface MosquittoOptions {
  /** Then it accepts nobody else. */
  readonly user?: { readonly name: string; readonly password: string }
  /** The files of its certificate; then it accepts only encrypted connections. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

export async function startMosquitto({ user, tls }: MosquittoOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-mosquitto-'))
  const port = await freePort()
  const passwords = join(folder, 'passwords')
  if (user !== undefined) {
    writeFileSync(passwords, '')
    spawnSync('mosquitto_passwd', ['-b', passwords, user.name, user.password])
  }
  const config = join(folder, 'mosquitto.conf')
  const lines = [
    `listener ${port} 127.0.0.1`,
    ...(tls === undefined ? [] : [`certfile ${tls.cert}`, `keyfile ${tls.key}`]),
    ...(user === undefined ? ['allow_anonymous true'] : ['allow_anonymous false', `password_file ${passwords}`]),
    ...(process.getuid?.() === 0 ? ['user root'] : []),
    'persistence true',
    `persistence_location ${folder}/`,
  ]
  writeFileSync(config, lines.join('\n'))
  const launch = () => spawn(programPath('mosquitto') ?? '', ['-c', config], { stdio: 'ignore' })
  let running = launch()
  const address = { host: '127.0.0.1', port, protocol: tls === undefined ? 'mqtt' : 'mqtts' } as const
  const login = user === undefined ? {} : { username: user.name, password: user.password }
  const options: IClientOptions = { ...address, ...login, rejectUnauthorized: false }
  const answers = () => canConnect(options)
  await until(answers)
  return {
    url: `${address.protocol}://localhost:${port}`,
    options,
    /** Ends it as the system does; what is retained is stored, unless it forgets that. */
    async stop({ forget = false } = {}) {
      running.kill('SIGTERM')
      if (running.exitCode === null) await once(running, 'exit')
      if (forget) rmSync(join(folder, 'mosquitto.db'))
    },
    async start() {
      running = launch()
      await until(answers)
    },
    async [Symbol.asyncDispose]() {
      if (running.exitCode === null && running.signalCode === null) {
        running.kill('SIGKILL')
        await once(running, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type Mosquitto = Awaited<ReturnType<typeof startMosquitto>>

async function canConnect(options: IClientOptions): Promise<boolean> {
  const client = connect({ ...options, reconnectPeriod: 0 })
  const outcome = new Promise<boolean>(resolve => {
    client
      .once('connect', () => resolve(true))
      .once('close', () => resolve(false))
      .on('error', () => resolve(false))
  })
  const connected = await outcome
  await client.endAsync(true)
  return connected
}

/** Somebody who reads a broker as Home Assistant does. */
export async function watch(broker: Pick<Mosquitto, 'options'>) {
  const client = await connectAsync({ ...broker.options, reconnectPeriod: 100 })
  client.on('error', () => {})
  const latest = new Map<string, string>()
  const counts = new Map<string, number>()
  client.on('message', (topic, payload) => {
    latest.set(topic, payload.toString())
    counts.set(topic, (counts.get(topic) ?? 0) + 1)
  })
  await client.subscribeAsync('#', { qos: 1 })
  return {
    client,
    /** The newest payload of each topic. */
    latest,
    /** How many messages of each topic arrived. */
    counts,
    json: (topic: string): any => JSON.parse(latest.get(topic) ?? 'null'),
    async [Symbol.asyncDispose]() {
      await client.endAsync(true)
    },
  }
}

/** What is retained: what somebody gets who subscribes now. */
export async function retained(broker: Mosquitto): Promise<Map<string, string>> {
  const client = await connectAsync({ ...broker.options, reconnectPeriod: 0 })
  const found = new Map<string, string>()
  client.on('message', (topic, payload, { retain }) => {
    if (retain) found.set(topic, payload.toString())
  })
  await client.subscribeAsync('#', { qos: 1 })
  // The broker sends what is retained before it sends what is published after.
  const end = `end/${process.pid}`
  const ended = new Promise<void>(resolve => {
    client.on('message', topic => {
      if (topic === end) resolve()
    })
  })
  await client.publishAsync(end, '1', { qos: 1 })
  await ended
  await client.endAsync(true)
  return found
}
