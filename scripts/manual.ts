import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'

/** The manual page of the program in this file, from the help of its commands. */
export async function makeManual(cli: string, date: Date): Promise<string> {
  const { makeProgram } = (await import(pathToFileURL(cli).href)) as { readonly makeProgram: () => Promise<Command> }
  const program = await makeProgram()
  const help = program.createHelp()
  let main = ''
  program.configureOutput({ writeOut: text => (main += text) }).outputHelp()
  return `${[
    `.TH LOCKSTEP 1 ${date.toISOString().slice(0, 10)}`,
    '.SH NAME',
    escape(`lockstep - ${program.description().replace(/\.$/, '')}`),
    '.SH SYNOPSIS',
    escape(help.commandUsage(program)),
    '.SH COMMANDS',
    ...commandsBelow(program),
    '.SH NOTES',
    // What the main help says after its lists.
    ...(main.trim().split('\n\n').at(-1) ?? '').split('\n').flatMap(line => ['.PP', escape(line)]),
  ].join('\n')}\n`
}

function commandsBelow(parent: Command): string[] {
  const help = parent.createHelp()
  const listed = help.visibleCommands(parent).filter(command => parent.commands.includes(command))
  return listed.flatMap(command => [
    `.SS "${escape(help.commandUsage(command))}"`,
    escape(help.commandDescription(command)),
    ...help
      .visibleArguments(command)
      .flatMap(argument => entry(help.argumentTerm(argument), help.argumentDescription(argument))),
    ...help.visibleOptions(command).flatMap(option => entry(help.optionTerm(option), help.optionDescription(option))),
    ...commandsBelow(command),
  ])
}

function entry(term: string, description: string): string[] {
  return ['.TP', `\\fB${escape(term)}\\fR`, escape(description)]
}

/** Text, in which nothing is a command or a hyphen of typesetters. */
function escape(text: string): string {
  return text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll('"', String.raw`\(dq`)
    .replaceAll(/^(?=[.'])/gm, String.raw`\&`)
}
