import type { Example, OpenApi, Operation, Parameter, Ref, Response } from '../../openapi/types.ts'
import { card, curlLine, table } from '../layout/components.ts'
import { html, type Html, type Part } from '../html.ts'
import { anchorOfCode, codeBlock, inline } from './markdown.ts'
import { fieldTable, typeText } from './schemas.ts'

/** An operation: its parameters, its responses, and the command that calls it. */
export function operationCard(api: OpenApi, baseUrl: string, path: string, operation: Operation): Html {
  const { summary, operationId, description, security } = operation
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, resolve(response, api.components.responses)] as const,
  )
  const address = path.replace('{id}', exampleId(responses))
  const curl = security.length === 0 ? `curl "${baseUrl}${address}"` : curlLine(baseUrl, address)
  return card(
    summary,
    html`
      <div class="stack">
        <p><strong><code>GET ${path}</code></strong></p>
        <p>${inline(description)}</p>
        ${codeBlock(curl, `curl command: ${summary}`)}
        ${parameterTable(api, operation)}
        ${responses.filter(([status]) => status === '200').map(([, response]) => success(response, summary))}
        ${refusals(responses)}
      </div>
    `,
    { id: operationId },
  )
}

function parameterTable(api: OpenApi, operation: Operation): Part {
  const { parameters, summary } = operation
  if (parameters.length === 0) return null
  return html`<h3>Parameters</h3>${table<Parameter>(
    `Parameters: ${summary}`,
    [
      { title: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
      { title: 'In', cell: parameter => parameter.in },
      { title: 'Type', cell: ({ schema }) => typeText(schema) },
      {
        title: 'Meaning',
        cell: ({ description, schema }) => [
          ...inline(description),
          schema.default === undefined ? null : html` The default is <code>${String(schema.default)}</code>.`,
        ],
      },
    ],
    parameters.map(parameter => resolve(parameter, api.components.parameters)),
  )}`
}

function success({ content, headers = {} }: Response, summary: string): Part {
  if (content === undefined) return null
  const { schema, examples } = content['application/json']
  return html`
    <h3>Response</h3>
    ${fieldTable(`Response: ${summary}`, schema)}
    <p class="muted">Headers: ${Object.keys(headers).join(', ')}.</p>
    ${Object.values(examples).map((example, index) => exampleBlock(example, summary, index))}
  `
}

function exampleBlock(example: Example | Ref, summary: string, index: number): Part {
  // Only shared examples are references, and those are all of errors.
  if ('$ref' in example) return null
  const title = `Example${example.summary === undefined ? '' : `: ${example.summary.toLowerCase()}`}`
  return html`<details${index === 0 ? html` open` : null}><summary>${title}</summary>${codeBlock(
    JSON.stringify(example.value, null, 2),
    `${title}, of ${summary}`,
  )}</details>`
}

function refusals(responses: readonly (readonly [status: string, response: Response])[]): Html {
  const refused = responses.filter(([status]) => Number(status) >= 400)
  return html`
    <h3>Errors</h3>
    <dl class="codes">${refused.map(
      ([status, { content }]) =>
        html`<div><dt>${status}</dt><dd>${Object.keys(content?.['application/json'].examples ?? {}).map(
          code => html`<a href="/docs#${anchorOfCode(code)}"><code>${code}</code></a> `,
        )}</dd></div>`,
    )}</dl>
  `
}

/** The identifier in the example of a success. */
function exampleId(responses: readonly (readonly [status: string, response: Response])[]): string {
  const [, id = '1'] = /"data":\{"id":(\d+)/.exec(JSON.stringify(responses[0])) ?? []
  return id
}

/** A part of the document, or what its reference names. */
function resolve<One extends object>(part: One | Ref, named: Readonly<Record<string, One>>): One {
  if (!('$ref' in part)) return part
  const found = named[part.$ref.slice(part.$ref.lastIndexOf('/') + 1)]
  if (found === undefined) throw new Error(`${part.$ref} is not in the document`)
  return found
}
