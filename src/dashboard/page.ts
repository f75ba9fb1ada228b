import type { Config } from '../config.ts'
import type { Store } from '../store/index.ts'
import type { BrowserSession } from '../accounts/browser-sessions.ts'
import type { EventCounter } from '../accounts/event-counter.ts'
import type { ActFacts } from '../accounts/act.ts'
import type { Actor } from '../accounts/events.ts'
import type { Oidc } from '../accounts/oidc.ts'
import {
  type SharedAccess,
  type Access,
  type AccessHolder,
  accessTo,
  areaOf,
  NO_ACCESS,
  type OwnerAccess,
  readableAreas,
  accessToOwner,
} from '../accounts/access.ts'
import type { LimitName } from '../http/limits.ts'
import type { Html } from './html.ts'
import { type Area, areas as allAreas } from '../contract/areas.ts'
import type { ReadType } from '../contract/reads.ts'
import type { SiteOrigin } from './site.ts'
import type { Uploads } from '../uploads/uploads.ts'
import type { RecordName } from '../store/tables.ts'

export interface SectionInNavigation {
  readonly title: string
  readonly path: string
  /**
   * Where the navigation shows it: in the bar, as another list of a section there, or in the menu of the account. A section of that
   * menu is about the account that signed in, whichever account's records the others show.
   */
  readonly menu: 'bar' | 'training' | 'locks' | 'account'
  /** The area that it shows alone. */
  readonly area?: Area
}

/** The sections of the dashboard, in the order of the navigation. */
export const sections = {
  overview: { title: 'Overview', path: '/', menu: 'bar' },
  training: { title: 'Training', path: '/training', menu: 'bar', area: 'dtt' },
  programs: { title: 'Programs', path: '/programs', menu: 'training' },
  locks: { title: 'Locks', path: '/locks', menu: 'bar', area: 'lkbx' },
  lockTemplates: { title: 'Templates', path: '/lock-templates', menu: 'locks' },
  year: { title: 'Year', path: '/year', menu: 'bar' },
  people: { title: 'People', path: '/people', menu: 'account' },
  source: { title: 'Source', path: '/source', menu: 'account' },
  keys: { title: 'API keys', path: '/keys', menu: 'account' },
  settings: { title: 'Settings', path: '/settings', menu: 'account' },
} as const satisfies Readonly<Record<string, SectionInNavigation>>
export type Section = keyof typeof sections
/** Null for what is in no section, such as the switches of the header. */
export type PageSection = Section | null

/** Whether it is about the account that signed in, whichever account's records the others show. */
export function isOwnSection(section: PageSection): boolean {
  return section !== null && sections[section].menu === 'account'
}

export interface Person {
  readonly id: number
  readonly username: string
}

export type Units = 'metric' | 'imperial'

/** How pages look and behave in this browser. Stored in cookies, because the server renders the pages. */
export interface Display {
  readonly theme: Theme
  /** Whether names, types and texts are replaced by neutral ones. */
  readonly discreet: boolean
  /** Whether the key D switches discreet mode. People who use voice control, or press keys by accident, switch it off. */
  readonly hasShortcut: boolean
}

export const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

/** Who is signed in, whose records they see, and how they see them. */
export interface Viewer extends Display {
  /** The account that signed in, or that keeps its records as a file. */
  readonly session: Pick<BrowserSession, 'accountId' | 'username'>
  /** The account whose records the pages show: the viewer's own, or one that gave access. Checked on every request. */
  readonly subject: Person
  /** Whether this browser last showed the records of an account that the viewer may not read any more. */
  readonly chosenIsGone: boolean
  readonly shared: readonly SharedAccess[]
  /** Every account of which the viewer may read records now, the viewer first. */
  readonly readable: readonly Person[]
  /** An IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string
  readonly units: Units
  /** Up to when the records of the subject are known; null if that is not known. */
  readonly asOf: number | null
  /** How many records a copy from another server has brought that was never complete; null if there is none. */
  readonly copied: number | null
}

/** The areas that the viewer may read of the account whose records the pages show. */
export function sharedAreas({ session, subject, shared }: Viewer): readonly Area[] {
  if (subject.id === session.accountId) return allAreas
  return shared.find(({ ownerId }) => ownerId === subject.id)?.areas ?? []
}

export interface SignedInViewer extends Viewer {
  readonly session: BrowserSession
}

export interface Visit {
  readonly store: Store
  readonly viewer: SignedInViewer
  /** What the viewer may read, which every query of records begins with. */
  readonly pageAccess: PageAccess
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
  readonly path: string
  /** The first page of the section, to which forms and records lead back. */
  readonly sectionStart: Link
  /** The `:id` of the path; 0 if it has none, or one that cannot be an identifier. */
  readonly id: number
  readonly query: URLSearchParams
  /** The fields of a form; empty for a GET. */
  readonly form: URLSearchParams
  readonly site: SiteOrigin
  /** The issuer with which people may also sign in. */
  readonly oidc: Oidc | undefined
  readonly cookies: ReadonlyMap<string, string>
  /** Notes that the request is refused because a limit is reached. */
  readonly limitReached: (name: LimitName) => void
  /** The viewer, as the log of events names who did something. */
  readonly actor: Actor
  readonly events: Pick<EventCounter, 'count'>
  readonly config: Config
  readonly uploads: Uploads
  /** Reads the files of the form into an upload of the account that signed in. */
  readonly receiveFiles: () => Promise<void>
  /** Lets work go on after the response. Its failure is logged, and a service that stops waits for its end. */
  readonly inBackground: (work: Promise<void>) => void
}

