import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { InvalidError } from '../src/archive/faults.ts'
import { Notes } from '../src/archive/notes.ts'
import { type ArchiveRecord, archiveRecord, readRow } from '../src/archive/records.ts'
import { MAX_EVENTS_PER_HOUR, MAX_PENDING_EVENTS } from '../src/accounts/event-counter.ts'
import { checks } from '../src/cli/doctor-checks.ts'
import { type Config, MIN_FREE_BYTES, settings } from '../src/config.ts'
import { api } from '../src/contract/index.ts'
import { type Limit, limits } from '../src/http/limits.ts'
import { MIN_OVERLOAD_REQUESTS } from '../src/fairness.ts'
import { maxMegabytes } from '../src/stats/history-cache.ts'
import { archiveLines } from './archive-lines.ts'
import { generateClientFiles } from './client-files.ts'
import { yamlPackage } from './home-assistant-package.ts'
import { makeDocument } from './openapi/document.ts'
import { makeGuide, type SampleName } from './openapi/guide.ts'
import { sampleResponses } from './sample-responses.ts'

interface GeneratedFile {
  readonly path: string
  readonly text: string
}

/** The files that follow from the code, as they should be. */
export async function generateDocs(): Promise<GeneratedFile[]> {
  return [
    { path: join(root, 'src/openapi/openapi.json'), text: `${JSON.stringify(makeDocument(), null, 2)}\n` },
    { path: join(docs, 'settings.md'), text: settingsPage() },
    { path: join(docs, 'api.md'), text: apiPage(await sampleResponses()) },
    {
      path: join(root, 'examples/home-assistant/lockstep.yaml'),
      text: yamlPackage(settings.url.fallback, alwaysPresent(api.getStatus.data)),
    },
    ...generateClientFiles(),
    { path: archive, text: withMissingFields(readFileSync(archive, 'utf8')) },
    { path: troubleshooting, text: withChecks(readFileSync(troubleshooting, 'utf8')) },
  ]
}

const root = join(import.meta.dirname, '..')
const docs = join(root, 'docs')
const archive = join(docs, 'archive.md')
const troubleshooting = join(docs, 'troubleshooting.md')

/** What stands before each example of the guide. */
const INTRODUCTIONS: Readonly<Record<SampleName, string>> = {
  record: 'One record, `GET /lkbx/sessions/{id}`:',
  list: 'One page of a list, `GET /dtt?limit=1&cursor=`:',
  loop: 'A program that reads a whole list, and waits where the service asks it to:',
  unchanged: 'A request for a record that has not changed since, and its response:',
  error: 'A request with `limit=1000` gets:',
}

/** The guide to the API with responses, and all operations. */
function apiPage(responses: Readonly<Record<Exclude<SampleName, 'loop'>, string>>): string {
  const loop = readFileSync(join(root, 'examples/python/sessions.py'), 'utf8')
  const samples = { ...responses, loop: `\`\`\`python\n${loop.slice(loop.indexOf('import json'))}\`\`\`` }
  const guide = makeGuide(name => `\n${INTRODUCTIONS[name]}\n\n${samples[name]}\n`)
  const rows = Object.values(api).map(
    ({ path, summary }) => `| \`${path.replace('/api/v1', '').replace(':id', '{id}')}\` | ${summary} |`,
  )
  return `# API

${guide}
## Operations

[openapi.json](../src/openapi/openapi.json) and \`/docs\` on a running service describe every parameter and field.

Paths are below \`/api/v1\`.

| Path | |
| --- | --- |
${rows.join('\n')}
`
}

/** The fields of a record that every response has. */
function alwaysPresent({ required }: { readonly required?: readonly string[] }): readonly string[] {
  return required ?? []
}

/** Where a group of settings begins: its first one, and the heading. */
const SETTING_GROUPS: Readonly<Partial<Record<keyof Config, string>>> = {
  databaseUrl: 'Database',
  host: 'Network',
  rateLimit: 'Requests and connections',
  dashboard: 'Dashboard and sign-in',
  accessLog: 'Logs and metrics',
  sourceUrl: 'Pull',
  url: 'Programs that read the API',
}

