import { showNotice, SIGN_IN } from './notices.js'
import { elementAt, to } from './page.js'

/** Whoever signs out leaves nothing to read in other tabs of this browser, also if the service does not answer. */
export function enableSignOut() {
  const tabs = new BroadcastChannel('sign-out')
  document.addEventListener('submit', event => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- channels are of one origin
    if (elementAt(event)?.matches(`form[action="${to('/signout')}"]`)) tabs.postMessage('')
  })
  tabs.addEventListener('message', () => {
    if (document.querySelector('main.plain') !== null) return
    document.title = 'Lockstep'
    document.body.replaceChildren()
    showNotice('You signed out in another tab.', SIGN_IN)
  })
}