/** What it takes to read records for a page, or for a file that is like pages. */
export type Reader = Pick<Visit, 'store' | 'pageAccess' | 'now'> & { readonly viewer: Viewer }

/**
 * One path of the dashboard. Its handler runs only with a session, and for POST only if the form is from this site. What a page must
 * declare has no default.
 */
export type DashboardPage = (PageOfRecords | PageWithoutRecords) & {
  readonly section: PageSection
  readonly method?: 'POST'
  /** A path pattern of Fastify; an identifier is always `:id`. */
  readonly path: string
  /** Whether it needs a sign-in of the last ten minutes: without one, the viewer is asked to sign in again. */
  readonly confirms?: boolean
  /** What its form does. If the act needs such a sign-in, so does the page. */
  readonly act?: ActFacts
  /** Whether its form has files, which the handler reads with `receiveFiles`, after it has decided that they may come. */
  readonly receivesFiles?: boolean
  /** Whether its response may take longer than others, because it asks another server or works through many rows. */
  readonly takesLong?: boolean
  /** Whether its result is a file: it does not replace the page with its link, and there is no limit to how long sending it may take. */
  readonly isDownload?: boolean
  /** Whether that file is everything of the account, which is sent once at a time. */
  readonly isExport?: boolean
  /** An ApiError it throws, such as `notFound('Lock session')`, is shown as an error page. */
  readonly handler: (visit: Visit) => PageResult | Promise<PageResult>
}

interface PageOfRecords {
  /** What the log of reads says that the page reads. */
  readonly reads: ReadType
  /** The area of those records, without which a list shows that it is not shared. */
  readonly area: Area | 'both'
}

interface PageWithoutRecords {
  readonly reads: null
  readonly area?: never
}

export type PageResult = View | Redirect | Download | LiveState

export interface View {
  readonly shape: 'view'
  /** The account of the record that it shows; by default the one whose records the viewer chose. */
  readonly owner?: number | undefined
  /** Up to when the records of that account are known, if it is not the one that the viewer chose. */
  readonly asOf?: number | null
  readonly title: string
  /** The heading, if it says more than the title. */
  readonly heading?: Html | undefined
  readonly back?: Link | undefined
  readonly lead?: Html | string | undefined
  readonly actions?: Html | undefined
  readonly body: Html
  readonly status?: number
  /** Whether it waits for something: without scripts, the browser requests it again every few seconds. */
  readonly isBusy?: boolean
  readonly cookies?: readonly string[]
}

interface Link {
  readonly path: string
  readonly title: string
}

/** The validator of what open pages show. */
export interface LiveState {
  readonly shape: 'live'
  readonly etag: string
}

export interface Redirect {
  readonly shape: 'redirect'
  readonly to: string
  readonly cookies?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface Download {
  readonly shape: 'download'
  readonly file: string
  readonly type: string
  readonly body: string | AsyncIterable<string>
}

export function view(view: Omit<View, 'shape'>): View {
  return { shape: 'view', ...view }
}

export function redirect(to: string, more: Omit<Redirect, 'shape' | 'to'> = {}): Redirect {
  return { shape: 'redirect', to, ...more }
}

export function download(download: Omit<Download, 'shape'>): Download {
  return { shape: 'download', ...download }
}

/** What a page may read. It notes whose records the page reads, for the log of reads. */
export class PageAccess {
  readonly #holder: AccessHolder
  readonly #subject: number
  readonly #owners: Readonly<Record<Area, Set<number>>> = { lkbx: new Set(), dtt: new Set() }

  constructor(holder: AccessHolder, subject: number) {
    this.#holder = holder
    this.#subject = subject
  }

  /** The sessions of an account, of the subject if it is not named; none where the viewer may not read the area. */
  sessions(area: Area, owner = this.#subject): OwnerAccess {
    if (!readableAreas(this.#holder, owner).includes(area)) return NO_ACCESS
    this.note(area, owner)
    return accessToOwner(this.#holder, area, owner)
  }

  /** The templates of the subject; none where the viewer may not read the area. */
  templates(table: 'lock_template' | 'training_template'): Access {
    return { owners: [this.sessions(areaOf(table)).owner] }
  }

  /** The rows of all accounts that the viewer may read. The page must call `note` for those that it shows. */
  ofAll(table: RecordName): Access {
    return accessTo(this.#holder, table)
  }

  note(area: Area, owner: number) {
    this.#owners[area].add(owner)
  }

  *noted(): Generator<readonly [Area, number]> {
    for (const owner of this.#owners.lkbx) yield ['lkbx', owner]
    for (const owner of this.#owners.dtt) yield ['dtt', owner]
  }
}
