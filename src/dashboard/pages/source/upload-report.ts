import { sum } from '../../../contract/numbers.ts'
import type { KindPreview } from '../../../archive/preview.ts'
import type { SampleField } from '../../../archive/sample-rows.ts'
import { ownKinds } from '../../../accounts/deleted-records.ts'
import { card, options, table, type TableColumn } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit } from '../../page.ts'
import { reasonTable } from './rejected.ts'
import { kindName } from '../../text/labels.ts'
import { capital, countsText, countText, dateText, dateTimeText, durationText, NONE } from '../../text/text.ts'
import type { UploadReport } from '../../../uploads/run.ts'
import type { Upload } from '../../../uploads/uploads.ts'

/** What an upload holds, as its page shows it. */

function reportOf({ report }: Upload): UploadReport {
  // Only the check and the storing write it.
  return report === null ? {} : (JSON.parse(report) as UploadReport)
}

/** The records of an upload that its sender deleted. */
export function deletedIn(upload: Upload) {
  return reportOf(upload).preview?.deleted ?? []
}

/** The preview of an upload that can be stored. */
export function previewOf(visit: Visit, upload: Upload) {
  const { preview, needsSecret = false } = reportOf(upload)
  const counts = preview?.kinds ?? []
  return {
    needsSecret,
    /** What of the file is left out. */
    rejected: rejectedText(upload),
    /** How many records would be stored. */
    news: sum(counts.map(({ added, changed }) => added + changed)),
    changed: sum(counts.map(({ changed }) => changed)),
    shown: html`
      ${card('What is in it', html`${counts.length === 0 ? html`<p>No records of yours.</p>` : kindTable(visit, counts)}${notes(visit, upload)}`)}
      ${rejectedCard(upload)}
      ${columnsCard(upload)}
      ${samplesCard(visit, upload)}
    `,
  }
}

function kindTable({ viewer }: Visit, counts: readonly KindPreview[]): Html {
  const day = (at: number | null) => (at === null ? NONE : dateText(viewer, at, true))
  return table<KindPreview>(
    'What is in it',
    [
      { title: 'Records', line: 'first', cell: ({ kind }) => kindName(kind) },
      { title: 'First', line: 'second', before: 'first ', cell: ({ first }) => day(first) },
      { title: 'Last', line: 'second', before: 'last ', cell: ({ last }) => day(last) },
      {
        title: 'In your account',
        line: 'second',
        cell: ({ added, changed, unchanged, skipped, deleted = 0 }) =>
          countsText(
            { new: added, changed, 'the same': unchanged, 'not finished': skipped, 'deleted here': deleted },
            NONE,
          ),
      },
    ],
    counts,
  )
}

/** What the table does not say. */
function notes({ viewer }: Visit, upload: Upload): Html {
  const {
    preview,
    hasNoEnd = false,
    usesTimeZone = false,
    notRead = [],
    converted = [],
    differing = 0,
    beside = 0,
    offset,
  } = reportOf(upload)
  const { accounts = 0, access = 0, others = 0 } = preview?.leftOut ?? {}
  const left = [
    ...(others > 0 ? [`${countText(others, 'record')} of other accounts`] : []),
    ...(accounts > 0 ? [countText(accounts, 'account')] : []),
    ...(access > 0 ? [countText(access, 'access to records', 'accesses to records')] : []),
  ]
  const isCut = preview?.hasEnd === false && !hasNoEnd
  return html`
    ${hasNoEnd ? html`<p class="muted">Records that do not say whose they are will be stored as yours.</p>` : nothing}
    ${usesTimeZone ? html`<p class="muted">Times without a zone are read as times in ${viewer.timeZone.replaceAll('_', ' ')}, which <a href="/settings">Settings</a> can change.</p>` : nothing}
    ${notRead.length === 0 ? nothing : html`<p class="muted">Columns that are not read: ${notRead.map(({ title }) => title).join(', ')}.</p>`}
    ${converted.map(({ what, count, before, after }) => html`<p class="muted">Converted ${what}: ${countText(count, 'value')}, such as ${before} → ${after}.</p>`)}
    ${differing === 0 ? nothing : html`<p class="muted">${countText(differing, 'row')} differ from stored records that no table made. A table does not change those.</p>`}
    ${beside === 0 ? nothing : html`<p class="problem">${countText(beside, 'new session')} ${beside === 1 ? 'begins' : 'begin'} within 15 minutes of one that no table made. If they are the same, remove their rows and bring the file again, or press <em>Delete the typed ones</em> on Source afterwards.</p>`}
    ${offset === undefined ? nothing : html`<p class="problem">${countText(offset.count, 'new session')} begin ${durationText(Math.abs(offset.minutes) * 60)} ${offset.minutes > 0 ? 'after' : 'before'} stored ones. Are these times of another zone? Then discard the file, set that zone in <a href="/settings">Settings</a>, and bring it again.</p>`}
    ${left.length === 0 ? nothing : html`<p class="muted">Left out: ${left.join(', ')}. Only records of your own account, number ${viewer.session.accountId}, can be stored here.</p>`}
    ${isCut ? html`<p class="muted">The line that ends an export is missing, so the file may have been cut off.</p>` : nothing}
  `
}

/** Asks whether columns with other titles are some of ours. */
function columnsCard(upload: Upload): Html {
  const { notRead = [], columns = {}, needsSecret = false } = reportOf(upload)
  const asked = notRead.flatMap(({ title, meant }) => (meant === undefined ? [] : [{ title, meant }]))
  if (asked.length === 0) return nothing
  const known = Object.entries(columns).map(([title, meant]) => ({ title, meant }))
  return card(
    'Columns with other titles',
    html`
      <form class="stack" method="post" action="/source/upload/check">
        <input type="hidden" name="id" value="${upload.id}">
        ${known.map(({ title, meant }) => html`<input type="hidden" name="column" value="${title}=${meant}">`)}
        ${asked.map(({ title, meant }) => html`<label class="check"><input type="checkbox" name="column" value="${title}=${meant}"> Read ${title} as ${meant}</label>`)}
        ${needsSecret ? secretField() : nothing}
        <div><button>Check again</button></div>
      </form>
    `,
  )
}

