import { Argument, type Command, type Option } from 'commander'
import { print } from './print.ts'

export function addCompletionCommand(program: Command) {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell that reads the script').choices(['bash']))
    .summary('print a script that completes commands and options in bash')
    .description(
      'Prints a script that completes commands, options and their values. In a shell: eval "$(lockstep completion bash)".',
    )
    .action(() => print(bashScript(listCommands(program, ''))))
}

/** A command with its words, such as `key create`, and all below it; the program itself has none. */
function listCommands(command: Command, words: string): (readonly [words: string, command: Command])[] {
  const below = commandsOf(command).flatMap(sub => listCommands(sub, `${words} ${sub.name()}`.trim()))
  return [[words, command], ...below]
}

/** Those that the help lists, but for the help of a group. */
function commandsOf(command: Command): readonly Command[] {
  const listed = command.createHelp().visibleCommands(command)
  return listed.filter(sub => command.commands.includes(sub))
}

function optionsOf(command: Command): readonly Option[] {
  return command.options.filter(({ hidden, long }) => !hidden && long !== undefined)
}

/** What may follow the words of a command: its commands, options and the values of an argument. */
function nextWords(command: Command): string {
  const values = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  const names = commandsOf(command).map(sub => sub.name())
  return [...names, ...values, ...optionsOf(command).map(({ long }) => long), '--help'].join(' ')
}

function bashScript(listed: ReturnType<typeof listCommands>): string {
  const valued = listed.flatMap(([words, command]) =>
    optionsOf(command)
      .filter(({ required }) => required)
      .map(({ long, argChoices = [] }) => `    '${words} ${long}') words='${argChoices.join(' ')}' ;;`),
  )
  return `_lockstep() {
  local command= word words=
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "\${command:+$command }$word" in
      ${listed.flatMap(([words]) => (words === '' ? [] : [`'${words}'`])).join(' | ')})
        command="\${command:+$command }$word" ;;
    esac
  done
  # An option that takes a value: its choices, or files.
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${valued.join('\n')}
    *)
      case "$command" in
${listed.map(([words, command]) => `        '${words}') words='${nextWords(command)}' ;;`).join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _lockstep lockstep`
}
