import { eraseDeleted } from '../../../accounts/removal.ts'
import { isDiskFull } from '../../../archive/quota.ts'
import {
  type Connection,
  forgetConnection,
  listRounds,
  progressOf,
  pullNow,
  readConnection,
  resume,
  type RoundProgress,
  stop,
} from '../../../pull/connections.ts'
import { sum } from '../../../contract/numbers.ts'
import { sourceLists } from '../../../pull/lists.ts'
import { readKnownTime } from '../../../stats/known-time.ts'
import { zoneClock } from '../../../stats/zone-clock.ts'
import { countSessions, type ImportedFile, listFiles } from '../../../accounts/imported-files.ts'
import { pullStatus, type SourceStatus } from '../../../pull/state.ts'
import { isOtherSecret } from '../../../pull/stored-key.ts'
import { html, type Html, nothing, type Part } from '../../html.ts'
import { action, actionColumn, card, dotted, table } from '../../layout/components.ts'
import { formPage } from '../../layout/form-page.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { kindName } from '../../text/labels.ts'
import { freeText } from '../../text/names.ts'
import { daysText } from '../../text/period.ts'
import {
  agoText,
  countsText,
  countText,
  dateTime,
  durationText,
  momentText,
  NONE,
  numberText,
  timeAgo,
} from '../../text/text.ts'
import { connectPages, connectWay } from './connect.ts'
import { changePages, filePages, typedCard, typedPages } from './changes.ts'
import { rejectedOf, rejectedPages } from './rejected.ts'
import { hostOf, isBusy, connectionProblem } from './states.ts'
import { fileWay } from './upload.ts'

const OF_SOURCE = { section: 'source', reads: null } as const

/** Where the records of the account that signed in come from, whichever account's records the other pages show. */
export const sourcePages: readonly DashboardPage[] = [
  { ...OF_SOURCE, path: '/source', handler: showSource },
  ...connectPages,
  changing('/source/stop', ({ store }, accountId) => stop(store, accountId)),
  changing('/source/continue', ({ store }, accountId) => resume(store, accountId)),
  changing('/source/pull', ({ store }, accountId) => pullNow(store, accountId)),
  { ...OF_SOURCE, path: '/source/forget', handler: showForgetting },
  {
    ...OF_SOURCE,
    method: 'POST',
    path: '/source/forget',
    async handler({ store, viewer, actor, now, inBackground }) {
      await forgetConnection(store, viewer.session.accountId, { actor, now })
      inBackground(eraseDeleted(store))
      return redirect('/source?done=forgotten')
    },
  },
  ...changePages,
  ...rejectedPages,
  ...filePages,
  ...typedPages,
]

/** A form that changes the connection. If that has changed meanwhile, the page says what it is now. */
function changing(path: string, work: (visit: Visit, accountId: number) => Promise<unknown>): DashboardPage {
  const handler = async (visit: Visit) => {
    await work(visit, visit.viewer.session.accountId)
    return redirect('/source')
  }
  return { ...OF_SOURCE, method: 'POST', path, handler }
}

async function showSource(visit: Visit) {
  const { store, viewer } = visit
  const { accountId } = viewer.session
  const [sources, connection, files] = await Promise.all([
    pullStatus(store, accountId),
    readConnection(store, accountId),
    listFiles(store, accountId),
  ])
  const rounds = connection === undefined ? [] : await listRounds(store, accountId)
  const connected = sources.find(({ origin }) => origin === connection?.origin)
  const rows = await sourceRows(visit, sources, files, connection)
  const came = html`
    ${await Promise.all(sources.map(async source => rejectedOf(visit, source, source === connected ? connection : undefined)))}
    ${arrivals(visit, hostOf(viewer, connection?.origin ?? ''), rounds, files)}
  `
  const isWaiting = connection !== undefined && isBusy(visit, connection)
  return view({
    title: 'Source',
    lead: `Where your records come from, and how to bring ${rows.length === 0 ? 'them' : 'more'} in.`,
    isBusy: isWaiting,
    body: html`
      ${
        rows.length === 0 && connection === undefined
          ? nothing
          : card(
              'Your sources',
              // The parts that a browser replaces while they are busy. The buttons are one of their own, because one that has the focus stays.
              html`
                <div class="stack" data-live="source"${isWaiting ? html` data-busy` : nothing}>
                  ${connection === undefined ? nothing : stateOf(visit, connection, connected)}
                  ${rows.length === 0 ? nothing : sourceTable(visit, rows)}
                </div>
                ${connection === undefined ? nothing : html`<div class="stack" data-live="source-actions">${actionsOf(visit, connection, connected)}</div>`}
              `,
              { id: 'connection' },
            )
      }
      ${connection === undefined ? came : html`<div class="stack" data-live="source-rounds">${came}</div>`}
      <div class="tiles">
        ${connection === undefined ? await connectWay(visit) : nothing}
        ${await fileWay(visit)}
      </div>
      ${await typedCard(visit)}
    `,
  })
}

