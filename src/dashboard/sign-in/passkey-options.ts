import type { FastifyInstance, FastifyRequest } from 'fastify'
import { findInvitation } from '../../accounts/invitations.ts'
import { creationOptions, requestOptions } from '../../accounts/passkeys.ts'
import { MAX_CHALLENGE_MS, type PasskeyPurpose, passkeyPurposes } from '../../accounts/passkey-challenges.ts'
import { hashSecret } from '../../accounts/secrets.ts'
import { notFound } from '../../contract/errors.ts'
import { problemOf } from '../layout/form-page.ts'
import { isFresh } from './reauthentication.ts'
import type { DashboardOptions } from '../options.ts'
import { siteOriginOf } from '../site.ts'
import { passkeyCookie, sealedCookie } from './sealed-cookie.ts'
import { formFields, sessionOf } from '../visit.ts'

/** What scripts request before a browser makes or uses a passkey: its options, and a cookie with their challenge. */
export function registerPasskeyOptions(scope: FastifyInstance, { store, config }: DashboardOptions) {
  const optionsFor = async (request: FastifyRequest, purpose: PasskeyPurpose, form: URLSearchParams) => {
    const { now } = request.context
    const site = siteOriginOf(request.context, config)
    const { rpId, origin } = site
    if (rpId === undefined) throw notFound('Passkey')
    const at = { rpId, origin }
    const name = (form.get('name') ?? '').trim()
    if (purpose === 'signin') return { site, subject: '', created: await requestOptions(at) }
    if (purpose === 'invitation') {
      const secret = form.get('invitation') ?? ''
      const invited = await findInvitation(store, secret, now)
      if (invited?.id === undefined) throw notFound('Invitation')
      return { site, subject: hashSecret(secret), created: await creationOptions(store, invited, at, name) }
    }
    const session = await sessionOf(store, request, site)
    // A passkey is created only after a recent sign-in.
    if (session === undefined || !isFresh(session, now)) throw notFound('Session')
    const { accountId, username } = session
    const subject = String(session.id)
    return { site, subject, created: await creationOptions(store, { id: accountId, username }, at, name) }
  }

  scope.post('/passkeys/options', async (request, reply) => {
    const form = formFields(request)
    const purpose = passkeyPurposes.find(name => name === form.get('purpose'))
    if (purpose === undefined) throw notFound('Purpose')
    reply.type('application/json; charset=utf-8')
    const found = await optionsFor(request, purpose, form).catch(problemOf)
    if (typeof found === 'string') return reply.code(422).send(JSON.stringify({ problem: found }))
    const { site, subject, created } = found
    const [options, challenge] = created
    const place = { site, name: passkeyCookie(purpose), subject, now: request.context.now }
    const cookie = await sealedCookie(store, place, challenge, MAX_CHALLENGE_MS)
    if (cookie !== undefined) reply.header('Set-Cookie', cookie)
    return reply.send(JSON.stringify(options))
  })
}
