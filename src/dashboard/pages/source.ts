import { operatorPullCommands } from '../../accounts/first-steps.ts'
import { card, code } from '../layout/components.ts'
import { html, type Html } from '../html.ts'
import { type DashboardPage, view, type Visit } from '../page.ts'

const OF_SOURCE = { section: 'source', reads: null } as const

/** Where the records of the account that signed in come from, whichever account's records the other pages show. */
export const sourcePages: readonly DashboardPage[] = [{ ...OF_SOURCE, path: '/source', handler: showSource }]

function showSource(visit: Visit) {
  return view({
    title: 'Source',
    lead: 'Where your records come from.',
    body: html`<div class="columns">${card('From another server', fromServer(visit))}</div>`,
  })
}

function fromServer({ viewer }: Visit): Html {
  return html`
    <div class="stack">
      <p>Lockstep copies your records from a hosted service of this API, or from another Lockstep. It changes nothing there.</p>
      <p>Whoever runs this service starts the copy with these commands:</p>
      ${code(operatorPullCommands(viewer.session.accountId).join('\n'), 'commands of a pull')}
    </div>
  `
}
