// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { scopes } from '../../src/contract/endpoint.ts'
import { errors } from '../../src/contract/errors.ts'
import { openapi } from '../../src/openapi/document.ts'
import { MAX_PAGE_BYTES, MAX_PAGE_NODES, nodesOf } from '../support/page-budgets.ts'
import { referencePaths } from '../support/reference.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

describe('the reference', () => {
  let service: TestService
  before(async () => {
    service = await startService([...records.world, records.trainingSession(1207, 1)], unlimited)
  })
  after(() => service[Symbol.asyncDispose]())

  test('every operation, parameter, field and error code is on its pages', async () => {
    const pages = new Map<string, string>()
    for (const path of referencePaths) pages.set(path, (await get(service, path)).text)
    const all = [...pages.values()].join('')
    const { paths, tags, components } = openapi()
    assert.equal(pages.size, tags.length + 1)
    for (const [path, { get: operation }] of Object.entries(paths)) {
      const [tag = ''] = operation.tags
      const page = pages.get(`/docs/${tag.toLowerCase().replace(' ', '-')}`) ?? ''
      const [, section = ''] =
        new RegExp(`<section class="card" id="${operation.operationId}">([^]*?)</section>`).exec(page) ?? []
      assert.ok(section.includes(`<code>GET ${path}</code>`), path)
      for (const parameter of operation.parameters) {
        const name = 'name' in parameter ? parameter.name : parameter.$ref.replace(/.*\//, '')
        assert.ok(section.includes(`<code>${name}</code>`), `${name} of ${path}`)
      }
      for (const status of Object.keys(operation.responses).filter(status => Number(status) >= 400)) {
        assert.ok(section.includes(`<dt>${status}</dt>`), `${status} of ${path}`)
      }
      assert.match(section, /<summary>Example/)
    }
    for (const [name, { properties = {} }] of Object.entries(components.schemas)) {
      const [, section = ''] = new RegExp(`<section class="card" id="${name}">([^]*?)</section>`).exec(all) ?? []
      for (const field of Object.keys(properties))
        assert.ok(section.includes(`<code>${field}</code>`), `${name}.${field}`)
    }
    for (const code of Object.keys(errors)) assert.ok(pages.get('/docs')?.includes(`id="error-${code}"`), code)
    for (const scope of scopes) assert.ok(pages.get('/docs')?.includes(`<code>${scope}</code>: `), scope)
  })

  test('every link of the reference has a target', async () => {
    const found = new Map<string, string>()
    for (const path of referencePaths) {
      const { text } = await get(service, path)
      for (const [, href = ''] of text.matchAll(/href="([^"]+)"/g)) {
        found.set(new URL(href, service.url + path).href, path)
      }
    }
    for (const [address, from] of found) {
      const { status, text } = await get(service, address.slice(service.url.length).replace(/#.*/, ''))
      assert.equal(status, 200, `${address} on ${from}`)
      const { hash } = new URL(address)
      if (hash !== '') assert.ok(text.includes(` id="${hash.slice(1)}"`), `${address} on ${from}`)
    }
  })

  test('its curl commands call this service, or the public address', async () => {
    const token = await service.token('ann')
    let calls = 0
    for (const path of referencePaths) {
      const { text } = await get(service, path)
      for (const [, address = ''] of text.matchAll(/<code>curl [^<]*?&quot;(http[^&]*)&quot;<\/code>/g)) {
        assert.ok(address.startsWith(`${service.url}/`), address)
        const response = await fetch(address, { headers: { Authorization: `Bearer ${token}` } })
        assert.ok([200, 404].includes(response.status), `${address}: ${response.status}`)
        await response.body?.cancel()
        calls += 1
      }
    }
    assert.equal(calls, Object.keys(openapi().paths).length)
    assert.ok(!(await get(service, '/docs')).text.includes('127.0.0.1:5625'))

    await using other = await startService(records.world, { LOCKSTEP_PUBLIC_URL: 'https://lockstep.example' })
    const { text } = await get(other, '/docs/devices')
    assert.match(text, /&quot;https:\/\/lockstep\.example\/api\/v1\/lkbx&quot;/)
    assert.match((await get(other, '/openapi.json')).text, /"servers":\[\{"url":"https:\/\/lockstep\.example"/)
  })

  test('each page keeps to the budgets, loads no script, and has the theme of the cookie', async () => {
    for (const path of referencePaths) {
      const { text, headers } = await get(service, path, { Cookie: 'theme=dark' })
      assert.ok(Buffer.byteLength(text) <= MAX_PAGE_BYTES, path)
      assert.ok(nodesOf(text) <= MAX_PAGE_NODES, path)
      assert.match(text, /<meta name="color-scheme" content="dark">/)
      assert.doesNotMatch(text, /<script|style="/)
      assert.match(headers.get('Content-Security-Policy') ?? '', /^default-src 'none'; style-src 'self'; /)
    }
  })

  test('without the dashboard it is complete, and has no link to it', async () => {
    await using other = await startService(records.world, { LOCKSTEP_DASHBOARD: 'off' })
    const { text } = await get(other, '/docs/devices')
    assert.doesNotMatch(text, /Dashboard/)
    const [, styles = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(text) ?? []
    const { status, headers } = await get(other, new URL(styles, `${other.url}/docs/devices`).pathname)
    assert.deepEqual([status, headers.get('Content-Type')], [200, 'text/css; charset=utf-8'])
  })
})

function get({ url }: TestService, path: string, headers: Record<string, string> = {}) {
  return fetch(url + path, { headers, redirect: 'follow' }).then(async response => ({
    status: response.status,
    headers: response.headers,
    text: await response.text(),
  }))
}