type SourceRow = Awaited<ReturnType<typeof sourceRows>>[number]

/** A row for each server, one for all files, and one for what the operator of the service imported, where there is no other. */
async function sourceRows(
  visit: Visit,
  sources: readonly SourceStatus[],
  [file, ...others]: readonly ImportedFile[],
  connection: Connection | undefined,
) {
  const { store, viewer, now } = visit
  const { accountId } = viewer.session
  const { asOf } = await readKnownTime(store, accountId, accountId, now)
  const servers = sources.map(source => {
    const { origin } = source
    const isOwn = origin === connection?.origin && !['stopped', 'done'].includes(connection.state)
    const isCopying = isOwn && isBusy(visit, connection)
    const isWell = isOwn && problemNow(visit, connection, source) === undefined
    const state = !isWell ? 'Out of date' : source.setAside > 0 ? 'Incomplete' : 'Connected'
    const look = isCopying || state === 'Connected' ? 'on' : 'warn'
    const mark = isOwn && html` <span class="state ${look}">${isCopying ? 'Copying' : state}</span>`
    const outcome = summaryOf(visit, source, isCopying && source.completedAt !== null ? 'Before this round: ' : '')
    return { from: { origin }, name: html`${hostOf(viewer, origin)}${mark}`, outcome }
  })
  const ofFiles = file && {
    from: 'files' as const,
    name: countText(others.length + 1, 'file'),
    outcome: html`${countText(file.added, 'new record')}, the last file ${timeAgo(viewer, file.at, now)}`,
  }
  const imported = {
    from: undefined,
    name: 'Imported by an administrator',
    outcome: asOf !== null && html`Last stored ${timeAgo(viewer, asOf, now)}`,
  }
  const known = [...servers, ...(ofFiles === undefined ? [] : [ofFiles])]
  const rows = known.length > 0 || asOf === null ? known : [imported]
  return Promise.all(rows.map(async row => ({ ...row, ...(await countSessions(store, accountId, row.from)) })))
}

function sourceTable({ viewer }: Visit, rows: readonly SourceRow[]): Html {
  const { dayOf } = zoneClock(viewer.timeZone)
  return table<SourceRow>(
    'Your sources',
    [
      {
        title: 'Source',
        line: 'first',
        cell: ({ name, outcome }) => html`${name}<div class="small muted">${outcome}</div>`,
      },
      {
        title: 'Records',
        line: 'second',
        cell: row => dotted(countText(row.locks, 'lock session'), countText(row.training, 'training session')),
      },
      {
        title: 'Period',
        line: 'second',
        cell: ({ first, last }) =>
          first === null || last === null ? NONE : daysText({ first: dayOf(first), last: dayOf(last) }),
      },
    ],
    rows,
  )
}

function summaryOf({ viewer, now }: Visit, { rows, gone, setAside, completedAt }: SourceStatus, before: string): Part {
  const [known = 0, left = 0] = [rows, gone].map(counts => sum(Object.values(counts)))
  if (known === left && completedAt === null) return NOTHING_YET
  const time = completedAt === null ? undefined : momentText(viewer, Date.parse(completedAt), now)
  return dotted(
    `${before}${numberText(Math.max(0, known - setAside))} ${setAside > 0 ? 'stored' : `of ${countText(known, 'record')}`}`,
    setAside > 0 && `${numberText(setAside)} could not be stored`,
    left > 0 && `${numberText(left)} no longer there, kept here`,
    time === undefined ? 'no complete copy yet' : `${setAside > 0 ? '' : 'complete '}as of ${time}`,
  )
}

const NOTHING_YET = 'Nothing was copied yet.'

