import type { Store } from '../store/index.ts'
import type { BrowserSession } from '../accounts/browser-sessions.ts'
import type { Html } from './html.ts'
import type { Display } from './display.ts'

/** The parts of the dashboard, as the navigation names them. */
export const sections = {
  overview: { title: 'Overview', path: '/' },
  training: { title: 'Training', path: '/training' },
  programs: { title: 'Programs', path: '/programs' },
  locks: { title: 'Locks', path: '/locks' },
  lockTemplates: { title: 'Lock templates', path: '/lock-templates' },
  keys: { title: 'API keys', path: '/keys' },
  settings: { title: 'Settings', path: '/settings' },
} as const
export type Section = keyof typeof sections

export interface Person {
  readonly id: number
  readonly username: string
}

export type Units = 'metric' | 'imperial'

/** Who looks, at whose records, and how they want to see them. */
export interface Viewer extends Display {
  /** The account that signed in, and its session in this browser. */
  readonly session: BrowserSession
  /** The account whose records the pages show: the viewer, or somebody who gave access. Checked for this request. */
  readonly subject: Person
  /** Every account whose records the viewer may read now, the viewer first. */
  readonly readable: readonly Person[]
  /** An IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string
  readonly units: Units
}

/** A request for a page by somebody who is signed in. */
export interface Visit {
  readonly store: Store
  readonly viewer: Viewer
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
  readonly path: string
  /** The identifier in the place of `:id`; 0 where the path has none, or none that can be one. */
  readonly id: number
  readonly query: URLSearchParams
  /** What a form sent; empty for a GET. */
  readonly form: URLSearchParams
  /** Where this service is reached, for lines to copy. */
  readonly baseUrl: string
  /** Whether cookies are to travel over TLS only. */
  readonly secure: boolean
}

/** One address of the dashboard. It is never reached without a session; a POST never from another site. */
export interface Page {
  readonly method?: 'POST'
  /** As Fastify reads it; an identifier is always `:id`. */
  readonly path: string
  /** Throws ApiError, such as `notFound('Lock session')`, for what is shown as a page of its own. */
  readonly answer: (visit: Visit) => Answer | Promise<Answer>
}

export type Answer = View | Redirect | Download

export interface View {
  readonly kind: 'view'
  readonly section: Section
  /** What stands in the tab and above the content. */
  readonly title: string
  /** What stands above the title: a way back. */
  readonly back?: { readonly path: string; readonly title: string } | undefined
  /** One line below the title. */
  readonly lead?: Html | string | undefined
  /** Beside the title: at most a few buttons. */
  readonly actions?: Html | undefined
  readonly body: Html
  /** Whether tables become charts here, which loads Plot and lets it set styles. */
  readonly charts?: boolean
  readonly status?: number
}

export interface Redirect {
  readonly kind: 'redirect'
  readonly to: string
  readonly cookies?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export interface Download {
  readonly kind: 'download'
  readonly file: string
  readonly type: string
  readonly body: string | AsyncIterable<string>
}

export function view(view: Omit<View, 'kind'>): View {
  return { kind: 'view', ...view }
}

/** Where a form leads when it is done. */
export function redirect(to: string, more: Omit<Redirect, 'kind' | 'to'> = {}): Redirect {
  return { kind: 'redirect', to, ...more }
}

export function download(download: Omit<Download, 'kind'>): Download {
  return { kind: 'download', ...download }
}

/** `locks-2026-02-16.csv`, with the date of the download. */
export function datedFile(name: string, { now }: Visit, extension: string): string {
  return `${name}-${new Date(now).toISOString().slice(0, 10)}.${extension}`
}
