/** Conveniences of every page. All pages work without this script. */

import { enableUpdates } from './live-updates.js'
import { enableCopying } from './copy.js'
import { enableDisplay } from './display.js'
import { keepFocusOnSteps, restoreFocus } from './focus.js'
import { enableForms } from './forms.js'
import { enableKeyTest } from './key-test.js'
import { enableKeyboard } from './keyboard.js'
import { enablePasskeys } from './passkeys.js'
import { enablePictures } from './pictures.js'
import { enableSignOut } from './sign-out.js'
import { elementAt } from './page.js'

enableCopying()
enableKeyTest()
enableDisplay()
enableForms()
enableKeyboard()
enablePasskeys()
enablePictures()
enableSignOut()
enableUpdates()
keepFocusOnSteps()
restoreFocus()

for (const field of document.querySelectorAll('input[data-time-zone]')) {
  if (field instanceof HTMLInputElement) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone
}

document.addEventListener('keydown', event => {
  if (event.key !== 'Escape') return
  for (const menu of openMenus()) {
    menu.open = false
    menu.querySelector('summary')?.focus()
  }
})

for (const type of ['click', 'focusin']) {
  document.addEventListener(type, event => {
    const current = elementAt(event)?.closest('.menu')
    for (const menu of openMenus()) if (menu !== current) menu.open = false
  })
}

function openMenus() {
  return [...document.querySelectorAll('details.menu[open]')].filter(menu => menu instanceof HTMLDetailsElement)
}
