import { createReadStream, existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { allowRecords } from '../../../accounts/deleted-records.ts'
import { csvLine } from '../../../archive/formats/csv.ts'
import { templates } from '../../../archive/formats/tables.ts'
import { notFound } from '../../../contract/errors.ts'
import { limits } from '../../../http/limits.ts'
import { doRecordAct, formPage, submit } from '../../layout/form-page.ts'
import { FILE_WAY, way } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { download, type DashboardPage, redirect, view, type View, type Visit } from '../../page.ts'
import { freeText } from '../../text/names.ts'
import { countText, dateTime, numberText } from '../../text/text.ts'
import { KEPT_MS } from '../../../uploads/folder.ts'
import { findUpload, type Upload } from '../../../uploads/uploads.ts'
import { askedFor, deletedIn, failureText, previewOf, secretField, storedCounts } from './upload-report.ts'

const OF_SOURCE = { section: 'source', reads: null } as const
const UPLOAD = { ...OF_SOURCE, path: '/source/upload', confirms: true } as const

/** Files that people bring in for the account that signed in: sent, checked, shown, and then stored or discarded. */
export const uploadPages: readonly DashboardPage[] = [
  { ...OF_SOURCE, path: '/source/file', handler: async visit => showUpload(visit, await ownUpload(visit)) },
  // The proof comes before the form, so that no file is sent in vain.
  { ...UPLOAD, handler: visit => showForm(visit) },
  {
    ...UPLOAD,
    method: 'POST',
    receivesFiles: true,
    async handler(visit) {
      if (visit.uploads.maxBytes === 0) throw notFound('Upload')
      return submit(
        async () => {
          await visit.receiveFiles()
          return redirect('/source/file')
        },
        problem => showForm(visit, problem),
      )
    },
  },
  formOf('check', ['asking', 'ready'], ({ uploads, form }, upload) =>
    uploads.check(upload, {
      kind: form.get('kind') ?? undefined,
      secret: form.get('secret') ?? undefined,
      columns: columnsIn(form.getAll('column')),
    }),
  ),
  formOf('store', ['ready'], ({ uploads, form, actor }, upload) =>
    uploads.store(upload, { secret: form.get('secret') ?? undefined }, actor),
  ),
  {
    ...formOf('allow', ['ready'], async (visit, upload) => {
      await doRecordAct(visit, allowRecords, { records: deletedIn(upload) })
      await visit.uploads.check(upload, {})
    }),
    act: allowRecords,
    takesLong: true,
  },
  formOf('discard', ['checking', 'asking', 'ready', 'failed', 'stored'], ({ uploads }, one) => uploads.discard(one)),
  ...Object.entries(templates).map(([name, header]): DashboardPage => ({
    ...OF_SOURCE,
    path: `/source/upload/${name}.csv`,
    isDownload: true,
    handler: async () => download({ file: `${name}.csv`, type: 'text/csv; charset=utf-8', body: csvLine(header) }),
  })),
  {
    ...OF_SOURCE,
    path: '/source/upload/rejected.csv',
    isDownload: true,
    async handler(visit) {
      const upload = await ownUpload(visit)
      const path = upload === undefined ? '' : visit.uploads.rejectedFile(upload)
      if (!existsSync(path)) throw notFound('List')
      return download({
        file: 'rejected.csv',
        type: 'text/csv; charset=utf-8',
        body: createReadStream(path, { encoding: 'utf8' }),
      })
    },
  },
]

/** Pairs such as `Reps=Repetitions`. */
function columnsIn(pairs: readonly string[]): Readonly<Record<string, string>> | undefined {
  const columns: Record<string, string> = {}
  for (const pair of pairs.slice(0, MAX_COLUMNS)) {
    const end = pair.lastIndexOf('=')
    columns[pair.slice(0, end)] = pair.slice(end + 1)
  }
  return pairs.length === 0 ? undefined : columns
}

const MAX_COLUMNS = 20

export async function fileWay(visit: Visit): Promise<Html> {
  const upload = await ownUpload(visit)
  const [to, text] = isOver(upload) ? ['upload', 'Upload a file'] : ['file', 'See the file that you sent']
  return way(
    FILE_WAY,
    visit.uploads.maxBytes === 0
      ? html`<p>Whoever runs this service has switched this off.</p>`
      : html`<a class="button" href="/source/${to}">${text}</a>`,
  )
}

function ownUpload({ store, viewer, now }: Visit): Promise<Upload | undefined> {
  return findUpload(store, viewer.session.accountId, now)
}

function isOver(upload: Upload | undefined): boolean {
  return upload === undefined || upload.state === 'stored' || upload.state === 'failed'
}

/** A form that changes the upload that it names. If that has changed meanwhile, its page says what it is now. */
function formOf(
  name: string,
  states: readonly Upload['state'][],
  work: (visit: Visit, upload: Upload) => Promise<void>,
): DashboardPage {
  const handler = async (visit: Visit) => {
    const upload = await ownUpload(visit)
    if (upload === undefined || upload.id !== visit.form.get('id') || !states.includes(upload.state)) {
      return redirect('/source/file')
    }
    return submit(
      async () => {
        await work(visit, upload)
        return redirect('/source/file')
      },
      problem => showUpload(visit, upload, problem),
    )
  }
  return { ...OF_SOURCE, method: 'POST', path: `/source/upload/${name}`, handler }
}

async function showForm(visit: Visit, problem?: string) {
  const { uploads } = visit
  if (uploads.maxBytes === 0) throw notFound('Upload')
  if (problem === undefined && !isOver(await ownUpload(visit))) return redirect('/source/file')
  return formPage(visit, {
    title: 'Upload a file',
    button: 'Upload and check',
    problem,
    sendsFiles: true,
    body: html`
      <ul>
        <li>An export of another Lockstep, from its settings.</li>
        <li>A table saved as CSV: one of the pages <em>Training</em> and <em>Locks</em>, or an empty one that you fill in (<a href="/source/upload/training.csv" download>training</a>, <a href="/source/upload/locks.csv" download>locks</a>). Write times as <span class="nowrap">2026-02-16 18:00</span>, in your time zone.</li>
        <li>A saved response of the API.</li>
      </ul>
      <p class="muted">It may be compressed (gzip, zstd) or encrypted (age). Only your own records are taken from it; those that do not say whose they are count as yours.</p>
      <label>Files <span class="muted">${numberText(uploads.maxBytes / 1024 / 1024)} MB together, ${limits.uploadFiles.max} at most</span>
        <input type="file" name="file" multiple required${problem === undefined ? nothing : html` aria-describedby="problem"`}>
      </label>
      <p class="muted">Nothing is stored before you have seen what is in them. They are deleted from this service as soon as you have decided, after an hour at the latest.</p>
    `,
  })
}

function showUpload(visit: Visit, upload: Upload | undefined, problem?: string): View {
  const isBusy = upload !== undefined && ['receiving', 'checking', 'storing'].includes(upload.state)
  return view({
    title: 'From a file',
    lead: upload && leadOf(visit, upload),
    status: problem === undefined ? 200 : 422,
    isBusy,
    body: html`
      <div class="stack" data-live="upload"${isBusy ? html` data-busy` : nothing}>
        ${problem === undefined ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
        ${upload === undefined ? html`<p class="card">No file waits here. One that is neither stored nor discarded is deleted after an hour.</p>` : bodyOf(visit, upload)}
      </div>
    `,
  })
}

function leadOf({ viewer }: Visit, { name, bytes, received_at }: Upload): Html {
  const shown = freeText(viewer, name)
  const size = bytes === 0 ? nothing : html`, ${numberText(Math.ceil(bytes / 1024))} KB`
  return html`${shown === '' ? 'Your file' : shown}${size}, received ${dateTime(viewer, received_at)}`
}

function bodyOf(visit: Visit, upload: Upload): Html {
  switch (upload.state) {
    case 'receiving':
      return busy('The file is arriving.', nothing)
    case 'checking':
      return busy(
        'The file is being checked. This page shows the result as soon as it is there.',
        discardForm(upload, 'Stop and discard'),
      )
    case 'storing':
      return busy('The records are being stored. Until all of them are, none is shown.', nothing)
    case 'asking':
      return elsewhere(visit, upload) ?? askedFor(upload, discardForm(upload))
    case 'ready':
      return elsewhere(visit, upload) ?? readyBody(visit, upload)
    case 'stored':
      return html`
        <div class="card stack">
          <p role="status">Stored. The file was deleted from this service.</p>
          ${storedCounts(upload)}
          <p class="buttons"><a class="button primary" href="/">Go to the overview</a><a class="button" href="/source/upload">Choose another file</a></p>
        </div>
      `
    case 'failed':
      return html`
        <div class="card stack">
          <p class="problem" role="alert">${failureText(upload)} Nothing was stored, and the file was deleted from this service.</p>
          <p><a class="button primary" href="/source/upload">Choose another file</a></p>
        </div>
      `
    default:
      return upload.state satisfies never
  }
}

function busy(text: string, action: Html): Html {
  return html`<div class="card stack"><p role="status">${text}</p>${action}</div>`
}

/** Where another machine has the file, or it is gone. */
function elsewhere({ uploads }: Visit, upload: Upload): Html | undefined {
  if (uploads.isHere(upload)) return undefined
  return html`
    <div class="card stack">
      <p class="problem" role="alert">The file is on the machine <code>${upload.host}</code>, or gone from it, and this page comes from <code>${hostname()}</code>. Load it again, or discard the file and upload it again.</p>
      ${discardForm(upload)}
    </div>
  `
}

function readyBody(visit: Visit, upload: Upload): Html {
  const { needsSecret, news, changed, rejected, shown } = previewOf(visit, upload)
  // What the file has and its sender deleted.
  const deleted = deletedIn(upload).length
  return html`
    ${upload.failure === null ? nothing : html`<p class="problem" role="alert">${failureText(upload)} Nothing was stored.</p>`}
    ${shown}
    ${
      deleted === 0
        ? nothing
        : html`
      <form class="card stack" method="post" action="/source/upload/allow">
        <input type="hidden" name="id" value="${upload.id}">
        <p>${countText(deleted, 'record')} of the file ${deleted === 1 ? 'was' : 'were'} deleted here and ${deleted === 1 ? 'stays' : 'stay'} away.</p>
        <div class="buttons"><button>Restore</button></div>
      </form>
    `
    }
    <div class="card stack">
      ${
        news > 0
          ? html`
              <form class="stack" method="post" action="/source/upload/store">
                <input type="hidden" name="id" value="${upload.id}">
                ${needsSecret ? secretField() : nothing}
                <p>Store ${countText(news, 'record')}?${rejected !== '' && ` ${rejected}.`}${changed > 0 && ' Those that changed replace the stored ones.'} If storing fails, none of them is stored.</p>
                <div class="buttons">
                  <button class="primary">Store</button>
                  <button formaction="/source/upload/discard" formnovalidate>Discard</button>
                </div>
              </form>
            `
          : html`<p>There is nothing new to store.</p>${discardForm(upload)}`
      }
      <p class="muted">The file is deleted from this service at ${dateTime(visit.viewer, upload.received_at + KEPT_MS)}, if you have not decided by then.</p>
    </div>
  `
}

function discardForm({ id }: Upload, title = 'Discard'): Html {
  return html`<form method="post" action="/source/upload/discard"><input type="hidden" name="id" value="${id}"><button>${title}</button></form>`
}
