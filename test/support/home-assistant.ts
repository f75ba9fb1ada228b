import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Row } from '../../src/homeassistant/series.ts'

/**
 * A server that keeps statistics as Home Assistant does, and refuses what that refuses. Each rule names its place in the source of Home
 * Assistant (github.com/home-assistant/core, folder homeassistant/components), as read in the versions of 2025 and 2026.
 */

export const ADMIN = 'token-of-an-administrator'
export const USER = 'token-of-somebody'

interface Metadata {
  readonly statistic_id: string
  readonly [name: string]: unknown
}

export async function startHomeAssistant() {
  const series = new Map<string, { metadata: Metadata; rows: Map<number, Row> }>()
  const commands: any[] = []
  /** Work that the recorder does after it answered (recorder/tasks.py, ImportStatisticsTask). */
  let queue = Promise.resolve()
  const sockets = new Set<Duplex>()
  const server = createServer()
  let isDown = false

  server.on('upgrade', (request, socket) => {
    // websocket_api/const.py, URL.
    if (request.url !== '/api/websocket' || isDown) return socket.destroy()
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    const key = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
    )
    const send = (message: object) => {
      if (!socket.destroyed) socket.write(frame(JSON.stringify(message)))
    }
    let user: { isAdmin: boolean } | undefined
    let lastId = 0
    // websocket_api/auth.py, AUTH_REQUIRED_MESSAGE, AUTH_OK_MESSAGE and auth_invalid_message.
    send({ type: 'auth_required', ha_version: '2026.7.4' })
    readFrames(socket, text => {
      const message = JSON.parse(text)
      if (user === undefined) {
        if (message.type === 'auth' && [ADMIN, USER].includes(message.access_token)) {
          user = { isAdmin: message.access_token === ADMIN }
          return send({ type: 'auth_ok', ha_version: '2026.7.4' })
        }
        send({ type: 'auth_invalid', message: 'Invalid access token or password' })
        return socket.end()
      }
      const { id, type, ...fields } = message
      const refuse = (code: string, text: string) =>
        send({ id, type: 'result', success: false, error: { code, message: text } })
      // websocket_api/connection.py, ActiveConnection.async_handle.
      if (id <= lastId) return refuse('id_reuse', 'Identifier values have to increase.')
      lastId = id
      commands.push({ type, ...fields })
      // websocket_api/decorators.py, require_admin; websocket_api/const.py, ERR_UNAUTHORIZED.
      const needsAdmin = ['recorder/import_statistics', 'recorder/clear_statistics'].includes(type)
      if (needsAdmin && !user.isAdmin) return refuse('unauthorized', 'Unauthorized')
      try {
        // auth/__init__.py, websocket_current_user.
        const result = type === 'auth/current_user' ? { is_admin: user.isAdmin } : run(type, fields)
        if (result instanceof Promise)
          void result.then(value => send({ id, type: 'result', success: true, result: value }))
        else send({ id, type: 'result', success: true, result })
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        refuse(error.code, error.message)
      }
    })
  })

  const run = (type: string, fields: any): unknown => {
    if (type === 'recorder/import_statistics') {
      const { metadata } = fields
      const rows = checkImport(fields)
      queue = queue.then(() => {
        const known = series.get(metadata.statistic_id)?.rows ?? new Map<number, Row>()
        // recorder/statistics.py, _import_statistics_with_session: by start, and an update replaces all values of the row.
        for (const row of rows) known.set(row.start, row)
        series.set(metadata.statistic_id, { metadata, rows: known })
      })
      return null
    }
    if (type === 'recorder/clear_statistics') {
      // recorder/websocket_api.py, ws_clear_statistics: answers when it is done.
      queue = queue.then(() => {
        for (const id of fields.statistic_ids) series.delete(id)
      })
      return queue.then(() => null)
    }
    if (type === 'recorder/statistics_during_period') {
      // recorder/websocket_api.py, ws_get_statistics_during_period.
      const { start_time: start, end_time: end, statistic_ids: ids, types, period, ...rest } = fields
      demand(Object.keys(rest).length === 0 && ids.length > 0 && period === 'hour', 'invalid_format')
      const [from, to] = [Date.parse(start), end === undefined ? Infinity : Date.parse(end)]
      demand(!Number.isNaN(from) && !Number.isNaN(to), 'invalid_start_time')
      return queue.then(() => {
        const found = ids.map((id: string) => {
          const rows = [...(series.get(id)?.rows.values() ?? [])].toSorted((a, b) => a.start - b.start)
          const within = rows.filter(row => row.start >= from && row.start < to)
          return [id, within.map(row => ({ end: row.start + 3_600_000, ...only(row, ['start', ...types]) }))]
        })
        // recorder/statistics.py, _sorted_statistics_to_dict: series without rows are left out.
        return Object.fromEntries(found.filter(([, rows]: [string, unknown[]]) => rows.length > 0))
      })
    }
    throw new Refusal('unknown_command', 'Unknown command.')
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `ws://127.0.0.1:${port}`,
    series,
    /** Every command that it got. */
    commands,
    imports: () => commands.filter(({ type }) => type === 'recorder/import_statistics'),
    /** What each period of a series adds, as statistics_during_period computes it, in a time zone. */
    changes(id: string, zone: string, unit: 'day' | 'month'): Map<string, number> {
      const changes = new Map<string, number>()
      let previous = 0
      const rows = [...(series.get(id)?.rows.values() ?? [])].toSorted((a, b) => a.start - b.start)
      for (const { start, sum } of rows) {
        // recorder/statistics.py, reduce_day_ts_factory and reduce_month_ts_factory: by the local date of the start of a row.
        const date = Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(zone).toPlainDate()
        const period = unit === 'day' ? String(date) : date.toPlainYearMonth().toString()
        // recorder/statistics.py, _augment_result_with_change: sums count from zero, and a change is their difference.
        changes.set(period, (changes.get(period) ?? 0) + ((sum ?? NaN) - previous))
        previous = sum ?? NaN
      }
      return changes
    },
    /** Closes all connections, and accepts none while it is down. */
    setDown(down: boolean) {
      isDown = down
      for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => void server.close(resolve))
    },
  }
}

