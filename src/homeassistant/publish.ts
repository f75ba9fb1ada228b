import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from 'mqtt'
import type { Client } from '../client.ts'
import { type Device, discoveryMessage, type Status, stateMessage, topicsOf } from './entities.ts'
import { isRefused, serviceFailure } from './errors.ts'
import { Refusal } from '../contract/refusal.ts'

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
  readonly signal: AbortSignal
  readonly say: (line: string) => void
  /** The first and the longest pause, in milliseconds, before the broker is tried again. */
  readonly pauses?: readonly [first: number, longest: number]
}

const PAUSES = [1000, 60_000] as const
/** After how many requests without an answer entities are unavailable. */
const MISSED_ANSWERS = 5
const ANSWER_TIMEOUT_MS = 20_000

/** Publishes the entities of an account, and their states as they change, until the signal. Throws Refusal. */
export async function publishEntities(options: PublishOptions): Promise<void> {
  const { device, say } = options
  const topics = topicsOf(device)
  const refusal = new AbortController()
  const signal = AbortSignal.any([options.signal, refusal.signal])
  const status = new StatusReader({ ...options, signal })
  await status.read()
  const will = { topic: topics.availability, payload: Buffer.from('offline'), qos: 1, retain: true } as const
  const connection = connectTo(options, { will, onConnect, onRefusal: error => refusal.abort(error) })
  const { mqtt } = connection
  // What the broker has of this connection: the same again would tell nobody anything.
  const sent = new Map<string, string>()
  const publish = (topic: string, payload: string) => {
    // What is not sent now is sent after the next connection, when it may have changed.
    if (!mqtt.connected || sent.get(topic) === payload) return
    sent.set(topic, payload)
    mqtt.publish(topic, payload, { qos: 1, retain: true }, () => {})
  }
  const publishState = () => {
    publish(topics.state, status.payload)
    publish(topics.recent, status.isRecent ? 'online' : 'offline')
    publish(topics.availability, status.isAnswering ? 'online' : 'offline')
  }
  const announce = () => {
    sent.clear()
    publish(topics.discovery, JSON.stringify(discoveryMessage(device)))
    publishState()
  }
  function onConnect(isFirst: boolean) {
    say(isFirst ? `publishing the entities of ${device.id}` : 'connected to the broker again')
    mqtt.subscribe([topics.birth, topics.availability], { qos: 1 }, () => {})
    announce()
  }
  mqtt.on('message', (topic, payload) => {
    const word = payload.toString()
    if (topic === topics.birth && word === 'online') announce()
    // Another copy has ended, or the broker noticed only now that an earlier connection of this one did.
    if (topic !== topics.availability || word !== 'offline' || sent.get(topic) !== 'online') return
    sent.delete(topic)
    publishState()
  })
  try {
    for (;;) {
      await delay(options.every, undefined, { signal })
      await status.read()
      publishState()
    }
  } catch (error) {
    refusal.signal.throwIfAborted()
    if (!signal.aborted) throw error
  } finally {
    sent.clear()
    await connection.end([[topics.availability, 'offline']])
  }
}

type RemoveOptions = Pick<PublishOptions, 'broker' | 'device' | 'signal' | 'say'>

/** Removes the entities of a device: Home Assistant forgets what has an empty message. Throws Refusal. */
export async function removeEntities(options: RemoveOptions): Promise<void> {
  const { discovery, availability, recent, state } = topicsOf(options.device)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const connection = connectTo(options, { onConnect: () => resolve(), onRefusal: reject })
  options.signal.addEventListener('abort', () => reject(options.signal.reason as Error), { once: true })
  try {
    await promise
  } finally {
    await connection.end([discovery, availability, recent, state].map(topic => [topic, ''] as const))
  }
}

class StatusReader {
  payload = ''
  #status: Status | undefined
  #etag: string | undefined
  #answeredAt = 0
  #failure = ''
  readonly #options: PublishOptions

  constructor(options: PublishOptions) {
    this.#options = options
  }

