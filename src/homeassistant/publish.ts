import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type MqttClient } from 'mqtt'
import type { Client } from '../client.ts'
import { type Device, discoveryMessage, type Status, stateMessage, topicsOf } from './entities.ts'
import { isRefused, PeerError, serviceFailure } from './errors.ts'

interface Broker {
  readonly url: string
  readonly username: string | undefined
  readonly password: string | undefined
  /** The certificate that signed that of the broker, as text; those of the system if undefined. */
  readonly ca: string | undefined
}

export interface PublishOptions {
  readonly client: Client
  readonly broker: Broker
  readonly device: Device
  /** Milliseconds from one request to the next. */
  readonly every: number
  /** How old records may be, in milliseconds, before entities are unavailable. */
  readonly maxAge: number
  /** Ends the work. */
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  /** The first and the longest pause, in milliseconds, before the broker is tried again. */
  readonly pauses?: readonly [first: number, longest: number]
}

const PAUSES = [1000, 60_000] as const
/** How long the service may take. */
const ANSWER_TIMEOUT_MS = 20_000

/** Publishes the entities of an account, and their states as they change, until the signal. Throws PeerError. */
export async function publishEntities(options: PublishOptions): Promise<void> {
  const { device, signal, say, pauses = PAUSES } = options
  const topics = topicsOf(device)
  const status = new StatusReader(options)
  await status.read()
  const will = { topic: topics.availability, payload: Buffer.from('offline'), qos: 1, retain: true } as const
  const mqtt = await connectTo(options.broker, will, signal)
  const publish = (topic: string, payload: string) => {
    // What is not sent now is sent after the next connection, when it may have changed.
    if (mqtt.connected) mqtt.publish(topic, payload, { qos: 1, retain: true }, () => {})
  }
  let shown = ''
  const publishState = () => {
    // While the service does not answer, Home Assistant lets the states expire.
    if (status.isCurrent) publish(topics.state, status.payload)
    publish(topics.recent, status.isRecent ? 'online' : 'offline')
    shown = status.isAnswering ? 'online' : 'offline'
    publish(topics.availability, shown)
  }
  const announce = () => {
    publish(topics.discovery, JSON.stringify(discoveryMessage(device)))
    publishState()
  }
  const onConnect = () => {
    mqtt.subscribe([topics.birth, topics.availability], { qos: 1 }, () => {})
    announce()
  }
  mqtt.on('message', (topic, payload) => {
    const word = payload.toString()
    if (topic === topics.birth && word === 'online') announce()
    // Another copy has ended, or the broker noticed only now that an earlier connection of this one did.
    if (topic === topics.availability && word === 'offline' && shown === 'online') publish(topic, shown)
  })
  const reconnection = keepConnected(mqtt, pauses, say, onConnect)
  onConnect()
  say(`publishing the entities of ${device.id}`)
  try {
    for (;;) {
      await delay(options.every, undefined, { signal })
      await status.read()
      publishState()
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    reconnection.stop()
    shown = 'offline'
    await endAfter(mqtt, [[topics.availability, 'offline']])
  }
}

/** Removes the entities of a device: Home Assistant forgets what has an empty message. */
export async function removeEntities({ broker, device, signal }: Pick<PublishOptions, 'broker' | 'device' | 'signal'>) {
  const { discovery, availability, recent, state } = topicsOf(device)
  const mqtt = await connectTo(broker, undefined, signal)
  await endAfter(
    mqtt,
    [discovery, availability, recent, state].map(topic => [topic, ''] as const),
  )
}

/** The newest status, read with its validator. */
class StatusReader {
  payload = ''
  /** Whether the latest request was answered. */
  isCurrent = false
  #status: Status | undefined
  #etag: string | undefined
  #answeredAt = 0
  #failure = ''
  readonly #options: PublishOptions

  constructor(options: PublishOptions) {
    this.#options = options
  }

  /** Whether the latest answer is not too old to be shown. */
  get isAnswering(): boolean {
    return Date.now() - this.#answeredAt < this.#options.device.expireAfter * 1000
  }

  get isRecent(): boolean {
    const asOf = this.#status?.asOf ?? null
    return asOf !== null && Date.now() - Date.parse(asOf) <= this.#options.maxAge
  }

  /** Reads the status; if that fails, the latest one stays. The first one is waited for. Throws PeerError if the key is refused then. */
  async read(): Promise<void> {
    const { client, signal, every, say } = this.#options
    for (;;) {
      const stop = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)])
      try {
        const ifNoneMatch = this.#etag === undefined ? {} : { ifNoneMatch: this.#etag }
        const { data, etag } = await client.call('/api/v1/status', {}, { signal: stop, ...ifNoneMatch })
        if (data !== undefined) {
          this.#status = data
          this.payload = JSON.stringify(stateMessage(data))
        }
        this.#etag = etag
        this.#answeredAt = Date.now()
        if (this.#failure !== '') say('the service answers again')
        this.#failure = ''
        this.isCurrent = true
        return
      } catch (error) {
        this.isCurrent = false
        signal.throwIfAborted()
        if (isRefused(error) && this.#status === undefined) throw new PeerError(serviceFailure(error))
        if (this.#failure === '') say(`lockstep: ${serviceFailure(error)}; trying again every ${every / 1000} s`)
        this.#failure = serviceFailure(error)
      }
      if (this.#status !== undefined) return
      await delay(every, undefined, { signal })
    }
  }
}

type Will = { readonly topic: string; readonly payload: Buffer; readonly qos: 1; readonly retain: true }

/** Connects for the first time. Throws PeerError, because a wrong address or password does not get better. */
async function connectTo(broker: Broker, will: Will | undefined, signal: AbortSignal): Promise<MqttClient> {
  const { url, username, password, ca } = broker
  const mqtt = connect(url, {
    clientId: `lockstep-${randomBytes(6).toString('hex')}`,
    clean: true,
    // The pauses between connections grow, which the library cannot do.
    reconnectPeriod: 0,
    ...(will === undefined ? {} : { will }),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(ca === undefined ? {} : { ca }),
  })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const onAbort = () => reject(signal.reason as Error)
  const onClose = () => reject(new PeerError('the broker closed the connection'))
  const onError = (error: Error) =>
    reject(new PeerError(`the broker cannot be used: ${error.message || String(Reflect.get(error, 'code'))}`))
  mqtt
    .once('connect', () => resolve())
    .once('close', onClose)
    .on('error', onError)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await promise
    return mqtt
  } catch (error) {
    mqtt.end(true)
    throw error
  } finally {
    mqtt
      .off('close', onClose)
      .off('error', onError)
      .on('error', () => {})
    signal.removeEventListener('abort', onAbort)
  }
}

/** Connects again whenever the connection ends, for ever. */
function keepConnected(
  mqtt: MqttClient,
  [first, longest]: readonly [number, number],
  say: (line: string) => void,
  onConnect: () => void,
) {
  let pause = first
  let timer: NodeJS.Timeout | undefined
  mqtt.on('connect', () => {
    pause = first
    say('connected to the broker again')
    onConnect()
  })
  mqtt.on('close', () => {
    if (pause === first) say('lockstep: the broker does not answer; trying again until it does')
    clearTimeout(timer)
    timer = setTimeout(() => mqtt.reconnect(), pause)
    pause = Math.min(pause * 2, longest)
  })
  return {
    stop() {
      clearTimeout(timer)
      mqtt.removeAllListeners('close')
    },
  }
}

/** Ends a connection after the last messages were taken, if the broker answers. */
async function endAfter(mqtt: MqttClient, messages: readonly (readonly [topic: string, payload: string])[]) {
  if (mqtt.connected) {
    const sent = messages.map(([topic, payload]) => mqtt.publishAsync(topic, payload, { qos: 1, retain: true }))
    await Promise.race([Promise.allSettled(sent), delay(LAST_MESSAGES_TIMEOUT_MS, undefined, { ref: false })])
  }
  await mqtt.endAsync(true)
}

const LAST_MESSAGES_TIMEOUT_MS = 5000
