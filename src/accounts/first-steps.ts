import { ownCommand } from '../version.ts'

/** The commands that copy a history from another server into an empty service, in order; `options` are added to each command. */
export function firstPullCommands(options = ''): readonly string[] {
  return [
    READ_TOKEN,
    `${PULL}${options}`,
    `${ownCommand} account list${options}`,
    `${ownCommand} account invite --account alex${options}`,
  ]
}

const READ_TOKEN = 'read -rs LOCKSTEP_SOURCE_TOKEN && export LOCKSTEP_SOURCE_TOKEN'
const PULL = `${ownCommand} pull --from https://history.example`

/** The commands with which the operator copies the records of an account that is here. */
export function operatorPullCommands(account: number): readonly string[] {
  return [READ_TOKEN, `${PULL} --account ${account}`]
}

/** The commands for an empty service, in order, with placeholders for names and numbers. */
export const firstAccountCommands: readonly { readonly command: string; readonly what: string }[] = [
  {
    command: `${ownCommand} account add --username NAME --id NUMBER`,
    what: 'Adds your account, with the name and the number that it has at the server your records are on.',
  },
  {
    command: `${ownCommand} account invite --account NAME`,
    what: 'Prints a link, good once and for 24 hours: open it and choose a password or a passkey.',
  },
  { command: READ_TOKEN, what: 'Waits for an API key of that server to be pasted.' },
  { command: PULL, what: 'Copies your records. Put the address of that server in place of this one.' },
]
