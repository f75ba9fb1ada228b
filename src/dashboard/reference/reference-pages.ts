import type { Header, OpenApi, Tag } from '../../openapi/types.ts'
import { card, table } from '../layout/components.ts'
import { htmlDocument, ring } from '../layout/layout.ts'
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
  /** The address of the style sheet below docs/. */
  readonly styles: string
  readonly icon: string
  readonly hasDashboard: boolean
}

/** The first page: all operations, how to call the API, and what responses have in common. */
export function guidePage(context: ReferenceContext): Html {
  const { api } = context
  return referencePage(context, {
    title: 'API reference',
    lead: `${api.info.summary} Every endpoint, field and error.`,
    root: '',
    body: html`
      <section class="card stack">
        <h2>Operations</h2>
        ${api.tags.map(
          tag => html`<h3><a href="docs/${slugOf(tag.name)}">${tag.name}</a></h3>
          <p class="muted">${inline(tag.description)}</p>
          <ul class="operations">${operationsOf(api, tag).map(
            ([path, { summary, operationId }]) =>
              html`<li><a href="docs/${slugOf(tag.name)}#${operationId}">${summary}</a> <code>GET ${breakable(path)}</code></li>`,
          )}</ul>`,
        )}
      </section>
      <section class="card prose">${markdown(api.info.description)}</section>
      ${card('Response headers', headerTable(api))}
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
    root: '../',
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

/** The start of links, which are relative to the root of the service so that they also work behind a proxy that adds a path. */
type Root = '' | '../'

interface PageContent {
  readonly title: string
  readonly lead: Part
  readonly root: Root
  readonly body: Html
}

function referencePage(context: ReferenceContext, { title, lead, root, body }: PageContent): Html {
  const { api, display, styles, icon, hasDashboard } = context
  const link = (path: string, name: string) =>
    html`<li><a href="${root}${path}"${name === title ? html` aria-current="page"` : null}>${name}</a></li>`
  return htmlDocument(
    display,
    title,
    html`<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${root}${styles}">`,
    html`
      <a class="skip" href="#main">Skip to content</a>
      <header class="top">
        <div class="bar">
          <a class="brand" href="${root}docs">${ring} Lockstep API</a>
          ${hasDashboard ? html`<a href="${root === '' ? './' : root}">‹ Dashboard</a>` : null}
        </div>
        <nav class="contents" aria-label="Reference"><ul>
          ${link('docs', 'API reference')}${api.tags.map(({ name }) => link(`docs/${slugOf(name)}`, name))}
          ${link('openapi.json', 'OpenAPI')}
        </ul></nav>
      </header>
      <main id="main" tabindex="-1">
        <div class="head"><div><h1>${title}</h1><p class="lead">${lead}</p></div></div>
        ${body}
      </main>
    `,
  )
}

/** A path that may break before a slash, not within a word. */
function breakable(path: string): Html {
  return html`${path.split(/(?=\/)/).map(part => html`<wbr>${part}`)}`
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

function headerTable({ components }: OpenApi): Html {
  return table<[string, Header]>(
    'Response headers',
    [
      { title: 'Header', cell: ([name]) => html`<code>${name}</code>` },
      { title: 'Meaning', cell: ([, { description }]) => inline(description) },
      { title: 'Example', cell: ([, { example }]) => html`<code>${example}</code>` },
    ],
    Object.entries(components.headers),
  )
}
