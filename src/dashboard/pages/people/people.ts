import { endGiven, giveByName, listGiven, type NamedAccess, narrowGiven } from '../../../accounts/given-access.ts'
import { type AccessTerms, listReceivedAccess, type ReceivedAccess } from '../../../accounts/access.ts'
import { notFound } from '../../../contract/errors.ts'
import { type Area, areas } from '../../../contract/areas.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'
import { DAY_MS, formatDate, HOUR_MS, parseDay } from '../../../contract/time.ts'
import { dayAt, dayFrom } from '../../../stats/periods.ts'
import { readKnownTime } from '../../../stats/known-time.ts'
import { action, actionColumn, card, type TableColumn, table } from '../../layout/components.ts'
import { actPages } from '../../layout/form-page.ts'
import { areaLabels, areasText } from '../../text/labels.ts'
import { fieldText, html, type Html, nothing } from '../../html.ts'
import { type DashboardPage, redirect, view, type Viewer, type Visit } from '../../page.ts'
import { capital, dateText, dateTime, dateTimeText, NONE, timeAgo } from '../../text/text.ts'
import { showRecords } from '../../layout/subject-notes.ts'
import { makeNames, type PeopleNames, readsSection, readsPages } from './reads.ts'

const OF_PEOPLE = { section: 'people', reads: null } as const

/** Who may read the records of the account that signed in, whose it may read, and who did read. */
export const peoplePages: readonly DashboardPage[] = [
  { ...OF_PEOPLE, path: '/people', handler: showPeople },
  ...actPages({
    section: 'people',
    path: '/people/give',
    act: giveByName,
    find: readGiveForm,
    body: giveFields,
    enter: (_, form) => form,
    done: () => redirect('/people?done=given'),
  }),
  ...actPages({
    section: 'people',
    path: '/people/:id/narrow',
    act: narrowGiven,
    find: ownAccess,
    body: narrowFields,
    enter: (visit, { access }) => ({ username: access.username, ...readNarrowForm(visit, access) }),
    done: () => redirect('/people?done=narrowed'),
  }),
  ...actPages({
    section: 'people',
    path: '/people/:id/end',
    act: endGiven,
    find: ownAccess,
    isDangerous: true,
    body: (_, { access, name }) =>
      html`<p>End the access of <strong>${name}</strong> to ${areasText(access.areas).toLowerCase()}? It ends within a second. You can give access again.</p>`,
    enter: (_, { access }) => ({ username: access.username }),
    done: () => redirect('/people?done=ended'),
  }),
  ...readsPages,
]

/** The access that the path names, and the name to show for it. */
async function ownAccess(visit: Visit): Promise<{ access: NamedAccess; name: string }> {
  const { store, viewer, now, id } = visit
  const given = await listGiven(store, viewer.session.accountId, now)
  const access = given.find(({ handle }) => handle === id)
  if (access === undefined) throw notFound('Access')
  return { access, name: (await makeNames(visit, given)).of(access.username) }
}

async function showPeople(visit: Visit) {
  const { store, viewer, now } = visit
  const { accountId } = viewer.session
  const given = await listGiven(store, accountId, now)
  const received = await listReceivedAccess(store, accountId, now)
  const names = await makeNames(visit, given)
  const asOf = new Map<number, number | null>()
  for (const { accountId: id } of received) asOf.set(id, (await readKnownTime(store, accountId, id, now)).asOf)
  return view({
    title: 'People',
    lead: 'People with access can read, not change.',
    actions: html`<a class="button primary" href="/people/give">Give access</a>`,
    body: html`
      ${accessCard('Who can read your records', 'given-access', given, 'Nobody has access to your records.', [
        ...termColumns(viewer, names),
        {
          title: 'Last read',
          // Reads are counted by hours, so this is when the hour began.
          line: 'second',
          before: 'last read: ',
          cell: ({ lastReadAt: at }) =>
            at === null ? 'never' : now - at < HOUR_MS ? 'in the last hour' : timeAgo(viewer, at, now),
        },
        actionColumn(({ handle, username }) => {
          const [path, name] = [`/people/${handle}`, names.of(username)]
          return html`<span class="buttons">${action(`${path}/narrow`, 'Change access', name)}${action(`${path}/end`, 'End access', name, ' danger')}</span>`
        }),
      ])}
      ${accessCard(
        'Whose records you can read',
        'received-access',
        received,
        'Nobody gave you access to their records.',
        [
          ...termColumns(viewer, names),
          {
            title: 'Records as of',
            line: 'second',
            before: 'as of ',
            cell: ({ accountId }) => (asOf.get(accountId) == null ? NONE : dateTime(viewer, asOf.get(accountId) ?? 0)),
          },
          actionColumn(({ accountId, username }) =>
            showRecords(
              '/',
              html`<button class="small" name="subject" value="${accountId}" aria-label="Open history of ${names.of(username)}">Open history</button>`,
            ),
          ),
        ],
      )}
      ${await readsSection(visit, names)}
    `,
  })
}

