// engine: any
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'

test('passkeys, sign-in by an issuer and the programs beside the service are loaded with their first use', async () => {
  await using folder = await makeFolder()
  const list = folder.file('loaded')
  writeFileSync(
    folder.file('list-loaded.mjs'),
    `import { appendFileSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        appendFileSync(${JSON.stringify(list)}, url + '\\n')
        return next(url, context)
      },
    })`,
  )
  const loads = (part: string) => readFileSync(list, 'utf8').includes(part)
  const env = { NODE_OPTIONS: `--import=${folder.file('list-loaded.mjs')}` }
  await using served = folder.start(['serve', '--port', '0'], { env })
  const [, address] = await served.says(/Listening on (http:[\d./]+:\d+)/)

  assert.equal((await fetch(`${address}/api/v1/me`)).status, 401)
  assert.ok(loads('/src/http/api.ts'))
  assert.equal((await fetch(`${address}/`)).status, 200)
  assert.ok(loads('/src/dashboard/app.ts'))
  for (const part of ['/@simplewebauthn/server/', '/openid-client/']) assert.ok(!loads(part), `${part} for pages`)
  assert.ok(!loads('/src/mcp/') && !loads('/@modelcontextprotocol/'), 'the tools for assistants')
  assert.ok(!loads('/src/cli/pull.ts'), 'another command')
  const homeAssistant = ['/node_modules/mqtt/', '/src/homeassistant/publish.ts', '/src/homeassistant/history.ts']
  for (const part of homeAssistant) assert.ok(!loads(part), `${part} for Home Assistant`)

  // Without a key it ends after it has loaded what it needs.
  await folder.launch(['homeassistant', 'entities', '--broker', 'mqtt://127.0.0.1:1'], { env })
  assert.ok(loads('/node_modules/mqtt/'))
})
