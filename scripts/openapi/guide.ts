import { errors } from '../../src/contract/errors.ts'
import { EXAMPLE_ADDRESS } from '../../src/openapi/document.ts'

export type SampleName = 'list' | 'record' | 'unchanged' | 'error' | 'loop'

/** The introduction of the reference, in Markdown, with examples where `sample` has them. */
export const makeGuide = (
  sample: (name: SampleName) => string = () => '',
) => `Programs read lock and training history with this API. Everything below \`/api/v1\` is \`GET\`, or \`HEAD\` for the headers alone. No API key can
change a record.

\`\`\`sh
curl -H "Authorization: Bearer $LOCKSTEP_TOKEN" \\
  '${EXAMPLE_ADDRESS}/api/v1/dtt/sessions?ownerId=me&limit=10'
\`\`\`

## Authentication

Send \`Authorization: Bearer <API key>\` with every request, and never put the key into the URL. An API key belongs to one account and reads what
that account can read. The account needs a subscription tier, which the operator sets; Lockstep charges nothing. A key has the scopes that were chosen when it was created:

- \`lkbx:read\`: locks, their templates, devices and statistics.
- \`dtt:read\`: training, its programs, devices and statistics.
- \`status:read\`: the status and all statistics. A key with both scopes above does not need it.
- \`shared:access\`: in these areas also the records of other accounts that gave this account access.

## Whose records

A list has the records of the caller, and the records of every account that gave the caller access. A list of devices has only the devices of
the caller. \`ownerId\` selects one account; \`ownerId=me\` is the caller. \`targetUserId\` is a deprecated name of \`ownerId\`. A record that
the caller may not read gets the same response as a record that does not exist.

## Responses

Every response is JSON: \`{"ok":true,"data":…}\`, or \`{"ok":false,…}\` with a \`code\` that says what is wrong.
${sample('record')}
- **Units.** Lengths of time are seconds, distances metres, grades percent, usually 0 to 100. Other units are named in the description of the field.
- **Times** are UTC, \`2026-02-16T18:00:00Z\`, with milliseconds only if they are not zero.
- **Days.** In a list, \`from\` and \`to\` are days in UTC or exact times. In statistics they are days in the time zone \`tz\`.
- **Integers** without other bounds are at most 9007199254740991, so every JSON reader holds them exactly.
- **Null and absent.** \`null\` means that there is no value. An optional field is absent if the source of the record did not have it.
- **Names** of fields, with their casing, are as in the hosted service, so that its integrations work. Pages call a training template a program.

## Paging

Lists are sorted newest first, or by id where their description says so. Records with equal times are sorted by id, so the order never changes
between requests. \`limit\` is 50 by default and at most 100.

**To read a whole list, use a cursor.** Send an empty \`cursor=\` first, then the \`nextCursor\` of each response until it is \`null\`. You get
every record exactly once, even if records are added while you page. A cursor does not expire. It belongs to one path and one set of filters.

\`\`\`sh
curl -H "Authorization: Bearer $LOCKSTEP_TOKEN" \\
  '${EXAMPLE_ADDRESS}/api/v1/dtt/sessions?ownerId=me&limit=100&cursor='
\`\`\`

**To jump to a page, use an offset.** \`offset=100\` skips 100 records. If records are added while you page, pages can repeat records.

The \`Link\` header has the address of the next page (\`rel="next"\`) and, by offset, of the previous one (\`rel="prev"\`), if they have records.
${sample('list')}${sample('loop')}
## Conditional requests

Every 200 has an \`ETag\` that differs if the body differs. Store it with the response and send it as \`If-None-Match\`. While nothing has changed,
the response is 304 without a body, which does not count against the rate limit. The \`ETag\` of a list can also change with records that the
page does not show.
${sample('unchanged')}
\`\`\`sh
curl --etag-save etag.txt --etag-compare etag.txt -o sessions.json \\
  -H "Authorization: Bearer $LOCKSTEP_TOKEN" \\
  '${EXAMPLE_ADDRESS}/api/v1/dtt/sessions?ownerId=me'
\`\`\`

Every response has \`Cache-Control: no-store\`: proxies must not store it.

## Limits

By default, an API key may send 600 requests in 60 seconds and 32 at the same time. \`RateLimit-Policy\` states the limit
and its window, \`RateLimit\` how many requests are left, and after how many seconds the window ends. Failed attempts are limited by address. Beyond a limit the
response is 429, and if the service is busy or its database down it is 503. Each process of the service counts on its own, so a key can get more
than the headers say.

## Compatibility

The version is in the path. Within it, fields, endpoints, parameters, error codes, and values of enumerations can be added: ignore what you do not
know. Nothing that is documented is removed or changes its meaning.

## Errors

Programs should read the \`code\`; the text may change. \`requestId\` is also in the header \`X-Request-Id\`: quote it when you report a problem. A
parameter that is unknown, repeated or out of bounds is an error, never ignored.
${sample('error')}
| Status | Code | When |
| --- | --- | --- |
${Object.entries(errors)
  .map(([code, { status, meaning }]) => `| ${status} | \`${code}\` | ${meaning} |`)
  .join('\n')}
`
