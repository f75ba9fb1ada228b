import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { after } from 'node:test'
import { makeScene, postgresCommands, type Scene, titleOf } from '../support/faulted-commands.ts'
import { sharedServer, testOnPostgres } from '../support/postgres.ts'
import { type Cut, cuts, type QueryCuts, startQueryCuts } from '../support/query-cuts.ts'
import { eachPoint, type Point } from '../support/sweeps.ts'

// engine: any

// The connection of each query is cut before it, within its answer, or after it, or the server is gone from then on.

let made: Promise<{ scene: Scene; proxy: QueryCuts }> | undefined

after(async () => {
  const shared = await made
  await shared?.scene[Symbol.asyncDispose]()
  await shared?.proxy[Symbol.asyncDispose]()
})

async function makeShared() {
  const server = await sharedServer()
  const proxy = await startQueryCuts(server.port)
  return { proxy, scene: await makeScene(server, url => proxy.urlOf(url)) }
}

for (const [shift, command] of postgresCommands.entries()) {
  testOnPostgres(
    `${titleOf(command)}: whichever query loses its connection, the change is whole or not there, and nothing is left over`,
    async t => {
      made ??= makeShared()
      const { scene, proxy } = await made
      const { folder } = scene
      const env = { TMPDIR: folder.file('tmp') }
      proxy.arm(0, 'before')
      const expected = await scene.undisturbed(command, env)
      const total = Math.ceil(proxy.queries / 2)
      const attempt = async ({ how, number }: Point<Cut>) => {
        await scene.reset(command)
        proxy.arm(number, how)
        const ended = await scene.attempt(command, env)
        const { queries, failed } = proxy
        proxy.arm(0, 'before')
        if (queries < number) return false
        try {
          assert.deepEqual(readdirSync(folder.file('tmp')), [], 'temporary files')
          await scene.check(command, ended, expected)
        } catch (error) {
          throw new Error(`${failed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
        }
        return true
      }
      const failed = await eachPoint({ total, ways: cuts, sample: 2, shift }, attempt)
      t.diagnostic(`${total} queries, ${failed} failures`)
    },
  )
}
