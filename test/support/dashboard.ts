import type { Page } from 'playwright-core'
import { formatTimestamp } from '../../src/contract/time.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { storePassword } from '../../src/accounts/passwords.ts'
import { startService, type TestService } from './service.ts'

/** The password of all accounts that can sign in. */
export const PASSWORD = 'correct horse battery'

/** Its hash at the lowest cost: the usual one takes as long as the rest of a short test. */
const PASSWORD_HASH = '$argon2id$v=19$m=8,t=1,p=1$AQEBAQEBAQEBAQEBAQEBAQ$OFV8TrrEQliqqHF4+jF1XekyKTLvLxAcRxwpKMBoFjc'

/** A service on the sample: alex and robin may see each other, sam is a stranger. Alex has two keys. */
export async function sampleService(settings: Record<string, string> = {}): Promise<TestService> {
  const lines = [...sampleArchive(Date.now())].map(line => JSON.parse(line) as object)
  const service = await startService(lines, settings)
  await allowSignIn(service, 'alex')
  await service.token('alex', { name: 'Home Assistant' })
  await service.token('alex', { name: 'Notebook', scopes: ['dtt:read'], expiresAt: Date.now() + 40 * 86_400_000 })
  return service
}

/** The sample with a session of the current moment, for tests of what is not over yet: on Mondays, the week has none before seven. */
export async function sampleOfThisWeek(): Promise<TestService> {
  const service = await sampleService()
  const last = [...sampleArchive(Date.now())]
    .map(line => JSON.parse(line) as { kind: string; data: TrainingLine })
    .findLast(({ kind }) => kind === 'training-session')
  if (last === undefined) throw new Error('the sample has no training session')
  const { data } = last
  const created_at = formatTimestamp(Math.floor(Date.now() / 1000) * 1000)
  const TrainerSegment = data.TrainerSegment.map(segment => ({ ...segment, id: segment.id + 1_000_000 }))
  await service.import([{ ...last, data: { ...data, id: data.id + 1_000_000, created_at, TrainerSegment } }])
  return service
}

interface TrainingLine {
  readonly id: number
  readonly TrainerSegment: readonly { readonly id: number }[]
}

/** Gives an account its password. */
export async function allowSignIn({ store }: Pick<TestService, 'store'>, username: string) {
  const { id } = await store.db
    .selectFrom('account')
    .select('id')
    .where('username', '=', username)
    .executeTakeFirstOrThrow()
  await store.db.transaction().execute(db => storePassword(db, id, PASSWORD_HASH))
}

/** Signs in by the form, in a browser. */
export async function signIn(page: Page, url: string, username = 'alex') {
  await page.goto(`${url}/signin`)
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(url => url.pathname !== '/signin')
}

/** Signs in without loading a page: the browser gets the cookie. For tests of what comes after. */
export async function startSession(page: Page, url: string, username = 'alex') {
  const someone = await visitorAs(url, username)
  await page.context().addCookies([...someone.cookies].map(([name, value]) => ({ name, value, url })))
}

/** Text as somebody reads it, who does not see where a line may not break. */
export function asRead(text: string): string {
  return text.replaceAll('\u00a0', ' ').replaceAll('\u2060', '')
}

/** A client without a browser that stores cookies and sends the origin of forms, as browsers do. */
export interface Visitor {
  readonly cookies: Map<string, string>
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Seen>
  post(path: string, fields?: Fields, headers?: Readonly<Record<string, string>>): Promise<Seen>
  signIn(username: string, password?: string): Promise<Seen>
}

export interface Seen {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Where a redirect leads. */
  readonly to: string | null
}

type Fields = Readonly<Record<string, string>> | [string, string][]

/** `always` are headers of every request. */
export function visitor(url: string, always: Readonly<Record<string, string>> = {}): Visitor {
  const cookies = new Map<string, string>()

  const send = async (path: string, init: RequestInit, headers: Readonly<Record<string, string>>): Promise<Seen> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url + path, {
      ...init,
      redirect: 'manual',
      headers: { Accept: 'text/html', ...always, ...(cookie === '' ? {} : { Cookie: cookie }), ...headers },
    })
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (set.includes('Max-Age=0')) cookies.delete(name)
      else cookies.set(name, value)
    }
    const text = await response.text()
    const isPage = response.headers.get('Content-Type')?.startsWith('text/html') === true
    return {
      status: response.status,
      headers: response.headers,
      text: isPage ? asRead(text) : text,
      to: response.headers.get('Location'),
    }
  }

  const self: Visitor = {
    cookies,
    get: (path, headers = {}) => send(path, {}, headers),
    post: (path, fields = {}, headers = {}) =>
      send(
        path,
        { method: 'POST', body: new URLSearchParams(fields) },
        { 'Sec-Fetch-Site': 'same-origin', ...headers },
      ),
    signIn: (username, password = PASSWORD) => self.post('/signin', { username, password }),
  }
  return self
}

