/** What makes pages handier. Every page does its work without this. */

document.documentElement.classList.add('script')

for (const field of document.querySelectorAll('[data-time-zone]')) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone
}

document.addEventListener('change', ({ target }) => {
  const form = target.closest('[data-submit-on-change]')
  form?.requestSubmit()
})

// Theme and discreet mode change in place, so that nobody loses where they were.
document.addEventListener('submit', event => {
  const form = event.target
  if (!form.matches('[data-display]') || document.querySelector('[data-once]') !== null) return
  event.preventDefault()
  void switchDisplay(form, event.submitter)
})

async function switchDisplay(form, submitter) {
  const fields = new URLSearchParams(new FormData(form, submitter))
  await fetch(form.action, { method: 'POST', body: fields, redirect: 'manual' })
  location.reload()
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
  if (event.key === 'Escape') closeMenus()
  if (event.target.closest('input, select, textarea, dialog, [contenteditable]') !== null) return
  document.querySelector(`[data-shortcut="${CSS.escape(event.key.toLowerCase())}"]`)?.click()
})

document.addEventListener('click', ({ target }) => {
  const open = target.closest('.menu')
  for (const menu of document.querySelectorAll('.menu[open]')) if (menu !== open) menu.open = false
})

function closeMenus() {
  for (const menu of document.querySelectorAll('.menu[open]')) {
    menu.open = false
    menu.querySelector('summary').focus()
  }
}

document.addEventListener('click', ({ target }) => {
  const button = target.closest('[data-copy]')
  if (button !== null) void copy(button)
})

async function copy(button) {
  const text = button.closest('.code').querySelector('code').textContent
  const said = button.textContent
  button.textContent = (await put(text)) ? 'Copied' : 'Select and copy'
  setTimeout(() => {
    button.textContent = said
  }, 2000)
}

/** Browsers give the clipboard to pages over TLS, or on this machine; elsewhere an old way may still do. */
async function put(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    // oxlint-disable-next-line typescript/no-deprecated -- there is nothing else without TLS
    const done = document.execCommand('copy')
    field.remove()
    return done
  }
}
