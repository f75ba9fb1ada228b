import type { ListedKey } from '../../../accounts/api-keys.ts'
import { dateText } from '../../text/text.ts'
import { code, curlLine } from '../../layout/components.ts'
import { html } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { view, type Visit } from '../../page.ts'

/** The page that shows a new key, once. */
export function showNewKey(visit: Visit, secret: string, key: ListedKey) {
  const { viewer, baseUrl } = visit
  const path = testPathOf(key)
  return view({
    title: 'Your new key',
    back: visit.sectionStart,
    body: html`
      <div class="card narrow" data-once>
        <div class="stack">
          <p><strong>${recordName(viewer, 'key', key)}</strong> is ready. The key is shown only once: copy it now. It ${
            key.expires_at === null ? 'never expires' : `expires on ${dateText(viewer, key.expires_at - 1)}`
          }.</p>
          ${code(secret, 'Key', true)}
          <div><h2>For an .env file</h2>${code(`LOCKSTEP_TOKEN=${secret}`, 'Line for an .env file')}</div>
          <div><h2>In a shell</h2>${code(curlLine(baseUrl, path, secret), 'curl command')}</div>
          <p class="small"><a href="/keys/examples" target="_blank">Examples</a> for curl, Home Assistant, Python and TypeScript open in a new tab.</p>
          <div class="row needs-script">
            <button type="button" data-test="${path}">Test it now</button>
            <div data-test-result role="status"></div>
          </div>
          <div class="buttons"><a class="button primary" href="/keys">Done</a></div>
        </div>
      </div>
    `,
  })
}

/** A path that the key may read. */
function testPathOf({ scopes }: ListedKey): string {
  if (scopes.includes('dtt:read')) return '/api/v1/dtt/sessions/latest'
  return scopes.includes('lkbx:read') ? '/api/v1/lkbx/sessions/latest' : '/api/v1/status'
}
