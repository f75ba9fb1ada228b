import { browserName } from '../../../accounts/events.ts'
import type { SessionFacts } from '../../../accounts/browser-sessions.ts'
import { setting, table } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit } from '../../page.ts'
import { dateTime, timeAgo } from '../../text/text.ts'

export function sessionsSetting({ viewer, now }: Visit, sessions: readonly SessionFacts[]): Html {
  const own = viewer.session.id
  const isAlone = sessions.length < 2
  return setting(
    'Browsers',
    isAlone ? 'No other browser is signed in.' : 'Where this account is signed in.',
    isAlone ? nothing : html`<form method="post" action="/settings/sessions"><button>Sign out others</button></form>`,
    table(
      'Open browser sessions',
      [
        {
          title: 'Browser',
          line: 'first',
          cell: ({ id, browser }) =>
            html`${browserName(browser)}${id === own ? html` <span class="state">This one</span>` : nothing}`,
        },
        {
          title: 'Signed in',
          line: 'second',
          before: 'signed in ',
          cell: ({ created_at }) => dateTime(viewer, created_at),
        },
        { title: 'Last used', line: 'second', before: 'used ', cell: ({ seen_at }) => timeAgo(viewer, seen_at, now) },
        {
          title: html`<span class="hidden">Action</span>`,
          numeric: true,
          cell: ({ id, browser }) =>
            id === own
              ? nothing
              : html`<form method="post" action="/settings/sessions">
                  <button class="small" name="session" value="${id}" aria-label="Sign out ${browserName(browser)}">Sign out</button>
                </form>`,
        },
      ],
      sessions,
    ),
  )
}
