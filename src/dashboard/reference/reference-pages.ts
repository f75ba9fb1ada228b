import type { Header, OpenApi, Tag } from '../../openapi/types.ts'
import { card, table } from '../layout/components.ts'
import { type Display, htmlDocument, ring } from '../layout/document.ts'
import { html, type Html, type Part } from '../html.ts'
import { codeBlock, inline, markdown } from './markdown.ts'
import { operationCard } from './operation.ts'
import { fieldTable, schemasIn } from './schemas.ts'

/** The pages of the reference: a guide, and one for each resource. They need no script. */

/** What all pages of the reference are made from. */
export interface ReferenceContext {
  readonly api: OpenApi
  /** The resource that each schema belongs to. */
  readonly schemaResources: ReadonlyMap<string, string>
  readonly display: Display
  /** The address of this service, for commands to copy. */
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
      ${schemaCards(context, '', undefined)}
      ${card('Example of an error', errorExample(api))}
    `,
  })
}

/** The operations of a resource, and the records that they return. */
export function resourcePage(context: ReferenceContext, name: string): Html {
  const { api, baseUrl, schemaResources } = context
  const tag = api.tags.find(tag => tag.name === name) ?? { name, description: '' }
  const links = { guide: '../docs', schema: (other: string) => schemaAddress(schemaResources, '../', other) }
  return referencePage(context, {
    title: name,
    lead: inline(tag.description),
    root: '../',
    body: html`
      ${operationsOf(api, tag).map(([path, operation]) => operationCard(api, baseUrl, path, operation, links))}
      ${schemaCards(context, '../', name)}
    `,
  })
}

/** The part of an address that stands for a resource. */
export function slugOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}

/** The resource that each schema belongs to: the first one that returns it. A schema that most resources use belongs to none. */
export function resourcesOfSchemas(api: OpenApi): Map<string, string> {
  const found = new Map<string, string[]>()
  for (const tag of api.tags) {
    const responses = operationsOf(api, tag).map(([, { responses }]) => responses)
    for (const name of schemasIn(responses, api)) found.getOrInsertComputed(name, () => []).push(tag.name)
  }
  const own = [...found].filter(([, tags]) => tags.length < api.tags.length / 2)
  return new Map(own.map(([name, [first = '']]) => [name, first]))
}

/** The start of links, which are relative to the root of the service so that they also work behind a proxy that adds a path. */
type Root = '' | '../'

interface PageContent {
  readonly title: string
  readonly lead: Part
  readonly root: Root
  readonly body: Html
  /** The address of a script below docs/. */
  readonly script?: string
}

export function referencePage(context: ReferenceContext, { title, lead, root, body, script }: PageContent): Html {
  const { api, display, styles, icon, hasDashboard } = context
  const link = (path: string, name: string) =>
    html`<li><a href="${root}${path}"${name === title ? html` aria-current="page"` : null}>${name}</a></li>`
  return htmlDocument(
    display,
    title,
    html`<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${root}${styles}">
${script === undefined ? null : html`<script type="module" src="${root}${script}"></script>`}`,
    html`
      <a class="skip" href="#main">Skip to content</a>
      <header class="top">
        <div class="bar">
          <a class="brand" href="${root}docs">${ring} Lockstep API</a>
          ${hasDashboard ? html`<a href="${root === '' ? './' : root}">‹ Dashboard</a>` : null}
        </div>
        <nav class="contents" aria-label="Reference"><ul>
          ${link('docs', 'API reference')}${api.tags.map(({ name }) => link(`docs/${slugOf(name)}`, name))}
          ${link('docs/console', 'Console')}${link('openapi.json', 'OpenAPI')}
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
export function operationsOf({ paths }: OpenApi, { name }: Tag) {
  return Object.entries(paths).flatMap(([path, { get }]) => (get.tags.includes(name) ? [[path, get] as const] : []))
}

/** The schemas that belong to a resource; without one, those that belong to none. */
function schemaCards({ api, schemaResources }: ReferenceContext, root: Root, resource: string | undefined): Html[] {
  return Object.entries(api.components.schemas)
    .filter(([name]) => schemaResources.get(name) === resource)
    .map(([name, schema]) =>
      card(
        name,
        html`<div class="stack"><p>${inline(schema.description ?? '')}</p>${fieldTable(`Fields of ${name}`, schema, other => schemaAddress(schemaResources, root, other))}</div>`,
        { id: name },
      ),
    )
}

function schemaAddress(schemaResources: ReadonlyMap<string, string>, root: Root, name: string): string {
  const resource = schemaResources.get(name)
  return `${root}docs${resource === undefined ? '' : `/${slugOf(resource)}`}#${name}`
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

function errorExample({ components }: OpenApi): Part {
  const [example] = Object.values(components.examples)
  return example === undefined ? null : codeBlock(JSON.stringify(example.value, null, 2), 'Example of an error')
}
