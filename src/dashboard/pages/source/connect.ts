import { operatorPullCommands } from '../../../accounts/first-steps.ts'
import { settings } from '../../../config.ts'
import { isLoopbackHost } from '../../../contract/address.ts'
import { isRefusal, Refusal } from '../../../contract/refusal.ts'
import { checkConnection, type CheckedSource } from '../../../pull/check-connection.ts'
import { changeKey, connectSource, readConnection, whyNotOffered } from '../../../pull/connections.ts'
import { isPassing } from '../../../pull/stored-key.ts'
import { code, CONNECT, facts, options, SERVER_WAY, stepsCard, way } from '../../layout/components.ts'
import { formPage, problemOf } from '../../layout/form-page.ts'
import { fieldText, html, type Html, nothing } from '../../html.ts'
import { type DashboardPage, type PageResult, redirect, type View, view, type Visit } from '../../page.ts'
import { noCookie, openedCookie, sealedCookie } from '../../sign-in/sealed-cookie.ts'
import { kindName } from '../../text/labels.ts'
import { freeText } from '../../text/names.ts'
import { hostOf } from './states.ts'

const OF_SOURCE = { section: 'source', reads: null } as const
const CHANGE = { ...OF_SOURCE, confirms: true } as const

/**
 * Connecting a source: its address and an API key are checked, the person says that they are the one whose key it is, and the
 * pull begins. A proof of identity comes before each form with a key, so that no key is sent in vain, or back into a form.
 */
export const connectPages: readonly DashboardPage[] = [
  { ...CHANGE, path: '/source/connect', handler: visit => showForm(visit) },
  { ...CHANGE, method: 'POST', path: '/source/connect', takesLong: true, handler: checkEntered },
  { ...OF_SOURCE, path: '/source/start', handler: showChecked },
  { ...CHANGE, method: 'POST', path: '/source/start', handler: start },
  { ...CHANGE, path: '/source/key', handler: visit => showKeyForm(visit) },
  { ...CHANGE, method: 'POST', path: '/source/key', takesLong: true, handler: changeEntered },
]

/** How often a source is pulled. */
const intervals = [
  [5, 'Every 5 minutes'],
  [60, 'Every hour'],
  [24 * 60, 'Every day'],
] as const
const ONCE = [0, 'Only once'] as const
const DEFAULT_MINUTES = 60

/** The minutes that a form names, if they are offered; 0 for only once. */
function intervalOf(form: URLSearchParams): number {
  const minutes = Number(form.get('every') ?? DEFAULT_MINUTES)
  return [...intervals, ONCE].some(([offered]) => offered === minutes) ? minutes : DEFAULT_MINUTES
}

/** Another way to bring records in, while nothing is connected. A server usually takes 60 requests a minute. */
export async function connectWay(visit: Visit): Promise<Html> {
  const { store, config, viewer } = visit
  const why = await whyNotOffered(store, config)
  return why === undefined
    ? way(SERVER_WAY, CONNECT)
    : way(
        SERVER_WAY,
        nothing,
        html`<p>${whyTexts[why.reason]} The setting <code>${why.setting}</code> changes that. Until then, whoever runs this service starts the copy with these commands:</p>${operatorCommands(viewer.session.accountId)}`,
      )
}

const whyTexts = {
  off: 'Whoever runs this service has switched off copying from this page.',
  role: 'This page cannot copy anything, because the service may not write records to its database.',
} as const

function operatorCommands(accountId: number): Html {
  return code(operatorPullCommands(accountId).join('\n'), 'commands of a pull')
}

interface Entered {
  readonly origin?: string
  readonly every?: number
  readonly problem?: string
  readonly status?: number
}

function keyField(described: Html): Html {
  return html`
    <label>API key <span class="muted">of that server</span>
      <input type="password" name="key" required maxlength="1000" autocomplete="off" spellcheck="false"${described}>
    </label>
  `
}