/** Somebody who has signed in, to an account that has its password. */
export async function visitorAs(url: string, username: string): Promise<Visitor> {
  const person = visitor(url)
  await person.signIn(username)
  return person
}

/** Gives an account its password, and signs in to it. */
export async function signInAs(service: TestService, username: string): Promise<Visitor> {
  await allowSignIn(service, username)
  return visitorAs(service.url, username)
}

/** Makes every sign-in this old. */
export function ageSignIns({ store }: Pick<TestService, 'store'>, minutes: number) {
  const created_at = Date.now() - minutes * 60_000
  return store.db.updateTable('browser_session').set({ created_at, confirmed_at: null }).execute()
}

/** The numbers of a column of the figures that pictures are drawn from, or the card of this id; null where nothing is known. */
export function figures(page: string, column: string, card = ''): (number | null)[] {
  const from = page.slice(card === '' ? 0 : page.indexOf(`id="${card}"`))
  const tables = [...from.matchAll(/<details class="figures"[^]*?<table[^>]*>([^]*?)<\/table>/g)]
  const table = tables.find(([, text = '']) => text.includes(`<th scope="col">${column}<`))?.[1] ?? ''
  const titles = [...table.matchAll(/<th scope="col">([^<]*)/g)].map(([, title = '']) => title)
  const index = titles.indexOf(column)
  if (index === -1) return []
  return [...table.matchAll(/<tr data-x[^>]*>([^]*?)<\/tr>/g)].map(([, row = '']) => {
    const number = /-?[\d.]+/.exec((cellTexts(row)[index] ?? '').replaceAll(',', ''))?.[0]
    return number === undefined ? null : Number(number)
  })
}

/** The filled boxes of a look in a picture, each as its left, top, right and bottom edge in thousandths. */
export function boxes(page: string, picture: string, look: string): number[][] {
  const [, card = ''] = new RegExp(`<section[^>]* id="${picture}"([^]*?)</section>`).exec(page) ?? []
  const rects = card.matchAll(
    new RegExp(`<rect class="${look}" x="([^"]*)%" y="([^"]*)%" width="([^"]*)%" height="([^"]*)%"`, 'g'),
  )
  return [...rects].map(found => {
    const [x = 0, y = 0, width = 0, height = 0] = found.slice(1).map(text => Number(text) * 10)
    return [x, y, x + width, y + height]
  })
}

/** The address of the page of this year or of the one before it, whichever has had more days. */
export function fullerYear(): string {
  const now = new Date()
  return `/year/${now.getUTCFullYear() - (now.getUTCMonth() < 6 ? 1 : 0)}`
}

/** The values of the figures of a page by what they are: `reps 2026-09-07/2026-11-27`. */
export function dataOf(page: string): Map<string, number> {
  const found = [...page.matchAll(/<data value="([^"]*)" data-of="([^"]*)">/g)]
  return new Map(found.map(([, value, of = '']) => [of, Number(value)]))
}

/** The texts of the tiles of a page by their titles. */
export function tilesOf(page: string): Map<string, string> {
  const tiles = [...page.matchAll(/<div class="stat(?: main)?"><dt>([^<]+)<\/dt><dd>(?:<data[^>]*>)?([^<]+)/g)]
  return new Map(tiles.map(([, name = '', value = '']) => [name, value.replaceAll(/\s/g, ' ')]))
}

/** The rows of a table, or of the figures of a picture, as their markup, in their order; undefined if the page has none. */
export function tableRows(page: string, id: string): string[] | undefined {
  const [, body] = new RegExp(`<(?:table|section)[^>]* id="${id}"[^>]*>[^]*?<tbody>([^]*?)</tbody>`).exec(page) ?? []
  return body === undefined ? undefined : [...body.matchAll(/<tr[^>]*>([^]*?)<\/tr>/g)].map(([, row = '']) => row)
}

/** The text of each cell of such a row. */
export function cellTexts(row: string): string[] {
  return [...row.matchAll(/<td[^>]*>([^]*?)(?=<\/?td|$)/g)].map(([, cell = '']) =>
    cell.replaceAll(/<[^>]*>/g, '').trim(),
  )
}

/** The text of a page: markup becomes single spaces. */
export function shownText({ text }: Pick<Seen, 'text'>): string {
  const [, main = text] = /<main[^>]*>([^]*)<\/main>/.exec(text) ?? []
  return main
    .replaceAll(/<script[^]*?<\/script>/g, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll(/\s+/g, ' ')
}
