import { type Command, InvalidArgumentError, Option } from 'commander'
import { settings } from '../config.ts'
import { parseId } from '../contract/parameters.ts'

export function databaseOption(): Option {
  return new Option('--database <url>', `where the records are (${sourceOf(settings.databaseUrl)})`)
}

export function jsonOption(): Option {
  return new Option('--json', 'print JSON instead of a table')
}

/** What reads a number of something; `what` completes "It must be". */
export function idParser(what: string): (text: string) => number {
  return text => {
    const id = parseId(text)
    if (id === undefined) throw new InvalidArgumentError(`It must be ${what}.`)
    return id
  }
}

export function withOptions(command: Command, ...options: Option[]): Command {
  for (const option of options) command.addOption(option)
  return command
}

/** Where the value of an option comes from if it is not given, for the help of that option. */
export function sourceOf({ env, fallback }: { readonly env: string; readonly fallback: string }): string {
  return `${env}, else ${fallback}`
}
