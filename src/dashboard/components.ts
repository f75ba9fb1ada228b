import { html, type Html, nothing, type Part } from './html.ts'

/** What pages are put together from. */

/** A titled card. */
export function card(title: string, body: Part, more: { readonly actions?: Html; readonly id?: string } = {}): Html {
  return html`
    <section class="card"${more.id === undefined ? nothing : html` id="${more.id}"`}>
      <div class="card-head"><h2>${title}</h2>${more.actions}</div>
      ${body}
    </section>
  `
}

/** What stands where there is nothing yet: what would be there, and how it comes in. */
export function emptyState(title: string, text: Part): Html {
  return html`<div class="card empty"><h2>${title}</h2><p>${text}</p></div>`
}

/** A named value, with a note below it. */
export function stat(name: string, value: Part, note?: Part): Html {
  return html`<div class="stat"><dt>${name}</dt><dd>${value}${note === undefined ? nothing : html`<small>${note}</small>`}</dd></div>`
}

export function stats(...items: readonly Html[]): Html {
  return html`<dl class="stats card">${items}</dl>`
}

/** Names and values, one below the other. */
export function facts(rows: readonly (readonly [name: string, value: Part])[]): Html {
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

export interface Column<Row> {
  readonly title: Part
  readonly cell: (row: Row) => Part
  /** Numbers are aligned at the right. */
  readonly numeric?: boolean
  /** What a chart calls the column, and what its cells hold for it, where another chart draws from this table. */
  readonly key?: string
  readonly value?: (row: Row) => string | number
}

/**
 * A table that scrolls sideways within itself where it is too wide; with `stacks`, its rows become small lists instead,
 * so that nobody misses a button at their end. `name` says what it shows, for those who hear it.
 */
export function table<Row>(
  name: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  id?: string,
  { stacks = false }: { readonly stacks?: boolean } = {},
): Html {
  const kind = ({ numeric = false }: Column<Row>) => (numeric ? html` class="number"` : nothing)
  const titled = ({ title }: Column<Row>) =>
    stacks && typeof title === 'string' ? html` data-title="${title}"` : nothing
  const key = ({ key }: Column<Row>) => (key === undefined ? nothing : html` data-key="${key}"`)
  const held = ({ value }: Column<Row>, row: Row) => (value === undefined ? nothing : html` data-v="${value(row)}"`)
  return html`
    <div class="scroll" role="region" aria-label="${name}" tabindex="0">
      <table${id === undefined ? nothing : html` id="${id}"`}${stacks ? html` class="stacks"` : nothing}>
        <thead><tr>${columns.map(column => html`<th scope="col"${kind(column)}${key(column)}>${column.title}</th>`)}</tr></thead>
        <tbody>${rows.map(row => html`<tr>${columns.map(column => html`<td${kind(column)}${held(column, row)}${titled(column)}>${column.cell(row)}</td>`)}</tr>`)}</tbody>
      </table>
    </div>
  `
}

/** Passed is a filled mark, not passed a hollow ring; each also says so in words. */
export function resultMark(passed: boolean): Html {
  return html`<span class="result ${passed ? 'passed' : 'not-passed'}">${passed ? 'Passed' : 'Not passed'}</span>`
}

export interface Tab {
  readonly name: string
  readonly title: string
  readonly body: () => Part
}

/** Tabs are links, so that each has an address; only the one that is open is drawn. */
export function tabs(path: string, asked: string | null, all: readonly Tab[]): Html {
  const [first] = all
  const open = all.find(({ name }) => name === asked) ?? first
  if (open === undefined) return nothing
  return html`
    <nav class="tabs" aria-label="Views"><ul>${all.map(
      ({ name, title }) =>
        html`<li><a href="${name === first?.name ? path : `${path}?view=${name}`}"${name === open.name ? html` aria-current="true"` : nothing}>${title}</a></li>`,
    )}</ul></nav>
    ${open.body()}
  `
}

interface CodeOptions {
  /** A secret stands out, and breaks where the line ends. */
  readonly kind?: 'secret'
  /** Whether its button is where the keyboard starts. */
  readonly focus?: boolean
}

/** Text to copy, as it is. */
export function code(text: string, name: string, { kind, focus = false }: CodeOptions = {}): Html {
  return html`
    <div class="code${kind === 'secret' ? ' secret' : ''}">
      <pre tabindex="0" role="region" aria-label="${name}"><code>${text}</code></pre>
      <button type="button" class="small copy" data-copy aria-label="Copy: ${name}"${focus ? html` autofocus` : nothing}>Copy</button>
    </div>
  `
}

/** The two views of a record beside its table: the JSON the API sends, and the line that asks for it. */
export function apiTabs(baseUrl: string, path: string, json: string, discreet: boolean): readonly Tab[] {
  const hidden = html`<div class="card"><p>This view has names and texts as they are stored, so it stays closed in discreet mode.</p></div>`
  return [
    {
      name: 'json',
      title: 'JSON',
      body: () => (discreet ? hidden : html`<div class="card">${code(prettyJson(json), 'JSON of the record')}</div>`),
    },
    {
      name: 'curl',
      title: 'curl',
      body: () => html`<div class="card stack">
        <p>The call that answers with this record. <code>API_TOKEN</code> holds <a href="/keys">an API key</a>.</p>
        ${code(curlLine(baseUrl, path), 'curl line')}
      </div>`,
    },
  ]
}

export function curlLine(baseUrl: string, path: string, token = '$API_TOKEN'): string {
  return `curl -H "Authorization: Bearer ${token}" "${baseUrl}${path}"`
}

/** The envelope around the JSON text of `data`, indented. */
function prettyJson(data: string): string {
  return JSON.stringify(JSON.parse(`{"ok":true,"data":${data}}`), null, 2)
}