/** What the connection does now, or what is wrong with it, and what comes next. */
function stateOf(visit: Visit, connection: Connection, source: SourceStatus | undefined): Html {
  if (isBusy(visit, connection)) return roundOf(visit, connection, source)
  const problem = problemNow(visit, connection, source)
  const [what = '', ...more] = problem?.text.split(/(?<=\.) /) ?? []
  // Of the lock sessions that the last round asked for by their numbers.
  const { notFound = [] } = progressOf(connection)
  const next = problem === undefined || connection.state === 'done' ? nextText(visit, connection) : ''
  const status = `${source === undefined ? `${NOTHING_YET} ` : ''}${next}`
  return html`
    ${problem === undefined ? nothing : html`<p class="problem" role="alert"><strong>${what}</strong> ${more.join(' ')}</p>`}
    ${status === '' ? nothing : html`<p role="status">${status}</p>`}
    ${notFound.length === 0 ? nothing : html`<p>That server has no lock sessions ${notFound.join(', ')}, or does not show them to this key.</p>`}
  `
}

/** What comes next, if nothing is wrong. */
function nextText({ viewer, now }: Visit, { state, holder, next_at: next }: Connection): string {
  if (holder !== null) return 'Another process is copying into your account: a command of the operator.'
  if (state === 'done') return 'It was copied once, and the key is forgotten.'
  if (state === 'stopped') return 'Stopped: what was copied is kept.'
  return state === 'due' || next === null
    ? 'The next round waits for its turn.'
    : `New records are looked for again ${agoText(viewer, next, now)}.`
}

/** Also that this process cannot read the key, and that the disk is full: no round may have told that. */
function problemNow(visit: Visit, connection: Connection, source: SourceStatus | undefined) {
  const completedAt = source?.completedAt == null ? null : Date.parse(source.completedAt)
  const needsKey = isOtherSecret(connection.secret_id, visit.config)
  const failure = needsKey ? 'key' : isDiskFull(visit.config) ? 'disk-full' : connection.failure
  return connectionProblem(visit, { ...connection, failure }, completedAt)
}

type Read = RoundProgress['read'][number]

function roundOf({ viewer, now }: Visit, connection: Connection, source: SourceStatus | undefined): Html {
  const { origin, username, started_at: startedAt, state } = connection
  const progress = progressOf(connection)
  const rows = progress.read.map(({ kind, read, total }) => {
    // Before a first complete round nothing was counted.
    return { kind, read, total: source?.completedAt == null || total === null ? null : Math.max(total, read) }
  })
  const known = new Map(rows.map(row => [row.kind, row]))
  const read = sum(rows.map(row => row.read))
  const isFurther = source?.completedAt != null
  const name = freeText(viewer, username)
  const left = startedAt === null ? undefined : secondsLeft(known, source, now - startedAt)
  const before = Math.max(read, sum(Object.values(source?.rows ?? {})))
  return html`
    <p class="summary" role="status">${state === 'due' ? 'Connecting' : isFurther ? 'Looking for changes' : 'Copying your records'}${name === '' || (isFurther && state !== 'due') ? '' : ` with the key of ${name}`}. You can close this page: it goes on.</p>
    ${isFurther && html`<progress max="${before}" value="${read}" aria-label="Records checked"></progress>`}
    <p class="muted">${isFurther ? `${numberText(read)} of ${countText(before, 'record')} checked.` : read === 0 ? 'Nothing has arrived yet.' : `${countText(read, 'record')} so far.`}${left === undefined ? '' : ` About ${durationText(left > 60 ? Math.ceil(left / 60) * 60 : left)} left.`}${pauseText(progress, now)}</p>
    ${table<Read>(
      `${hostOf(viewer, origin)}: what has arrived`,
      [
        { title: 'Kind', cell: ({ kind }) => kindName(kind) },
        { title: 'Read', numeric: true, cell: row => numberText(row.read) },
        { title: 'Of', numeric: true, cell: ({ total }) => (total === null ? NONE : numberText(total)) },
      ],
      sourceLists
        .map(({ kind }) => known.get(kind) ?? { kind, read: 0, total: isFurther ? (source.rows[kind] ?? 0) : null })
        .filter(({ total }) => total !== 0),
    )}
  `
}

/** Why the numbers stand still. */
function pauseText({ pause }: RoundProgress, now: number): string {
  if (pause?.reason === 'away') return ' That server does not answer now. It is asked again.'
  if (pause === undefined || pause.until <= now) return ''
  return ` Waiting for ${durationText((pause.until - now) / 1000)}: that server may not be asked more often.`
}

