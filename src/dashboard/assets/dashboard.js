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

// ---- Dialogs: pages with a form that open over the one they were called from -----------------------------------------

document.addEventListener('click', event => {
  const { target } = event
  if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return
  const opener = target.closest('a[data-dialog]')
  if (opener !== null) {
    event.preventDefault()
    void openDialog(opener)
    return
  }
  const dialog = target.closest('dialog')
  if (dialog === null) return
  if (target.closest('[data-close]') !== null) {
    event.preventDefault()
    dialog.close()
  } else if (target.closest('[data-done]') !== null) {
    event.preventDefault()
    location.assign('/keys')
  }
})

document.addEventListener('click', ({ target }) => {
  const button = target.closest('[data-fill]')
  if (button === null) return
  const field = button.closest('form').elements[button.dataset.fill]
  field.value = button.textContent
  field.focus()
})

async function openDialog(opener) {
  const dialog = document.createElement('dialog')
  dialog.setAttribute('aria-labelledby', 'dialog-title')
  if (!(await fill(dialog, await fetch(opener.href)))) return
  document.body.append(dialog)
  dialog.addEventListener('cancel', event => {
    // What is shown once must not vanish by a slip of the finger.
    if (dialog.querySelector('[data-once]') !== null) event.preventDefault()
  })
  dialog.addEventListener('close', () => {
    dialog.remove()
    opener.focus()
  })
  dialog.addEventListener('submit', event => {
    event.preventDefault()
    void sendForm(dialog, event.target, event.submitter)
  })
  dialog.showModal()
}

async function sendForm(dialog, form, submitter) {
  submitter.disabled = true
  const body = new URLSearchParams(new FormData(form, submitter))
  await fill(dialog, await fetch(form.action, { method: 'POST', body, headers: { Accept: 'text/html' } }))
  dialog.querySelector('[autofocus]')?.focus()
}

/** Takes what a page has for a dialog; where it has nothing, that page is where to go on. */
async function fill(dialog, response) {
  const page = new DOMParser().parseFromString(await response.text(), 'text/html')
  const body = page.querySelector('[data-dialog-body]')
  if (body === null) {
    location.assign(response.url)
    return false
  }
  dialog.replaceChildren(...body.childNodes)
  if ('once' in body.dataset) dialog.firstElementChild.dataset.once = ''
  return true
}

// ---- One call with a new key, made here so that it goes the way of any other program ---------------------------------

document.addEventListener('click', ({ target }) => {
  const button = target.closest('[data-test]')
  if (button !== null) void testKey(button)
})

async function testKey(button) {
  const around = button.closest('dialog, [data-dialog-body]')
  const shown = around.querySelector('[data-test-result]')
  const key = around.querySelector('.secret code').textContent
  button.disabled = true
  shown.textContent = 'Asking…'
  try {
    const response = await fetch(button.dataset.test, {
      headers: { Authorization: `Bearer ${key}` },
      credentials: 'omit',
    })
    const lines = JSON.stringify(await response.json(), null, 2).split('\n')
    const status = document.createElement('p')
    status.textContent = `${response.status} ${response.statusText}. ${response.ok ? 'The key works.' : 'The key does not work.'}`
    shown.replaceChildren(status)
    if (button.dataset.discreet === '0' || !response.ok) {
      const text = document.createElement('pre')
      text.textContent = lines.length > 9 ? `${lines.slice(0, 8).join('\n')}\n…` : lines.join('\n')
      shown.append(text)
    }
  } catch {
    shown.textContent = 'The service did not answer.'
  }
  button.disabled = false
  button.focus()
}
