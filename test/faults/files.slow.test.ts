import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { type FailingCalls, type Failure, failures, makeFailingCalls } from '../support/preloaded.ts'
import { commands, makeScene, titleOf } from '../support/faulted-commands.ts'
import { eachPoint, isWhole, type Point } from '../support/sweeps.ts'

// engine: sqlite

// Each call that changes a file fails once, from then on, as on a full disk, or is where the process is killed. Nothing is left over even
// while the process goes on, as a service does.

for (const [shift, command] of commands.entries()) {
  test(`${titleOf(command)}: whichever call on a file fails, the change is whole or not there, and nothing is left over`, async t => {
    await using scene = await makeScene()
    await using kept = await makeFolder()
    using failing: FailingCalls | undefined = makeFailingCalls(scene.folder.path, kept.path)
    if (failing === undefined) return t.skip('gcc is not installed')
    const expected = await scene.undisturbed(command, failing.env)
    const total = Math.ceil(failing.calls / 2)
    const attempt = async ({ how, number }: Point<Failure>) => {
      await scene.reset(command)
      // A sample has time to start processes that are killed.
      const isCopied = how === 'killed' && isWhole && command.isNotedElsewhere !== true
      const isKilled = how === 'killed' && !isCopied
      failing.arm(number, isCopied ? 'copied' : how)
      const ended = await scene.attempt(command, failing.env, !isKilled)
      if (failing.calls < number) return false
      if (isCopied) failing.useCopy()
      try {
        await scene.check(command, isCopied ? { code: null, stdout: '', stderr: '' } : ended, expected)
      } catch (error) {
        throw new Error(`${failing.failed}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        })
      }
      return true
    }
    const failed = await eachPoint({ total, ways: failures, sample: 3, shift }, attempt)
    t.diagnostic(`${total} calls, ${failed} failures`)
  })
}
