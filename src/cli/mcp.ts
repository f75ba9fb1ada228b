import { type Command, Option } from 'commander'
import { makeClient } from '../client.ts'
import { readConfig, settings } from '../config.ts'
import { serveMcp } from '../mcp/server.ts'
import { withOptions } from './options.ts'
import { Refusal } from '../contract/refusal.ts'

export function addMcpCommand(program: Command) {
  withOptions(program.command('mcp'), new Option('--texts', 'include names and texts, marked as data'))
    .summary('let an assistant read a running service')
    .description(
      `Lets an assistant read a running service: a server of the Model Context Protocol on stdin and stdout, for the service at ${settings.url.env} with the API key ${settings.token.env}.`,
    )
    .action(({ texts = false }: { texts?: boolean }) => {
      const { url, token } = readConfig(process.env, ['url', 'token'])
      if (token === '') throw new Refusal('usage', `set ${settings.token.env} to an API key of the service at ${url}`)
      serveMcp({ client: makeClient({ baseUrl: url, token, retries: 0 }), texts })
    })
}
