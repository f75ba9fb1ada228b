import { card, curlLine } from '../layout/components.ts'
import { html, type Html } from '../html.ts'
import { operationsOf, type ReferenceContext, referencePage } from './reference-pages.ts'

/**
 * The console: a form for the address of a request, which begins with the path of an operation. assets/console.js sends it. Without
 * script the form is hidden.
 */
export function consolePage(context: ReferenceContext, script: string): Html {
  const { api, baseUrl } = context
  return referencePage(context, {
    title: 'Console',
    lead: 'Sends requests to this service, and shows the responses.',
    root: '../',
    script,
    body: html`
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
        <label>Address <input name="address" spellcheck="false" required aria-describedby="about-address"></label>
        <p class="muted" id="about-address">Put an id in place of <code>{id}</code>, and add parameters, as in <code>?limit=10</code>.</p>
        <div class="code"><pre tabindex="0" role="region" aria-label="curl command"><code id="curl" data-text="${curlLine(baseUrl, '{address}')}"></code></pre></div>
        <div><button class="primary">Send</button></div>
      </form>
      <div id="response" hidden>${card(
        'Response',
        html`<div class="stack">
          <p role="status"></p>
          <details><summary>Headers</summary><div class="code"><pre tabindex="0" role="region" aria-label="Headers"></pre></div></details>
          <div class="code"><pre tabindex="0" role="region" aria-label="Body"></pre></div>
        </div>`,
      )}</div>
    `,
  })
}