/** The first records as they would be stored, a column for each. */
function samplesCard({ viewer }: Visit, upload: Upload): Html {
  const { preview, samples = [], unit } = reportOf(upload)
  if (samples.length === 0) return nothing
  const text = (value: SampleField['before'], form: SampleField['form']) => {
    if (value === null || value === undefined || value === '') return NONE
    // In a narrow column, its day and its hour are below each other.
    if (form === 'time') return dateTimeText(viewer, Number(value)).replaceAll('\u00a0', ' ')
    if (form === 'text' && viewer.discreet) return 'hidden'
    return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value)
  }
  const cellOf = ({ value, before, form }: SampleField) =>
    before === undefined ? text(value, form) : html`${text(before, form)} → ${text(value, form)}`
  const isChange = ({ fields }: (typeof samples)[number]) => fields.some(({ before }) => before !== undefined)
  const columnOf = (sample: (typeof samples)[number]): TableColumn<string> => ({
    title: `${capital(unit ?? 'place')} ${sample.place}: ${isChange(sample) ? 'changed' : 'new'}`,
    cell: title => sample.fields.filter(field => field.title === title).map(cellOf),
  })
  const tables = [...Map.groupBy(samples, ({ kind }) => kind)].map(([kind, of]) => {
    const titles = new Set(of.flatMap(({ fields }) => fields.map(({ title }) => title)))
    return table(kindName(kind), [{ title: kindName(kind), cell: title => title }, ...of.map(columnOf)], [...titles])
  })
  const note = html`<p class="muted">What a file replaces cannot be brought back from here.</p>`
  const shown = html`<div class="stack">${tables}${samples.some(isChange) && note}</div>`
  const all = sum(preview?.kinds.map(({ added, changed }) => added + changed) ?? [])
  const first = samples.length < all ? `${samples.length} of ${countText(all, 'record')}, as` : 'As'
  return card(`${first} they would be stored`, shown, { id: 'samples' })
}

/** `1 line cannot be stored`; empty if all can. */
function rejectedText(upload: Upload): string {
  const { preview, unit = 'line' } = reportOf(upload)
  const count = preview?.rejectedCount ?? 0
  return count === 0 ? '' : `${countText(count, unit)} cannot be stored`
}

function rejectedCard(upload: Upload): Html {
  const { preview, rejected = [], unit } = reportOf(upload)
  const title = rejectedText(upload)
  if (title === '') return nothing
  return card(
    title,
    html`
      <p>The rest can be stored. Mend the ${unit ?? 'line'}${preview?.rejectedCount !== 1 && 's'} and bring the file again.</p>
      ${reasonTable(rejected, {
        title: unit === undefined ? 'Where' : `In ${unit}`,
        line: 'second',
        before: `in ${unit ?? ''} `,
        cell: ({ places, count }) => `${places.join(', ')}${count > places.length ? ' …' : ''}`,
      })}
    `,
    { actions: html`<a href="/source/upload/rejected.csv" download>CSV</a>` },
  )
}

export function storedCounts(upload: Upload): Html {
  const { stored = [] } = reportOf(upload)
  if (stored.length === 0) return html`<p>Everything in it was stored before.</p>`
  return html`<ul>${stored.map(
    ({ kind, added, replaced }) =>
      html`<li>${kindName(kind)}: ${countsText({ new: added, changed: replaced }, 'nothing new')}</li>`,
  )}</ul>`
}

/** Why the upload was not stored, or needs an answer. */
export function failureText(upload: Upload): string {
  const { problem } = reportOf(upload)
  if (upload.failure === 'ended') {
    return upload.state === 'failed'
      ? 'The file could not be checked: the process that did it ended. It may need more memory than there is.'
      : 'The records could not be stored: the process that did it ended.'
  }
  if (upload.failure === 'silent') {
    return `${upload.state === 'failed' ? 'The check of the file' : 'Storing the records'} made no progress, so this service ended it. Whoever runs this service can bring the file in with the command lockstep import.`
  }
  if (upload.state === 'ready') return 'The passphrase or identity does not open the file.'
  return problem === undefined ? 'The file cannot be read.' : `${capital(problem)}${/[.?!]$/.test(problem) ? '' : '.'}`
}

/** The form that asks for what the file does not say. */
export function askedFor(upload: Upload, discard: Html): Html {
  const { needsSecret = false } = reportOf(upload)
  return html`
    <div class="card narrow stack">
      <form class="stack" method="post" action="/source/upload/check">
        <input type="hidden" name="id" value="${upload.id}">
        <p${upload.failure === 'encrypted' ? nothing : html` class="problem" role="alert"`}>${failureText(upload)}</p>
        ${upload.failure === 'kind' && html`<label>Its records are <select name="kind" required>${options(ownKinds.map(({ name }) => [name, kindName(name)]))}</select></label>`}
        ${needsSecret ? secretField() : nothing}
        <div><button class="primary">Check the file</button></div>
      </form>
      ${discard}
    </div>
  `
}

/** It is used once, and kept nowhere. */
export function secretField(): Html {
  return html`
    <label>Passphrase or age identity <span class="muted">used once, kept nowhere</span>
      <input type="password" name="secret" required maxlength="1000" autocomplete="off" spellcheck="false">
    </label>
  `
}
