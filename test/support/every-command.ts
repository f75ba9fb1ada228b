/** A use of every command, on the database of a service with the sample. */

export interface Use {
  /** The words of the command line; those before the first option or value name the command. */
  readonly args: readonly string[]
  /** What it prints. */
  readonly says: RegExp
  readonly code?: number
  /** It runs until it is stopped. */
  readonly goesOn?: boolean
  readonly input?: string
}

/** In this order, with a folder that can be written. The service listens at `url`. */
export function everyUse(folder: string, url: string): readonly Use[] {
  const copy = `${folder}/copy.db`
  const [restored, moved] = ['restored', 'moved'].map(name => `sqlite:${folder}/${name}.db`)
  const use = (line: string, says: RegExp, more: Partial<Use> = {}): Use => ({ args: line.split(' '), says, ...more })
  return [
    use('migrate', /^the schema has version \d+, as before$/m),
    use('doctor', /^ok +schema$/m, { code: 1 }),
    use('account add --username zoe', /zoe/),
    use('account list', /zoe +ultra/),
    use('account set-password --account zoe', /password/i, { input: 'a long and unusual password\n' }),
    use('account invite --account zoe', /\/invitation\/\w+/),
    use('account events --account zoe', /Invitation made/),
    use('access add --owner zoe --partner alex', /^Access is given\.$/m),
    use('access list', /zoe/),
    use('access remove --owner zoe --partner alex', /^Access is ended\.$/m),
    use('key create --account zoe --name second', /^lks_\w+$/m),
    use('key list --account zoe', /second/),
    use('key revoke --all --account zoe', /are revoked/),
    use('account set-tier --account zoe --tier none', /^The tier is set\.$/m),
    use('account remove --account zoe --yes', /^The account is removed/m),
    use('export', /^\{"kind":"end"/m),
    use('page --account alex', /^<!doctype html>/i),
    use('access reads --owner alex', /export/),
    use('rejected list', /reason/),
    use('rejected retry', /^0 of 0 rows/m),
    use('rejected show 1', /there is no such row/, { code: 1 }),
    use(`backup ${copy}`, /complete and verified/),
    use(`backup check --full ${copy}`, /is intact/),
    use(`restore ${copy} --database ${restored}`, /^restored \d+ rows/m),
    use(`move --database ${restored} --to ${moved}`, /^moved \d+ rows$/m),
    use(`pull --database ${moved} --from ${url} --account alex`, /unchanged/),
    use(`pull status --database ${moved}`, /127\.0\.0\.1/),
    use(`pull prune --database ${moved} --yes`, /nothing is gone/),
    use('mcp', /"serverInfo":\{"name":"lockstep"/, { input: `${JSON.stringify(INITIALIZE)}\n` }),
    use('homeassistant entities --broker mqtt://127.0.0.1:1', /the broker does not answer/, { goesOn: true }),
    use(`homeassistant history --server ws://127.0.0.1:1 --token-file ${copy}`, /does not answer/, { code: 4 }),
    use('demo --port 0', /sample data: http/, { goesOn: true }),
    use('completion bash', /complete /),
    use('help key', /^Usage: lockstep key/m),
  ]
}

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
