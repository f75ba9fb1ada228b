import { Argument, type Command, type Option } from 'commander'
import { print } from './terminal.ts'

/** A command with its words, such as `key create`; the program itself has none. */
interface Listed {
  readonly words: string
  readonly command: Command
}

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

function listCommands(command: Command, words: string): Listed[] {
  const below = commandsOf(command).flatMap(sub => listCommands(sub, `${words} ${sub.name()}`.trim()))
  return [{ words, command }, ...below]
}

/** Those that the help lists, but for the help of a group. */
function commandsOf(command: Command): readonly Command[] {
  const listed = command.createHelp().visibleCommands(command)
  return listed.filter(sub => command.commands.includes(sub))
}

function optionsOf({ command }: Listed): readonly Option[] {
  return command.options.filter(({ hidden, long }) => !hidden && long !== undefined)
}

/** What may follow the words of a command: its commands, options and the values of an argument. */
function nextWords(listed: Listed): string[] {
  const { command } = listed
  return [
    ...commandsOf(command).map(sub => sub.name()),
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ...optionsOf(listed).map(({ long }) => long ?? ''),
    '--help',
  ]
}

function bashScript(listed: readonly Listed[]): string {
  const valued = listed.flatMap(entry =>
    optionsOf(entry)
      .filter(({ required }) => required)
      .map(({ long, argChoices = [] }) => `    '${entry.words} ${long}') words='${argChoices.join(' ')}' ;;`),
  )
  return `_lockstep() {
  local command= word words=
  for word in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "\${command:+$command }$word" in
      ${listed.flatMap(({ words }) => (words === '' ? [] : [`'${words}'`])).join(' | ')})
        command="\${command:+$command }$word" ;;
    esac
  done
  # An option that takes a value: its choices, or files.
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
${valued.join('\n')}
    *)
      case "$command" in
${listed.map(entry => `        '${entry.words}') words='${nextWords(entry).join(' ')}' ;;`).join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o bashdefault -o default -F _lockstep lockstep`
}