/** The columns that line up in both tables. */
function termColumns(viewer: Viewer, names: PeopleNames): TableColumn<Omit<ReceivedAccess, 'accountId'>>[] {
  return [
    { title: 'Name', line: 'first', cell: ({ username }) => html`<strong>${names.of(username)}</strong>` },
    {
      title: 'Shared',
      line: 'second',
      cell: ({ areas, recordsFrom }) =>
        `${areasText(areas)}${recordsFrom === null ? '' : `, from ${dateText({ timeZone: 'UTC' }, recordsFrom)}`}`,
    },
    {
      title: 'Access',
      line: 'second',
      cell: ({ since, until }) =>
        capital(
          `${since === null ? '' : `since ${dateText(viewer, since)}, `}${until === null ? 'no end date' : untilText(viewer, until)}`,
        ),
    },
  ]
}

function accessCard<Row>(
  title: string,
  id: string,
  rows: readonly Row[],
  none: string,
  columns: readonly TableColumn<Row>[],
): Html {
  return card(title, rows.length === 0 ? html`<p class="muted">${none}</p>` : table(title, columns, rows, { id }))
}

/** `until the end of 1 May` */
function untilText({ timeZone }: Pick<Viewer, 'timeZone'>, until: number): string {
  const isEndOfDay = dayFrom(dayAt(until - 1, timeZone), timeZone)?.[1] === until
  return `until ${isEndOfDay ? `the end of ${dateText({ timeZone }, until - 1)}` : dateTimeText({ timeZone }, until)}`
}

type GiveForm = ReturnType<typeof readGiveForm>

/** What was entered; before that, access to everything without an end. `recordsFrom` and `until` are undefined for an invalid day. */
function readGiveForm({ form, viewer }: Visit) {
  const from = form.get('from') ?? ''
  const last = form.get('last') ?? ''
  return {
    // A copied name often has spaces around it.
    username: (form.get('username') ?? '').trim(),
    areas: form.size === 0 ? areas : areas.filter(area => form.getAll('area').includes(area)),
    from,
    recordsFrom: from === '' ? null : parseDay(from),
    last,
    until: last === '' ? null : dayFrom(last, viewer.timeZone)?.[1],
  }
}

/** The terms of access after the form was applied. Empty fields change nothing. */
function readNarrowForm({ form, viewer }: Visit, access: NamedAccess): AccessTerms {
  const from = parseDay(form.get('from') ?? '')
  const end = dayFrom(form.get('last') ?? '', viewer.timeZone)?.[1]
  // Access may end at a time of its last day; the form shows only the day.
  const dayBefore = (instant: number) => dayAt(instant - 1, viewer.timeZone)
  const isLastDay = end !== undefined && access.until !== null && dayBefore(end) === dayBefore(access.until)
  return {
    areas: areas.filter(area => form.getAll('area').includes(area)),
    recordsFrom: from ?? access.recordsFrom,
    until: end === undefined || isLastDay ? access.until : end,
  }
}

function giveFields(visit: Visit, { username, areas: chosen, from, last }: GiveForm, problem?: string): Html {
  return html`
    <p>They can read, never change. Nothing says whether there is such an account: the name is listed in any case.</p>
    <label>Username <span class="muted">exactly as it is on this service</span>
      <input name="username" required maxlength="${MAX_NAME_LENGTH}" autocomplete="off" autocapitalize="none" spellcheck="false" value="${fieldText(username)}" autofocus${
        problem === undefined ? nothing : html` aria-describedby="problem"`
      }>
    </label>
    ${areaFields(areas, chosen)}${dayFields(visit, { from, last })}
  `
}

function narrowFields(visit: Visit, { access, name }: { readonly access: NamedAccess; readonly name: string }): Html {
  const { recordsFrom, until } = access
  return html`
    <p>This can only reduce what <strong>${name}</strong> may read. To allow more, give access again.</p>
    ${areaFields(access.areas, access.areas)}${dayFields(visit, {
      from: recordsFrom === null ? '' : formatDate(recordsFrom / DAY_MS),
      last: until === null ? '' : dayAt(until - 1, visit.viewer.timeZone),
    })}
  `
}

function areaFields(offered: readonly Area[], chosen: readonly Area[]): Html {
  return html`
    <fieldset>
      <legend>May read</legend>
      ${offered.map(
        area =>
          html`<label><input type="checkbox" name="area" value="${area}"${chosen.includes(area) ? html` checked` : nothing}>${areaLabels[area]}</label>`,
      )}
    </fieldset>
  `
}

function dayFields({ viewer, now }: Visit, { from, last }: { readonly from: string; readonly last: string }): Html {
  return html`
    <label>Sessions from this day on <span class="muted">UTC; empty for all</span>
      <input type="date" name="from" value="${from}">
    </label>
    <label>Last day of access <span class="muted">empty for no end</span>
      <input type="date" name="last" min="${dayAt(now, viewer.timeZone)}" value="${last}">
    </label>
    <p class="muted">The first day limits sessions only: templates, programs and devices of an area are always visible.</p>
  `
}
