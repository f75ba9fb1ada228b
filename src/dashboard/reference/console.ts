import type { OpenApi, Parameter } from '../../openapi/types.ts'
import { card, curlLine } from '../layout/components.ts'
import { html, type Html } from '../html.ts'
import { inline } from './markdown.ts'
import { parametersOf } from './operation.ts'
import { operationsOf, type ReferenceContext, referencePage, slugOf } from './reference-pages.ts'

/**
 * The console: a form with the parameters of all operations, of which assets/console.js shows those of the chosen one and sends its
 * request. `data-for` names the operations of a part. Without script the form is hidden.
 */
export function consolePage(context: ReferenceContext, script: string): Html {
  return referencePage(context, {
    title: 'Console',
    lead: 'Sends requests to this service, and shows the responses.',
    root: '../',
    script,
    body: html`${request(context)}${RESPONSE}`,
  })
}

function request({ api, baseUrl }: ReferenceContext): Html {
  const operations = api.tags.flatMap(tag =>
    operationsOf(api, tag).map(([, { operationId }]) => ({ operationId, tag })),
  )
  return html`
    <p class="card" id="needs-script">The console needs JavaScript. The reference has a curl command for each operation.</p>
    <form class="card stack" autocomplete="off" hidden>
      <label>API key <input name="key" type="password" spellcheck="false" aria-describedby="about-key"></label>
      <p class="muted" id="about-key">Sent to this service only, and forgotten when you leave the page.</p>
      <label>Operation <select name="operation">${api.tags.map(
        tag =>
          html`<optgroup label="${tag.name}">${operationsOf(api, tag).map(
            ([path, { operationId, summary }]) =>
              html`<option id="${operationId}" value="${operationId}" data-path="${path}">${summary}</option>`,
          )}</optgroup>`,
      )}</select></label>
      ${operations.map(
        ({ operationId, tag }) =>
          html`<a data-for="${operationId}" href="${slugOf(tag.name)}#${operationId}">Parameters and fields in the reference</a>`,
      )}
      <div class="parameters">${parameterFields(api)}</div>
      <div class="code"><pre tabindex="0" role="region" aria-label="curl command"><code id="curl" data-text="${curlLine(baseUrl, '{address}')}"></code></pre></div>
      <div><button class="primary">Send</button></div>
    </form>
  `
}

/** A field for each parameter; operations share the fields of parameters that are just alike, which then keep their values. */
function parameterFields(api: OpenApi): Html[] {
  const found = new Map<string, { readonly parameter: Parameter; readonly operations: string[] }>()
  for (const { get: operation } of Object.values(api.paths)) {
    for (const parameter of parametersOf(api, operation)) {
      if (parameter.deprecated === true) continue
      const { operations } = found.getOrInsertComputed(JSON.stringify(parameter), () => ({ parameter, operations: [] }))
      operations.push(operation.operationId)
    }
  }
  return [...found.values()].map(({ parameter, operations }, index) => parameterField(parameter, operations, index))
}

function parameterField(
  { name, in: place, description, required, schema }: Parameter,
  operations: string[],
  index: number,
) {
  const values = schema.type === 'boolean' ? ['true', 'false'] : schema.enum?.map(String)
  const about = `about-${index}`
  const attributes = html`name="${name}" data-in="${place}" aria-describedby="${about}"${required === true ? html` required` : null}`
  // Only the first page of a cursor is read with an empty value; an empty field is not sent.
  const hint = name === 'cursor' ? html` Enter <code>""</code> to send it empty.` : null
  return html`
    <div data-for="${operations.join(' ')}">
      <label><code>${name}</code> ${
        values === undefined
          ? html`<input ${attributes} spellcheck="false">`
          : html`<select ${attributes}><option></option>${values.map(value => html`<option>${value}</option>`)}</select>`
      }</label>
      <p class="muted" id="${about}">${inline(description)}${hint}</p>
    </div>
  `
}

const RESPONSE = html`
  <div id="response" hidden>${card(
    'Response',
    html`<div class="stack">
      <p role="status"></p>
      <details><summary>Headers</summary><div class="code"><pre tabindex="0" role="region" aria-label="Headers"></pre></div></details>
      <div class="code"><pre tabindex="0" role="region" aria-label="Body"></pre></div>
    </div>`,
  )}</div>
`