class Refusal extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

function demand(condition: boolean, code: string, message = code): asserts condition {
  if (!condition) throw new Refusal(code, message)
}

function only(row: Row, names: readonly string[]) {
  return Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)))
}

/** The rows of an import with their start as an instant. */
function checkImport({ metadata, stats, ...rest }: any): Row[] {
  // recorder/websocket_api.py, ws_import_statistics, which says that mean_type and unit_class must be there from 2026.11 on.
  const fields = ['has_sum', 'mean_type', 'name', 'source', 'statistic_id', 'unit_class', 'unit_of_measurement']
  demand(Object.keys(rest).length === 0, 'invalid_format')
  demand(Object.keys(metadata).toSorted().join() === fields.join(), 'invalid_format', 'metadata')
  // recorder/models/statistics.py, StatisticMeanType.
  demand([0, 1, 2].includes(metadata.mean_type) && typeof metadata.has_sum === 'boolean', 'invalid_format')
  // recorder/statistics.py, VALID_STATISTIC_ID and async_add_external_statistics.
  const id = /^(?!.+__)(?!_)[\da-z_]+(?<!_):(?!_)[\da-z_]+(?<!_)$/
  demand(id.test(metadata.statistic_id), 'home_assistant_error', 'Invalid statistic_id')
  demand(metadata.statistic_id.split(':')[0] === metadata.source, 'home_assistant_error', 'Invalid source')
  // recorder/db_schema.py, StatisticsMeta: the columns of source and unit, and of the id and the name.
  demand(metadata.source.length <= 32 && metadata.statistic_id.length <= 255, 'home_assistant_error', 'too long')
  // recorder/statistics.py, _async_import_statistics; these are some of the VALID_UNITS in util/unit_conversion.py.
  const units: Readonly<Record<string, readonly string[]>> = {
    duration: ['d', 'h', 'min', 's', 'ms', 'w'],
    distance: ['km', 'm', 'cm', 'mm', 'mi', 'nmi', 'yd', 'ft', 'in'],
    unitless: ['%'],
  }
  if (metadata.unit_class !== null) {
    demand(metadata.unit_class in units, 'home_assistant_error', 'Unsupported unit_class')
    demand(units[metadata.unit_class]?.includes(metadata.unit_of_measurement) ?? false, 'home_assistant_error', 'unit')
  }
  return stats.map(({ start, ...values }: any) => {
    const names = ['mean', 'min', 'max', 'last_reset', 'state', 'sum']
    demand(
      Object.keys(values).every(name => names.includes(name)),
      'invalid_format',
    )
    demand(
      Object.values(values).every(value => typeof value === 'number'),
      'invalid_format',
    )
    // util/dt.py, parse_datetime and DATETIME_RE; an offset has hours and minutes.
    const parts = /^\d{4}-\d\d-\d\dT\d\d:(\d\d):(\d\d)(?:\.\d+)?(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(start)
    demand(parts !== null, 'invalid_format', 'start')
    demand(parts[3] !== undefined, 'home_assistant_error', 'Naive timestamp: no or invalid timezone info provided')
    demand(
      parts[1] === '00' && parts[2] === '00',
      'home_assistant_error',
      'Invalid timestamp: timestamps must be from the top of the hour (minutes and seconds = 0)',
    )
    return { start: Date.parse(start), ...values }
  })
}

/** What aiohttp, the server of Home Assistant, takes in a message by default: max_msg_size of its WebSocketResponse. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024

/** Reads the frames of a client, which are masked and whole messages here. */
function readFrames(socket: Duplex, receive: (text: string) => void) {
  let buffered = Buffer.alloc(0)
  socket.on('data', chunk => {
    buffered = Buffer.concat([buffered, chunk])
    for (;;) {
      const short = (buffered[1] ?? 0) & 0x7f
      const head = short === 127 ? 10 : short === 126 ? 4 : 2
      if (buffered.length < head + 4) return
      const length =
        short === 127 ? Number(buffered.readBigUInt64BE(2)) : short === 126 ? buffered.readUInt16BE(2) : short
      if (length > MAX_MESSAGE_BYTES) return void socket.destroy()
      if (buffered.length < head + 4 + length) return
      const mask = buffered.subarray(head, head + 4)
      const data = buffered.subarray(head + 4, head + 4 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0))
      const opcode = (buffered[0] ?? 0) & 0x0f
      buffered = buffered.subarray(head + 4 + length)
      if (opcode === 8) return void socket.end()
      if (opcode === 1) receive(Buffer.from(data).toString())
    }
  })
}

function frame(text: string): Buffer {
  const data = Buffer.from(text)
  const head = Buffer.alloc(data.length < 126 ? 2 : data.length < 65_536 ? 4 : 10)
  head[0] = 0x81
  head[1] = data.length < 126 ? data.length : data.length < 65_536 ? 126 : 127
  if (head.length === 4) head.writeUInt16BE(data.length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(data.length), 2)
  return Buffer.concat([head, data])
}
