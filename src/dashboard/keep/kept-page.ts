import { hash } from 'node:crypto'
import { raw } from 'hono/html'
import { copiedSoFar } from '../../pull/state.ts'
import { readKnownTime } from '../../stats/known-time.ts'
import { trainingHistory } from '../../stats/training-history.ts'
import type { Store } from '../../store/index.ts'
import { pause } from '../../fairness.ts'
import { asset } from '../sending.ts'
import { htmlDocument } from '../layout/layout.ts'
import { html, type Html, nothing } from '../html.ts'
import { type Reader, type Viewer, PageAccess } from '../page.ts'
import { readOverview } from '../pages/overview/overview.ts'
import { allYears, readYear, yearCards, yearsOf } from '../pages/year/year.ts'
import { ownName, readPrograms } from '../text/names.ts'
import { dateTimeText } from '../text/text.ts'
import { dayOf, keptTableNames, keptTables } from './kept-tables.ts'

/** Who keeps their records, and how they are shown: names may be hidden. */
export type Keeper = Pick<Viewer, 'session' | 'discreet' | 'timeZone' | 'units'>

/**
 * The whole history of an account as one HTML file, which needs no network and no script: its policy allows its own style alone.
 * Records of others are not in it. Others have their turns while it is written.
 */
export async function* keptPage(store: Store, keeper: Keeper, now: number): AsyncGenerator<string> {
  const reader = await readerOf(store, keeper, now)
  const programs = await readPrograms(reader)
  const years = (await yearsOf(reader)).toReversed()
  const MARK = '\u0000'
  const [head = '', foot = ''] = documentOf(reader, html`${headOf(reader, years)}${raw(MARK)}`).split(MARK)
  yield head
  const overview = await readOverview(reader, null)
  const present = overview ? html`<h2>${overview.heading}</h2>${overview.cards}` : html`<p>There are no records.</p>`
  const { sessions } = await trainingHistory(store, reader.pageAccess.sessions('dtt'))
  const days = new Set(sessions.map(({ at }) => dayOf(reader, at)))
  yield asKept(html`<section class="kept" id="present"><h1>${presentText(reader)}</h1>${present}</section>`, days)
  yield asKept(await allYears(reader), days)
  for (const year of years) {
    await pause()
    const cards = html`<div class="stack">${await yearCards(reader, await readYear(reader, year))}</div>`
    yield asKept(html`<section class="kept-year" id="year-${year}"><h1>${year}</h1>${cards}</section>`, days)
  }
  yield* keptTables(reader, programs, sessions)
  yield foot
}

/** The owner of the records, who sees nobody else's. */
async function readerOf(store: Store, { session, discreet, timeZone, units }: Keeper, now: number): Promise<Reader> {
  const own = { id: session.accountId, username: session.username }
  const { asOf, isPartial } = await readKnownTime(store, own.id, own.id, now)
  return {
    store,
    now,
    viewer: {
      theme: 'auto',
      discreet,
      hasShortcut: false,
      session,
      subject: own,
      chosenIsGone: false,
      shared: [],
      readable: [own],
      timeZone,
      units,
      asOf,
      copied: isPartial ? await copiedSoFar(store, own.id) : null,
    },
    pageAccess: new PageAccess({ grant: { accountId: own.id, shared: [] }, now }, own.id),
  }
}

function documentOf({ viewer }: Reader, body: Html): string {
  const style = Buffer.from(asset('dashboard.css').body).toString()
  const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'none'`
  const head = html`<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${raw(style)}</style>`
  return htmlDocument(viewer, ownName(viewer), head, html`<main id="main" class="kept">${body}</main>`).toString()
}

function headOf({ viewer, now }: Reader, years: readonly number[]): Html {
  const written = dateTimeText(viewer, now)
  const known = viewer.asOf === null ? written : dateTimeText(viewer, viewer.asOf)
  const asOf = known === written ? nothing : html`, as of ${known}`
  return html`
    <div class="head"><div><h1>Records of ${ownName(viewer)}</h1><p class="lead">Written ${written}${asOf}. Times in ${viewer.timeZone.replaceAll('_', ' ')}.${viewer.copied === null ? nothing : ' The copy from the other server was not complete.'}</p></div></div>
    <nav class="kept-contents" aria-label="Contents"><a href="#present">${presentText({ viewer, now })}</a> ${years.length > 1 && html`<a href="#years">All years</a>`}${years.map(year => html` <a href="#year-${year}">${year}</a>`)}${Object.entries(keptTableNames).map(([id, name]) => html` <a href="#${id}">${name}</a>`)}</nav>
  `
}

/** What is said of the present holds for the time at which the file was written. */
function presentText({ viewer, now }: Pick<Reader, 'viewer' | 'now'>): string {
  return `On ${dateTimeText(viewer, now)}`
}

/**
 * Records have no page in the file, but a row, to which the marks of pictures lead. Scripts show what a day says elsewhere. How long ago
 * something was holds for one day.
 */
function asKept(markup: Html, days: ReadonlySet<string>): string {
  return markup
    .toString()
    .replaceAll(/ href="\/(training|locks|year)\/(\d+)"/g, ' href="#$1-$2"')
    .replaceAll(/ href="\/(?:training|locks)\?day=([\d-]+)"/g, (_, date: string) =>
      days.has(date) ? ` href="#day-${date}"` : '',
    )
    .replaceAll(/ href="(?!#)[^"]*"/g, '')
    .replaceAll(/(<(?:a|td) class="day [^>]*)>([^<]+)/g, '$1 title="$2">$2')
    .replaceAll(/<time[^>]*title="([^"]*)"[^>]*>.*?<\/time>|<span class="off-paper">[^<]*<\/span>/gs, '$1')
}
