// Prints the last twelve weeks of training: sessions, repetitions, metres.
//
//   curl -sSO "$LOCKSTEP_URL/client.js" -O "$LOCKSTEP_URL/client.d.ts"
//   LOCKSTEP_URL=http://127.0.0.1:5625 LOCKSTEP_TOKEN=lks_… node weeks.ts
//
// Node 22.18 and later run TypeScript directly; before, compile it first with tsc.
import { LockstepError, makeClient } from './client.js'

const { LOCKSTEP_URL: baseUrl = 'http://127.0.0.1:5625', LOCKSTEP_TOKEN: token = '' } = process.env
const client = makeClient({ baseUrl, token })

try {
  const { buckets, timeZone, streak } = await client.get('/api/v1/dtt/stats', { bucket: 'week', ownerId: 'me' })
  for (const { date, partial, sessions, repsMeasured, distanceMeters } of buckets) {
    console.log([date + (partial ? ' (so far)' : ''), sessions, repsMeasured, distanceMeters].join('\t'))
  }
  console.log(`Weeks in ${timeZone}. Longest streak: ${streak.longestDays} days.`)
} catch (error) {
  if (!(error instanceof LockstepError)) throw error
  console.error(`${error.code}: ${error.message}`)
  process.exitCode = 1
}
