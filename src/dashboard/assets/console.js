/** The console of the reference. It sends one request at a time, without cookies: it sees what a program with the key would see. */

const form = find('main form', HTMLFormElement)
const operation = find('[name=operation]', HTMLSelectElement)
const key = find('[name=key]', HTMLInputElement)
const curl = find('#curl', HTMLElement)
const response = find('#response', HTMLElement)

operation.addEventListener('change', () => history.replaceState(null, '', `#${operation.value}`))
addEventListener('hashchange', choose)
form.addEventListener('input', show)
form.addEventListener('submit', event => {
  event.preventDefault()
  void send()
})
choose()
find('#needs-script', HTMLElement).remove()
form.hidden = false

/** Chooses the operation that the address names. */
function choose() {
  const chosen = [...operation.options].find(({ value }) => value === location.hash.slice(1))
  if (chosen !== undefined) chosen.selected = true
  show()
}

/** Shows the fields of the operation, and the command for what they hold. */
function show() {
  for (const part of form.querySelectorAll('[data-for]')) {
    if (!(part instanceof HTMLElement)) continue
    part.hidden = !part.dataset.for?.split(' ').includes(operation.value)
    for (const field of part.querySelectorAll('input, select')) field.toggleAttribute('disabled', part.hidden)
  }
  const { path, query, headers } = request()
  const more = headers.map(([name, value]) => ` -H '${name}: ${value.replaceAll("'", String.raw`'\''`)}'`)
  curl.textContent = `${curl.dataset.text?.replace('{address}', () => path + query) ?? ''}${more.join('')}`
}

/** What the fields describe. An empty field is not sent. */
function request() {
  let path = operation.selectedOptions[0]?.dataset.path ?? ''
  const query = new URLSearchParams()
  /** @type {[name: string, value: string][]} */
  const headers = []
  for (const field of form.querySelectorAll('[data-in]:enabled')) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement) || field.value === '') continue
    const { name } = field
    const value = field.value === '""' ? '' : field.value
    if (field.dataset.in === 'path') path = path.replace(`{${name}}`, () => encodeURIComponent(value))
    else if (field.dataset.in === 'header') headers.push([name, value])
    else query.append(name, value)
  }
  return { path, query: query.size === 0 ? '' : `?${query}`, headers }
}

async function send() {
  const { path, query, headers } = request()
  const [status, ...texts] = response.querySelectorAll('[role=status], pre')
  const [shownHeaders, body] = texts
  if (status == null || shownHeaders == null || body == null) return
  response.hidden = false
  status.textContent = 'Waiting for the response…'
  shownHeaders.textContent = ''
  body.textContent = ''
  try {
    const start = performance.now()
    const answer = await fetch(`..${path}${query}`, {
      headers: key.value === '' ? headers : [...headers, ['Authorization', `Bearer ${key.value.trim()}`]],
      credentials: 'omit',
      cache: 'no-store',
    })
    const text = await answer.text()
    const { length } = new TextEncoder().encode(text)
    status.textContent = `${answer.status} ${answer.statusText} · ${Math.round(performance.now() - start)} ms · ${length.toLocaleString('en')} bytes`
    shownHeaders.textContent = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    body.textContent = text === '' ? '' : JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    status.textContent = 'There was no response.'
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