/** The page of every setting and every limit. */
function settingsPage(): string {
  const limitRows = Object.entries<Limit>(limits).map(([name, { max, of, beyond }]) => {
    const most = typeof max === 'number' ? max.toLocaleString('en') : `\`${settings[max].env}\``
    return `| ${name} | ${most} | ${of} | ${beyond} |`
  })
  const rows = Object.entries(settings).flatMap(([name, { env, fallback, help }]) => {
    const group = Object.entries(SETTING_GROUPS).find(([first]) => first === name)?.[1]
    const heading =
      group === undefined ? [] : ['', `## ${group}`, '', '| Setting | Default | Meaning |', '| --- | --- | --- |']
    return [...heading, `| \`${env}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${help} |`]
  })
  return `# Settings and limits

Settings are environment variables; the installed service reads them from \`/etc/lockstep.env\`. A change applies when the service is restarted.
A command that uses settings lists each unknown one, and each that it uses and whose value is invalid, and exits.
${rows.join('\n')}

## Limits

These are all limits of callers, of the API and the dashboard alike; the reference has the bounds of parameters. Each process counts on its own, in memory, so two workers allow twice
as much. An address is an IPv4 address or an IPv6 /64. The metric \`lockstep_limited_requests_total\` counts how often each limit was
reached, by the name in the first column.

| Limit | At most | Of | Beyond |
| --- | --- | --- | --- |
${limitRows.join('\n')}

While more than ${MIN_OVERLOAD_REQUESTS} requests are in work, one that waited longer than the limit \`lag\` gets 503; a browser shows a page that says when to try
again. With fewer, a busy service answers late. \`/healthz\`, \`/readyz\` and the assets of pages are always answered. Accounts take
turns. \`addressPages\` counts pages before the sign-in; a browser session has \`sessionPages\`.

The page Source stores nothing more beyond \`${settings.maxRecords.env}\` and \`${settings.maxBytes.env}\`, or if less than ${MIN_FREE_BYTES / 2 ** 20} MB of the disk
would stay free (SQLite). Figures of an account get 503 if its training sessions take more than ${maxMegabytes.training} MB of memory (50,000 with five types of
segments). Its lock sessions may take ${maxMegabytes.locks} MB (37,000 with six events). Beyond ${MAX_EVENTS_PER_HOUR} account events of one type that strangers cause in an
hour, one has a count. Up to ${MAX_PENDING_EVENTS.toLocaleString('en')} wait to be written; the log says how many were dropped.
`
}

/** The page with its table of fields that records may lack, which follow from the sample that the page has of each kind. */
function withMissingFields(page: string): string {
  const rows = archiveLines().flatMap(line => {
    const record = archiveRecord(line)
    const names = Object.keys(record.data).filter(name => {
      const { [name]: _, ...data } = record.data
      return canRead({ ...record, data, envelope: { ...record.envelope, data } })
    })
    const isKind = names.length > 0 && record.kind.name !== 'partnership'
    return isKind ? [`| \`${record.kind.name}\` | ${names.map(name => `\`${name}\``).join(', ')} |`] : []
  })
  return withRows(page, '| Kind | May be missing |', rows)
}

function canRead(record: ArchiveRecord): boolean {
  try {
    readRow(record, new Notes())
    return true
  } catch (error) {
    if (error instanceof InvalidError) return false
    throw error
  }
}

/** The page with the table of what `doctor` checks. */
function withChecks(page: string): string {
  const rows = checks.map(({ name, holds, advice }) => `| ${name} | ${holds} | ${advice} |`)
  return withRows(page, '| Check | What is right | If it is wrong |', rows)
}

/** The page with the rows of a table replaced, which is found by its heading. */
function withRows(page: string, heading: string, rows: readonly string[]): string {
  const start = page.indexOf(`\n${heading}\n`) + 1
  if (start === 0) throw new Error(`there is no table with the heading ${heading}`)
  const [head, line = '', ...rest] = page.slice(start).split('\n')
  const after = rest.slice(rest.findIndex(text => !text.startsWith('|')))
  return page.slice(0, start) + [head, line, ...rows, ...after].join('\n')
}
