/** The console of the reference. It sends one request at a time, without cookies: it sees what a program with the key would see. */

const form = find('main form', HTMLFormElement)
const operation = find('[name=operation]', HTMLSelectElement)
const address = find('[name=address]', HTMLInputElement)
const key = find('[name=key]', HTMLInputElement)
const curl = find('#curl', HTMLElement)
const response = find('#response', HTMLElement)

operation.addEventListener('change', begin)
address.addEventListener('input', show)
addEventListener('hashchange', choose)
form.addEventListener('submit', event => {
  event.preventDefault()
  void send()
})
choose()
find('#needs-script', HTMLElement).remove()
form.hidden = false

/** Chooses the operation that the address of the page names. */
function choose() {
  const chosen = [...operation.options].find(({ value }) => value === location.hash.slice(1))
  if (chosen !== undefined) chosen.selected = true
  begin()
}

/** Begins the address with the path of the operation. */
function begin() {
  history.replaceState(null, '', `#${operation.value}`)
  address.value = operation.selectedOptions[0]?.dataset.path ?? ''
  show()
}

function show() {
  curl.textContent = curl.dataset.text?.replace('{address}', () => address.value) ?? ''
}

async function send() {
  const [status, headers, body] = response.querySelectorAll('[role=status], pre')
  if (status == null || headers == null || body == null) return
  response.hidden = false
  status.textContent = 'Waiting for the response…'
  headers.textContent = ''
  body.textContent = ''
  try {
    const start = performance.now()
    // Relative to this page, so that nothing that is entered leads to another host.
    const answer = await fetch(`..${address.value.replace(/^\/*/, '/')}`, {
      headers: key.value === '' ? {} : { Authorization: `Bearer ${key.value.trim()}` },
      credentials: 'omit',
      cache: 'no-store',
    })
    const text = await answer.text()
    const { length } = new TextEncoder().encode(text)
    status.textContent = `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - start)} ms · ${length.toLocaleString('en')} bytes`
    headers.textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    body.textContent = JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    status.textContent = 'There was no response in JSON.'
  }
}

/**
 * @template {HTMLElement} Kind
 * @param {string} selector
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
function find(selector, kind) {
  const found = document.querySelector(selector)
  if (!(found instanceof kind)) throw new Error(`${selector} is missing`)
  return found
}
