import type { OpenApi, Tag } from '../../openapi/types.ts'
import { card } from '../layout/components.ts'
import { ring, styledDocument } from '../layout/layout.ts'
import { html, type Html, type Part } from '../html.ts'
import { inline, markdown } from './markdown.ts'
import { operationCard } from './operation.ts'
import { fieldTable, schemasIn } from './schemas.ts'
import type { Display } from '../page.ts'

/** The pages of the reference: a guide, and one for each resource. They need no script. */

/** What all pages of the reference are made from. */
export interface ReferenceContext {
  readonly api: OpenApi
  readonly display: Display
  readonly baseUrl: string
  readonly hasDashboard: boolean
}

/** The first page: all operations, how to call the API, and what responses have in common. */
export function guidePage(context: ReferenceContext): Html {
  const { api } = context
  return referencePage(context, {
    title: 'API reference',
    lead: `${api.info.summary} Every endpoint, field and error.`,
    body: html`
      <section class="card stack">
        <h2>Operations</h2>
        ${api.tags.map(
          tag => html`<h3><a href="/docs/${slugOf(tag.name)}">${tag.name}</a></h3>
          <p class="muted">${inline(tag.description)}</p>
          <ul class="operations">${operationsOf(api, tag).map(
            ([path, { summary, operationId }]) =>
              html`<li><a href="/docs/${slugOf(tag.name)}#${operationId}">${summary}</a> <code>GET ${path}</code></li>`,
          )}</ul>`,
        )}
      </section>
      <section class="card prose">${markdown(api.info.description)}</section>
      ${schemaCards(api, ['Error'])}
    `,
  })
}

/** The operations of a resource, and the records that they return. */
export function resourcePage(context: ReferenceContext, name: string): Html {
  const { api, baseUrl } = context
  const tag = api.tags.find(tag => tag.name === name) ?? { name, description: '' }
  const operations = operationsOf(api, tag)
  const returned = operations.map(([, { responses }]) => responses['200'])
  return referencePage(context, {
    title: name,
    lead: inline(tag.description),
    body: html`
      ${operations.map(([path, operation]) => operationCard(api, baseUrl, path, operation))}
      ${schemaCards(api, schemasIn(returned, api))}
    `,
  })
}

/** The part of an address that stands for a resource. */
export function slugOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}

function referencePage(context: ReferenceContext, page: Readonly<{ title: string; lead: Part; body: Html }>): Html {
  const { api, display, hasDashboard } = context
  const { title, lead, body } = page
  const link = (path: string, name: string) =>
    html`<li><a href="${path}"${name === title ? html` aria-current="page"` : null}>${name}</a></li>`
  return styledDocument(
    display,
    title,
    html`
      <a class="skip" href="#main">Skip to content</a>
      <header class="top">
        <div class="bar">
          <a class="brand" href="/docs">${ring} Lockstep API</a>
          ${hasDashboard ? html`<a href="/">‹ Dashboard</a>` : null}
        </div>
        <nav class="contents" aria-label="Reference"><ul>
          ${link('/docs', 'API reference')}${api.tags.map(({ name }) => link(`/docs/${slugOf(name)}`, name))}
          ${link('/openapi.json', 'OpenAPI')}
        </ul></nav>
      </header>
      <main id="main" tabindex="-1">
        <div class="head"><div><h1>${title}</h1><p class="lead">${lead}</p></div></div>
        ${body}
      </main>
    `,
  )
}

/** The operations of a resource, with their paths. */
function operationsOf({ paths }: OpenApi, { name }: Tag) {
  return Object.entries(paths).flatMap(([path, { get }]) => (get.tags.includes(name) ? [[path, get] as const] : []))
}

/** The fields of named schemas. */
function schemaCards({ components }: OpenApi, names: Iterable<string>): Html[] {
  return [...names].map(name => {
    const { [name]: schema = {} } = components.schemas
    const fields = fieldTable(`Fields of ${name}`, schema)
    return card(name, html`<div class="stack"><p>${inline(schema.description ?? '')}</p>${fields}</div>`, { id: name })
  })
}