/** Undefined unless it is known how many records there are. */
function secondsLeft(known: ReadonlyMap<string, Read>, source: SourceStatus | undefined, elapsedMs: number) {
  const rows = [...known.values()]
  const read = sum(rows.map(row => row.read))
  if (source?.completedAt == null || read === 0 || rows.some(({ total }) => total === null)) return undefined
  const rest = sum(
    sourceLists.map(({ kind }) => {
      const row = known.get(kind)
      return row === undefined ? (source.rows[kind] ?? 0) : Math.max(0, (row.total ?? 0) - row.read)
    }),
  )
  return rest === 0 ? undefined : (elapsedMs / 1000 / read) * rest
}

function actionsOf(visit: Visit, connection: Connection, source: SourceStatus | undefined): Html {
  if (isBusy(visit, connection)) return html`<div class="buttons">${button('stop', 'Stop copying')}</div>`
  const { state, sealed_key: key } = connection
  const needsKey = state !== 'done' && (key === null || problemNow(visit, connection, source)?.needsKey === true)
  const canGoOn = state === 'stopped' && !needsKey
  const gone = sum(Object.values(source?.gone ?? {}))
  return html`
    <div class="buttons">
      ${needsKey ? link('key', 'Change key', true) : nothing}
      ${canGoOn ? button('continue', 'Continue', true) : nothing}
      ${state === 'waiting' || state === 'due' ? html`${!needsKey && html`${button('pull', 'Copy now')}${button('stop', 'Stop copying')}`}` : nothing}
    </div>
    <details>
      <summary>More</summary>
        <div class="buttons">
          ${needsKey ? nothing : link('key', state === 'done' ? 'Copy again with a key' : 'Change key')}
          ${source === undefined ? nothing : link('locks', 'Lock sessions by number')}
          ${gone > 0 && link('gone', `Remove what is no longer there (${numberText(gone)})`)}
          ${link('forget', key === null ? 'Forget this source' : 'Stop and forget the key')}
        </div>
    </details>
  `
}

function button(path: string, text: string, isPrimary = false): Html {
  return html`<form method="post" action="/source/${path}"><button${isPrimary ? html` class="primary"` : nothing}>${text}</button></form>`
}

function link(path: string, text: string, isPrimary = false): Html {
  return html`<a class="button${isPrimary ? ' primary' : ''}" href="/source/${path}">${text}</a>`
}

type Round = Awaited<ReturnType<typeof listRounds>>[number]

/** What came in from the connected server and from files, the newest first. */
function arrivals({ viewer }: Visit, server: string, rounds: readonly Round[], files: readonly ImportedFile[]): Html {
  const rows = [
    ...rounds.map((round, index) => ({
      ...round,
      // Those of the round before are not told again.
      rejected: round.rejected === rounds[index + 1]?.rejected ? 0 : round.rejected,
      at: round.ended_at,
      name: server,
      removable: 0,
      id: 0,
    })),
    ...files.map(file => ({
      ...file,
      name: freeText(viewer, file.name) || 'File',
      gone: 0,
      rejected: 0,
      failure: null,
    })),
  ].toSorted((a, b) => b.at - a.at)
  if (rows.length === 0) return nothing
  type Row = (typeof rows)[number]
  return card(
    'What came in',
    table<Row>(
      'What came in',
      [
        { title: 'When', line: 'first', cell: ({ at }) => dateTime(viewer, at) },
        { title: 'From', line: 'second', cell: ({ name }) => name },
        {
          title: 'Records',
          line: 'second',
          cell: ({ added, replaced, gone, rejected, failure }) => {
            const counts = { new: added, changed: replaced, 'no longer there, kept here': gone, 'not stored': rejected }
            if (failure === null) return countsText(counts, 'Nothing new')
            const what = failure === 'refused' ? 'Key refused' : 'Not complete'
            return html`<span class="state warn">${what}</span> ${countsText(counts, '')}`
          },
        },
        actionColumn(({ id, name, removable }) =>
          removable === 0 ? nothing : action(`/source/files/${id}/undo`, 'Undo', name),
        ),
      ],
      rows,
    ),
    { id: 'files' },
  )
}

async function showForgetting(visit: Visit) {
  const connection = await readConnection(visit.store, visit.viewer.session.accountId)
  if (connection === undefined) return redirect('/source')
  return formPage(visit, {
    title: 'Forget this source',
    isDangerous: true,
    body: html`
      <p>Stop copying from ${visit.viewer.discreet ? 'the server' : connection.origin}, and forget its key? All records that were copied stay. To copy from there again, you enter a key again.</p>
    `,
  })
}
