/** Conveniences of the pages of those who are not signed in, which load no other script. */

import { enablePasskeys } from './passkeys.js'

enablePasskeys()

for (const field of document.querySelectorAll('input[data-time-zone]')) {
  if (field instanceof HTMLInputElement) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone
}