async function showForm(visit: Visit, { origin = '', every = DEFAULT_MINUTES, problem, status }: Entered = {}) {
  const { store, config, viewer } = visit
  if ((await whyNotOffered(store, config)) !== undefined) return redirect('/source')
  if ((await readConnection(store, viewer.session.accountId)) !== undefined) return redirect('/source')
  const isOnce = isPassing(config)
  const described = problem === undefined ? nothing : html` aria-describedby="problem"`
  return formPage(visit, {
    title: 'Connect a server',
    button: 'Check connection',
    waiting: 'Checking…',
    problem,
    status,
    body: html`
      <label>Address of the server
        <input name="origin" inputmode="url" required maxlength="500" autocomplete="url" autocapitalize="none" spellcheck="false" placeholder="https://history.example" value="${fieldText(origin)}"${described}>
      </label>
      ${keyField(described)}
      <label>Look for new records
        <select name="every">${options(isOnce ? [ONCE] : [...intervals, ONCE], every)}</select>
      </label>
      ${isOnce ? html`<p class="muted">Whoever runs this service has named no file for the secret that encrypts keys, so it cannot be kept current. The setting <code>${settings.secretFile.env}</code> changes that. If the service restarts before everything is copied, you enter the key again.</p>` : nothing}
    `,
    beside: stepsCard([
      'The address and the key are checked. The key is sent nowhere else.',
      'You see whose key it is and what it may read. Nothing is copied before you confirm.',
      'The key is stored encrypted, and your records are copied: about a minute for each year. Nothing is changed there.',
      ...(isOnce ? [] : ['After that, only new and changed records are fetched, as often as you choose.']),
    ]),
  })
}

async function checkEntered(visit: Visit): Promise<PageResult> {
  const { store, config, form } = visit
  const every = isPassing(config) ? ONCE[0] : intervalOf(form)
  const address = (form.get('origin') ?? '').trim()
  const origin = address === '' || address.includes('://') ? address : `https://${address}`
  const again = (problem: string, status: number) => showForm(visit, { origin, every, problem, status })
  return checked(
    visit,
    origin,
    async source => {
      const kept: KeptCheck = { ...source, every }
      const cookie = await sealedCookie(store, keptCheck(visit), kept, KEPT_MS)
      if (cookie === undefined) throw new Refusal('refused', 'the address and the key are too long')
      return redirect('/source/start', { cookies: [cookie] })
    },
    again,
  )
}

/** Checks the key of the form at a source; what is wrong with them is shown in the form. */
async function checked(
  visit: Visit,
  origin: string,
  next: (source: CheckedSource) => Promise<PageResult>,
  again: (problem: string, status: number) => Promise<PageResult>,
): Promise<PageResult> {
  const { store, config, viewer, now, form, limitReached } = visit
  try {
    const key = form.get('key') ?? ''
    return await next(await checkConnection({ store, config, now }, viewer.session.accountId, { origin, key }))
  } catch (error) {
    const isLimited = isRefusal(error, 'too-often')
    if (isLimited) limitReached('sourceChecks')
    return again(problemOf(error), isLimited ? 429 : 422)
  }
}

/** What was checked, and waits for an answer: in a cookie, so that the key is in no page. */
interface KeptCheck extends CheckedSource {
  readonly every: number
}

const KEPT_MS = 10 * 60_000

function keptCheck({ site, viewer, now }: Visit) {
  return { site, now, name: 'checked-source', subject: String(viewer.session.id) }
}

async function readCheck(visit: Visit): Promise<KeptCheck | undefined> {
  // Only `checkEntered` seals for this name.
  return (await openedCookie(visit.store, visit.cookies, keptCheck(visit))) as KeptCheck | undefined
}

