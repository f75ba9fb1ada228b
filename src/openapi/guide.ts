import { errors } from '../contract/errors.ts'

/** The introduction of the reference, in Markdown, with commands for a service at this address. */
export function guideOf(baseUrl = 'http://127.0.0.1:5625'): string {
  return GUIDE.replaceAll(ADDRESS, baseUrl)
}

const ADDRESS = '<address>'

const GUIDE = `Reads lock and training history. Everything below \`/api/v1\` is \`GET\`, or \`HEAD\` for the same headers without a body, and
nothing that carries an API key can change a record.

## Authentication

Send \`Authorization: Bearer <API key>\` with every request. An API key belongs to one account and grants what that account can
read: its own records, and the records of the accounts that gave it access. It has the scopes it was created with
(\`lkbx:read\`, \`dtt:read\`; \`status:read\` alone reaches the status, the statistics and \`/me\`), and its account needs a
subscription tier. A key in a URL is refused.

\`\`\`sh
curl -H "Authorization: Bearer $LOCKSTEP_TOKEN" \\
  '${ADDRESS}/api/v1/dtt/sessions?ownerId=me&limit=10'
\`\`\`

## Responses

Every response is JSON: \`{"ok":true,"data":…}\`, or \`{"ok":false,…}\` with a \`code\` that says why the request was refused. Records have
their fields in a fixed order, and never more than those listed here.

- **Units.** Durations and break lengths are seconds, distances metres, grades percent, usually 0 to 100. Where a field has
  another unit, its description says so.
- **Timestamps** are UTC, \`2026-02-16T18:00:00Z\`, with milliseconds only when they are not zero.
- **Integers** without other bounds are at most 9007199254740991 in size, so every JSON reader holds them exactly.
- **Kinds and states** are open sets: expect values that are not listed.
- **Null and absent.** \`null\` means that there is no value. A field that is not required is absent where the source of the
  record did not have it.
- A record that the caller may not see gets the same response as one that does not exist.

## Whose records

A list mixes the records of the caller with those of the accounts that gave the caller access; the lists of devices hold those
of the caller alone. \`ownerId\` names one account, and \`ownerId=me\` is the caller. \`targetUserId\` is another name for it.

## Pages

Lists are newest first, and by identifier where their description says so; the order is complete, so equal times do not
make rows change places. There are two ways to read a whole list:

- **By offset.** \`limit\` and \`offset\`; the response repeats both. Rows that are added meanwhile move the others, so pages of
  a growing list can repeat rows.
- **By cursor.** Start with an empty \`cursor=\`, then send each \`nextCursor\` until it is \`null\`, with the same filters. Every
  row that keeps its place appears exactly once, whatever is added meanwhile.

The \`Link\` header has the addresses of the next page (\`rel="next"\`) and, by offset, of the previous one (\`rel="prev"\`), each
only where that page has rows. A page past the end is empty.

## Validators

Every 200 has an \`ETag\` that differs whenever the body differs. A client that stores a response sends it back as
\`If-None-Match\` and gets 304 without a body while nothing has changed, which does not count against its rate limit. The \`ETag\` of
a list can also change when records change that the page does not show.

\`\`\`sh
curl --etag-save etag.txt --etag-compare etag.txt -o sessions.json \\
  -H "Authorization: Bearer $LOCKSTEP_TOKEN" \\
  '${ADDRESS}/api/v1/dtt/sessions?ownerId=me'
\`\`\`

The first run stores the response and its validator; later runs transfer it again only when it has changed. This is for
clients that store responses themselves. HTTP caches must not: responses are private to an account, and carry
\`Cache-Control: no-store\`.

## Limits

Requests are limited for each API key, and failed attempts for each address. \`RateLimit-Policy\` states the limit and its
window in seconds, \`RateLimit\` how many requests are left and for how long. Beyond it the response is 429 with
\`Retry-After\`. Limits are counted in each process of the service, so where several of them share the work, a key can
get more than the headers say.

## Errors

The \`code\` of an error is part of the contract, its text is not. \`requestId\` is also in the header \`X-Request-Id\`: quote it
when you report a problem. A parameter that is unknown, repeated or out of bounds is refused, never ignored.

${Object.entries(errors)
  .map(([code, { status, meaning }]) => `- ${status} \`${code}\`: ${meaning}`)
  .join('\n')}
`
