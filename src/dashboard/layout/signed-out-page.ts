import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseCookies } from '../site.ts'
import { readDisplay } from '../visit.ts'
import { html, type Html } from '../html.ts'
import { signedOutPage } from './layout.ts'

/** Sends a page for somebody who is not signed in. */
export function sendSignedOutPage({ headers }: FastifyRequest, reply: FastifyReply, body: Html, title = 'Sign in') {
  const display = readDisplay(parseCookies(headers.cookie))
  return reply.type('text/html; charset=utf-8').send(signedOutPage(display, title, body).toString())
}

/** Explains why signing in is off over this connection. */
export const insecureExplanation = html`
  <div class="card stack">
    <h1>Sign in</h1>
    <p>This connection is not encrypted, and a password sent over it could be read on the way. Signing in is therefore off here.</p>
    <p>Use one of these instead:</p>
    <ul>
      <li>put a proxy with TLS in front of the service and set <code>LOCKSTEP_PUBLIC_URL</code> to its <code>https://</code> address;</li>
      <li>open the dashboard on the machine itself, or through an SSH tunnel, as <code>http://localhost</code>;</li>
      <li>on a network you trust, set <code>LOCKSTEP_INSECURE_HTTP=on</code>.</li>
    </ul>
  </div>
`
