import { InvalidArgumentError, Option } from 'commander'
import { checkRecipient, readIdentities } from '../backup/encryption.ts'
import { say } from './print.ts'
import { errorCode } from './terminal.ts'
import { Refusal } from '../contract/refusal.ts'

/** The options of commands that write and read encrypted files. */

export function recipientOption(): Option {
  return new Option('--recipient <age1…>', 'encrypt it (age) for this recipient; can be repeated').argParser<string[]>(
    (recipient, previous: string[] | undefined) => [...(previous ?? []), parseRecipient(recipient)],
  )
}

export function identityOption(): Option {
  return new Option('--identity <file>', 'the file with the identity (age) that decrypts it')
}

/** The identities of the file. Throws Refusal. */
export function identitiesOf({ identity }: { readonly identity?: string }): readonly string[] | undefined {
  if (identity === undefined) return undefined
  try {
    return readIdentities(identity)
  } catch (error) {
    // The message of the package could hold a part of the file.
    const code = errorCode(error)
    const reason = code === undefined ? '' : ` (${code})`
    throw new Refusal('usage', `--identity: ${identity} is not a file with age identities that can be read${reason}`)
  }
}

/** Without a second identity, an accident with the first one loses what was encrypted. */
export function warnOfOneRecipient(recipients: readonly string[] | undefined) {
  if (recipients?.length !== 1) return
  say('warning: with one recipient, whoever loses its identity cannot open this any more: add a second --recipient')
}

function parseRecipient(recipient: string): string {
  try {
    checkRecipient(recipient)
    return recipient
  } catch {
    throw new InvalidArgumentError('It must be an age recipient, such as age1….')
  }
}
