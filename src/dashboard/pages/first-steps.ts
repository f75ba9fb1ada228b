import { firstAccountCommands } from '../../accounts/first-steps.ts'
import { inlineCode } from '../components.ts'
import { html } from '../html.ts'

/** Shown instead of the sign-in form while there is no account. */
export const firstSteps = html`
  <div class="card stack">
    <h1>There are no accounts yet</h1>
    <p>Run these commands, in this order, where this service is installed:</p>
    <ol class="stack">
      ${firstAccountCommands.map(({ command, what }) => html`<li>${inlineCode(command)}<br><span class="muted">${what}</span></li>`)}
    </ol>
    <p class="muted small">If you do not know your number at the other server, begin with <code>pull</code>: it adds the account, and <code>./lockstep account list</code> shows the name. If your records are in an archive, <code>./lockstep import</code> adds its accounts. Without records, leave out ${inlineCode('--id')}.</p>
  </div>
`
