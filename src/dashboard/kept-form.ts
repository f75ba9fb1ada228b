import { html, type Html } from './html.ts'
import type { Confirmed, Visit } from './page.ts'
import { noCookie, openedCookie, sealedCookie } from './sealed-cookie.ts'

/** A form that is kept in a cookie while its sender confirms their identity at the issuer. */

export interface KeptForm {
  /** The path that it is sent to. */
  readonly action: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** What the form does; undefined if there is no form to continue. */
  readonly confirms?: Confirmed | undefined
}

export function keptFields({ fields }: KeptForm): readonly Html[] {
  return fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
}

/** A cookie that keeps the form for this session; undefined for a form that is too long for one. */
export function keepForm(visit: Visit, { action, fields, confirms }: KeptForm): Promise<string | undefined> {
  return sealedCookie(visit.store, cookieOf(visit), { action, fields, confirms }, KEPT_MS)
}

/** The form that this session keeps, if there is one. */
export async function readKeptForm(visit: Visit): Promise<KeptForm | undefined> {
  // Only `keepForm` seals for this name.
  return (await openedCookie(visit.store, visit.cookies, cookieOf(visit))) as KeptForm | undefined
}

export function noKeptForm({ site }: Visit): string {
  return noCookie({ site, name: NAME })
}

function cookieOf({ site, viewer, now }: Visit) {
  return { site, now, name: NAME, subject: String(viewer.session.id) }
}

const NAME = 'kept-form'
const KEPT_MS = 10 * 60_000