  get isAnswering(): boolean {
    return Date.now() - this.#answeredAt < MISSED_ANSWERS * this.#options.every
  }

  get isRecent(): boolean {
    const asOf = this.#status?.asOf ?? null
    return asOf !== null && Date.now() - Date.parse(asOf) <= this.#options.maxAge
  }

  /** Reads the status; if that fails, the latest one stays. The first one is waited for. Throws Refusal if the key is refused then. */
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
        return
      } catch (error) {
        signal.throwIfAborted()
        if (isRefused(error) && this.#status === undefined) throw new Refusal('peer', serviceFailure(error))
        if (this.#failure === '') say(`lockstep: ${serviceFailure(error)}; trying again every ${every / 1000} s`)
        this.#failure = serviceFailure(error)
      }
      if (this.#status !== undefined) return
      await delay(every, undefined, { signal })
    }
  }
}

interface ConnectionOptions {
  readonly will?: { readonly topic: string; readonly payload: Buffer; readonly qos: 1; readonly retain: true }
  readonly onConnect: (isFirst: boolean) => void
  /** Called if the broker refuses this client before it accepted it once, which does not get better. */
  readonly onRefusal: (error: Refusal) => void
}

/** Connects to the broker, and again whenever the connection ends, for ever. */
function connectTo(
  { broker, say, pauses = PAUSES }: Pick<PublishOptions, 'broker' | 'say' | 'pauses'>,
  { will, onConnect, onRefusal }: ConnectionOptions,
) {
  const { url, ...identity } = broker
  const [first, longest] = pauses
  const mqtt = connect(url, {
    ...Object.fromEntries(Object.entries({ ...identity, will }).filter(([, value]) => value !== undefined)),
    clientId: `lockstep-${randomBytes(6).toString('hex')}`,
    clean: true,
    // The pauses between connections grow, which the library cannot do.
    reconnectPeriod: 0,
  })
  let isFirst = true
  let pause = first
  let reason = ''
  let timer: NodeJS.Timeout | undefined
  mqtt.on('connect', () => {
    onConnect(isFirst)
    isFirst = false
    pause = first
    reason = ''
  })
  mqtt.on('error', error => {
    // Node.js adds advice about options of its own.
    const [text = ''] = error.message.split(';')
    reason = `: ${text === '' ? String(Reflect.get(error, 'code')) : text}`
    if (isFirst && isRefusedByBroker(error))
      onRefusal(new Refusal('peer', `the broker cannot be used${reason}; ${REFUSAL_ADVICE}`))
  })
  const onClose = () => {
    if (pause === first) say(`lockstep: the broker does not answer${reason}; trying again until it does`)
    timer = setTimeout(() => mqtt.reconnect(), pause)
    pause = Math.min(pause * 2, longest)
  }
  mqtt.on('close', onClose)
  return {
    mqtt,
    /** Ends the connection after the last messages were taken, if there is one. */
    async end(messages: readonly (readonly [topic: string, payload: string])[]) {
      mqtt.off('close', onClose)
      clearTimeout(timer)
      if (!mqtt.connected) return await mqtt.endAsync(true)
      const sent = messages.map(([topic, payload]) => mqtt.publishAsync(topic, payload, { qos: 1, retain: true }))
      await Promise.race([Promise.allSettled(sent), delay(LAST_MESSAGES_TIMEOUT_MS, undefined, { ref: false })])
      await mqtt.endAsync(true)
    },
  }
}

const LAST_MESSAGES_TIMEOUT_MS = 5000

const REFUSAL_ADVICE = 'see --username, --password-file and --ca'

/** Whether it is the password or the certificate, and not that the broker is away. */
function isRefusedByBroker(error: Error): boolean {
  const code: unknown = Reflect.get(error, 'code')
  if (typeof code === 'number') return code !== NOT_READY
  // Codes such as ECONNREFUSED are those of the system.
  return typeof code === 'string' && !/^E(?!RR_)/.test(code)
}

/** What a broker answers that may accept the same client later (MQTT 3.1.1, 3.2.2.3). */
const NOT_READY = 3
