import { browserName } from '../../../accounts/events.ts'
import type { SessionFacts } from '../../../accounts/browser-sessions.ts'
import { setting, table } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit } from '../../page.ts'
import { dateTime, timeAgo } from '../../text/text.ts'

export function sessionsSetting({ viewer, now }: Visit, sessions: readonly SessionFacts[]): Html {
  const own = viewer.session.id
  return setting(
    'Browsers',
    sessions.length > 1 ? 'Where this account is signed in.' : 'No other browser is signed in.',
    sessions.length > 1
      ? html`<form method="post" action="/settings/sessions"><button>Sign out others</button></form>`
      : nothing,
    table(
      'Open browser sessions',
      [
        { title: 'Browser', cell: ({ browser }) => browserName(browser) },
        { title: 'Signed in', cell: ({ created_at }) => dateTime(viewer, created_at) },
        { title: 'Last used', cell: ({ seen_at }) => timeAgo(viewer, seen_at, now) },
        {
          title: html`<span class="hidden">Action</span>`,
          numeric: true,
          cell: ({ id, browser }) =>
            id === own
              ? html`<span class="muted">This one</span>`
              : html`<form method="post" action="/settings/sessions">
                  <button class="small" name="session" value="${id}" aria-label="Sign out ${browserName(browser)}">Sign out</button>
                </form>`,
        },
      ],
      sessions,
      { look: 'stacks' },
    ),
  )
}
