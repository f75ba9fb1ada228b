import { MAX_LISTED_SIGN_INS, type SignIn } from '../../accounts/sign-ins.ts'
import { table } from '../components.ts'
import { html, type Html } from '../html.ts'
import type { Visit } from '../page.ts'
import { dateTime } from '../text.ts'
import { browserName } from './settings-sessions.ts'

export function signInTable({ viewer }: Visit, signIns: readonly SignIn[]): Html {
  if (signIns.length === 0) return html`<p class="muted">Nobody has signed in since this list began.</p>`
  return html`
    ${table(
      'Sign-ins',
      [
        { title: 'When', cell: ({ at }) => dateTime(viewer, at) },
        { title: 'How', cell: ({ way }) => ways[way] },
        {
          title: 'Browser',
          cell: ({ way, browser }) => (way === 'invitation-made' ? 'Command line' : browserName(browser)),
        },
      ],
      signIns,
      undefined,
      { stacks: true },
    )}
    <p class="muted">The last ${MAX_LISTED_SIGN_INS} sign-ins of the last year. If you do not recognise one, sign out the other browsers, remove passkeys and links that are not yours, and change your password.</p>
  `
}

const ways: Readonly<Record<SignIn['way'], string>> = {
  password: 'Password',
  passkey: 'Passkey',
  oidc: 'Linked sign-in',
  'invitation-made': 'Invitation made by the operator',
  'invitation-used': 'Invitation used, password chosen',
  'invitation-passkey': 'Invitation used, passkey added',
  'invitation-oidc': 'Invitation used, sign-in linked',
}