async function showChecked(visit: Visit): Promise<PageResult> {
  const source = await readCheck(visit)
  if (source === undefined) return redirect('/source')
  if (!source.fits) return showUnfit(visit, source)
  const { origin, newId, every } = source
  const { protocol, hostname } = new URL(origin)
  // Programs are also read by their numbers, which sessions have.
  const hasPrograms = source.missing.includes('training-template') && source.kinds.includes('training-session')
  const missing = source.missing.filter(kind => kind !== 'training-template' || !hasPrograms)
  const title = intervals.find(([minutes]) => minutes === every)?.[1] ?? ONCE[1]
  return view({
    title: 'Whose key is it?',
    body: html`
      <form class="card narrow stack" method="post" action="/source/start">
        <p>${whose(visit, source)} ${source.id === undefined ? 'Go on only if it is yours.' : 'Is that you?'}</p>
        ${facts([
          ['Server', hostOf(visit.viewer, origin)],
          ['Copied', title],
          ['It offers', kindNames(source.kinds)],
          ...(missing.length === 0 ? [] : ([['It does not offer', kindNames(missing)]] as const)),
        ])}
        ${protocol === 'http:' && !isLoopbackHost(hostname) ? html`<p>It has no TLS: the key and your records travel unencrypted in its network.</p>` : nothing}
        ${hasPrograms ? html`<p class="muted">It has no list of programs. Those of your sessions are copied one by one.</p>` : nothing}
        ${newId === undefined ? nothing : html`<p>Your account here gets the number ${newId}, which these records carry. Nothing else about it changes.</p>`}
        <div class="buttons"><button class="primary">Yes, copy my records</button><button name="answer" value="no">No</button></div>
      </form>
    `,
  })
}

function whose({ viewer }: Visit, { id, username }: CheckedSource): string {
  if (id === undefined) return 'That server does not say whose key it is.'
  const name = freeText(viewer, username ?? '')
  return `The key belongs to ${name === '' ? `account ${id}` : name} there.`
}

function kindNames(names: readonly string[]): string {
  return names.length === 0 ? 'Nothing' : names.map(kindName).join(', ')
}

/** Neither says which account here has the number. */
function showUnfit(visit: Visit, source: KeptCheck): View {
  const { id = 0 } = source
  return view({
    title: 'They cannot be stored here',
    cookies: [noCookie(keptCheck(visit))],
    body: html`
      <div class="card narrow stack">
        <p>${whose(visit, source)} Its records carry the number ${id}, and your account here cannot take it. Nothing was stored. If they are yours, ask whoever runs this service to copy them with these commands:</p>
        ${operatorCommands(id)}
        <p><a class="button" href="/source/connect">Use another key</a></p>
      </div>
    `,
  })
}

async function start(visit: Visit): Promise<PageResult> {
  const { store, config, form, viewer, now, actor } = visit
  const cookies = [noCookie(keptCheck(visit))]
  const source = await readCheck(visit)
  if (form.get('answer') === 'no') return redirect('/source/connect', { cookies })
  if (source === undefined) return redirect('/source/connect')
  if (source.fits) {
    const { origin, key, every: everyMinutes, username } = source
    const connection = { origin, key, everyMinutes, username }
    await connectSource({ store, config }, viewer.session.accountId, connection, { actor, now })
  }
  return redirect('/source', { cookies })
}

async function showKeyForm(visit: Visit, problem?: string, status?: number): Promise<PageResult> {
  const connection = await readConnection(visit.store, visit.viewer.session.accountId)
  if (connection === undefined) return redirect('/source')
  return formPage(visit, {
    title: 'Change key',
    button: 'Check and use it',
    problem,
    status,
    body: html`
      <p>Another API key for ${visit.viewer.discreet ? 'the server' : connection.origin}. The old one is forgotten here.</p>
      ${keyField(problem === undefined ? nothing : html` aria-describedby="problem"`)}
    `,
  })
}

async function changeEntered(visit: Visit): Promise<PageResult> {
  const { store, config, viewer, now, actor } = visit
  const { accountId } = viewer.session
  const connection = await readConnection(store, accountId)
  if (connection === undefined) return redirect('/source')
  return checked(
    visit,
    connection.origin,
    async ({ fits, key }) => {
      if (!fits) throw new Refusal('refused', 'the key belongs to another account there')
      await changeKey({ store, config }, accountId, key, { actor, now })
      return redirect('/source')
    },
    (problem, status) => showKeyForm(visit, problem, status),
  )
}
