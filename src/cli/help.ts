import type { Command } from 'commander'
import { Refusal } from '../contract/refusal.ts'

/** `help key create` shows the help of that command; the help command of commander reads one word only. */
export function addHelpCommand(program: Command) {
  program
    .helpCommand(false)
    .command('help')
    .argument('[command...]', 'the command to show the help of')
    .summary('show the help of a command')
    .description('Shows the help of a command.')
    .action((words: readonly string[]) => {
      let command = program
      for (const word of words) {
        const next = command.commands.find(known => known.name() === word || known.aliases().includes(word))
        if (next === undefined)
          throw new Refusal('usage', `there is no command ${words.join(' ')}: see lockstep --help`)
        command = next
      }
      command.help()
    })
}
