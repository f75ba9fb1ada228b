import type { NamedAccess } from '../../../accounts/given-access.ts'
import type { AccessTerms } from '../../../accounts/access.ts'
import { type Area, areas } from '../../../contract/areas.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'
import { DAY_MS, parseDay, formatDate } from '../../../contract/time.ts'
import { dayAt, dayFrom } from '../../../stats/periods.ts'
import { fieldText, html, type Html, nothing } from '../../html.ts'
import { areaLabels } from '../../text/labels.ts'
import type { Viewer, Visit } from '../../page.ts'
import { dateText, dateTimeText } from '../../text/text.ts'

/** The forms that give and narrow access, and how its terms are written. */

/** `until the end of 1 May` */
export function untilText({ timeZone }: Pick<Viewer, 'timeZone'>, until: number): string {
  const isEndOfDay = dayFrom(dayAt(until - 1, timeZone), timeZone)?.[1] === until
  return `until ${isEndOfDay ? `the end of ${dateText({ timeZone }, until - 1)}` : dateTimeText({ timeZone }, until)}`
}

type GiveForm = ReturnType<typeof readGiveForm>

/** What was entered; before that, access to everything without an end. `recordsFrom` and `until` are undefined for an invalid day. */
export function readGiveForm({ form, viewer }: Visit) {
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
export function readNarrowForm({ form, viewer }: Visit, access: NamedAccess): AccessTerms {
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

export function giveFields(visit: Visit, { username, areas: chosen, from, last }: GiveForm, problem?: string): Html {
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

export function narrowFields(
  visit: Visit,
  { access, name }: { readonly access: NamedAccess; readonly name: string },
): Html {
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
