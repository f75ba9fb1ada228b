// engine: sqlite
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { makeFolder } from '../support/command.ts'
import { account, partnership } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'

type Refused = readonly [words: string | readonly string[], says: RegExp, env?: Readonly<Record<string, string>>]

const add = (username: string) => ['account', 'add', '--username', username]
const create = (who: string, name: string) => ['key', 'create', '--account', who, '--name', name]

/** With exit code 1: what was asked for is not done. Ann and Fay have a tier, Ben has none, and that of Cas has ended; Ben may read Ann. */
const refused: readonly Refused[] = [
  [add('2026'), /username must not be all digits/],
  [add('ann'), /already an account with this username/],
  [add(' Ann'), /already an account with this username/],
  [[...add('dan'), '--id', '3'], /already an account with this id/],
  [add('\u001b[31mred'), /without control characters/],
  ['account remove --account dan --yes', /no account with this username/],
  ['account set-tier --account 99999999999999999999 --tier ultra', /no account with this id/],
  ['access add --owner ann --partner 1', /no access to itself/],
  ['access add --owner ann --partner dan', /no account with this username/],
  ['access remove --owner ben --partner ann', /no such access/],
  [create('ann', 'x'.repeat(65)), /1 to 64 characters/],
  [create('ann', 'a\tb'), /no control characters/],
  [
    create('ben', 'x'),
    /account 2 has no subscription tier, .*: set one with \.\/lockstep account set-tier --account 2 --tier ultra$/m,
  ],
  [create('cas', 'x'), /account 3 has a subscription tier that ended at 2025-01-01T00:00:00Z, /],
  [[...create('ann', 'x'), '--expires', '2020-01-01'], /in the future/],
  ['key revoke 99', /no API key with this id/],
]

const endless = ['8000y', '10000y', '280000y', '999999999y', '9999-12-31T23:59:59-00:01']
const tooLate = ['10000-01-01', '+010000-01-01T00:00:00Z', '9999-12-31T23:59:59-00:01', 'never', '2026-02-30']

/** A source and a key for it. */
const source = (url: string) => ({ LOCKSTEP_SOURCE_URL: url, LOCKSTEP_SOURCE_TOKEN: 'lks_SECRET' })
const history = source('https://history.example')
const entities = 'homeassistant entities --broker'

/** With exit code 2: the command is used wrongly. */
const misused: readonly Refused[] = [
  ['', /Commands:/],
  ['acount', /unknown command.*\n\(Did you mean account\?\)\n\(add --help/],
  ['account add', /--username <name>' not specified\n\(add --help/],
  ['account list --jsn', /unknown option '--jsn'\n\(Did you mean --json\?\)/],
  ['account add --username x --id 1e1', /--id.*must be an integer of 1 or more/],
  ['account add --username x --tier gold', /choices are ultra, pioneer, founder, employee, none/],
  ...tooLate.map((until): Refused => [
    `account set-tier --account ann --tier ultra --until ${until}`,
    /RFC 3339 date-time or YYYY-MM-DD, up to 9999-12-31\. Leave the option out for no end/,
  ]),
  ['import', /missing required argument 'file'/],
  ['import x.ndjson --on-conflict maybe', /choices are fail, skip, replace/],
  ['import nowhere.ndjson', /nowhere.ndjson cannot be read \(ENOENT\): nothing was stored/],
  ['import - -', /- is stdin: give it once/],
  ['import .', /\. is a folder: give the archives in it/],
  ...endless.map((expires): Refused => [
    `key create --account ann --name x --expires ${expires}`,
    /earlier end, or never|must be a span such as 30d .*, never, or an RFC 3339 date-time/,
  ]),
  ['key create --account x --name x --expires soon', /30d.*never.*RFC 3339/],
  ['key create --account x --name x --scope all', /choices are lkbx:read, dtt:read, status:read/],
  ['key revoke first', /id of an API key, as key list shows it/],
  ['account set-password --account ann hunter2', /pipe it to stdin/],
  ['account set-password --account ann --password hunter2', /unknown option/],
  ...['', 'a.db --to .'].map((words): Refused => [`backup ${words}`, /name a file, or a folder with --to/]),
  ['backup a.db --keep 7d', /--keep, --check and --every need --to/],
  ['backup --to words.txt', /words\.txt is a file: name a folder/],
  ['backup --to . --keep 7y', /numbers of days, weeks and months/],
  ['backup a.db --recipient age1nobody', /must be an age recipient/],
  ['backup check nothing.db', /there is no file nothing.db/],
  ['backup nowhere/x.db', /there is no folder \S+nowhere/],
  ['rejected show 0', /must be a number from `rejected list`/],
  ['completion tcsh', /choices are bash/],
  ['move --to mysql://localhost/x', /--to must be sqlite:<path> or postgres:/],
  ['account list --database mysql://localhost/x', /--database must be sqlite:<path> or postgres:/],
  ['serve --port 65536', /a port from 0 to 65535/],
  [
    'serve',
    /PUBLIC_URL must be an http or https address without username/,
    { LOCKSTEP_PUBLIC_URL: 'https://a:hunter2@b.example' },
  ],
  ['serve', /^lockstep: LOCKSTEP_SECRET_FILE: \S+ cannot be made/, { LOCKSTEP_SECRET_FILE: '/nowhere/secret' }],
  [
    'serve',
    /PULL_DATABASE_URL must name the database of the service/,
    { LOCKSTEP_PULL_DATABASE_URL: 'sqlite:other.db' },
  ],
  ['mcp', /set LOCKSTEP_TOKEN to an API key of the service at http:\/\/127\.0\.0\.1:5625/],
  ['pull', /--from or LOCKSTEP_SOURCE_URL/, { LOCKSTEP_SOURCE_TOKEN: 'hunter2' }],
  ['pull', /SOURCE_TOKEN or LOCKSTEP_SOURCE_TOKEN_FILE/, { LOCKSTEP_SOURCE_URL: 'https://history.example' }],
  ['pull', /LOCKSTEP_SOURCE_URL must name one server, without wildcard/, source('https://*.example')],
  // What an option replaces is not judged.
  ['pull --from ftp://localhost', /--from must be an https address/, source('https://*.example')],
  ['pull --every 5', /span such as 30s, 5m/, history],
  ['pull --every 5m --out x', /use either --out/, history],
  ['pull --out - --json', /use either --out/, history],
  ['pull', /SOURCE_TOKEN must be an API key/, { ...history, LOCKSTEP_SOURCE_TOKEN: 'hunter2 key' }],
  [
    'pull',
    /TOKEN_FILE: others can read words\.txt, so it is refused: chmod 600/,
    { LOCKSTEP_SOURCE_URL: 'https://history.example', LOCKSTEP_SOURCE_TOKEN_FILE: 'words.txt' },
  ],
  ['homeassistant entities', /required option '--broker <url>' not specified/],
  [`${entities} mqtt://ha:hunter2@127.0.0.1`, /leave out username and password/],
  [`${entities} http://127.0.0.1`, /--broker must be an address such as mqtts/],
  [[...entities.split(' '), 'mqtt://127.0.0.1', '--id', 'Ann Home'], /lower-case letters/],
  [`${entities} mqtt://127.0.0.1 --ca x.pem`, /--ca is only used with mqtts:/],
  [`${entities} mqtts://127.0.0.1 --ca x.pem`, /x\.pem cannot be read/],
]

const NO_TABLES = /the database has no tables of Lockstep: run `lockstep migrate`/
const NEWER = /a newer version of Lockstep wrote this database \(schema 99/

/** With exit code 3: the store cannot be used. */
const unusable: readonly Refused[] = [
  [
    'account list --database sqlite:nowhere.db',
    /no database at nowhere\.db\n.*--database.*LOCKSTEP_DATABASE_URL.*account add/,
  ],
  ['serve --no-migrate --port 0 --database sqlite:nowhere.db', /no database at nowhere\.db/],
  ['account list --database sqlite:words.txt', /words\.txt cannot be opened: file is not a database/],
  [[...add('ann'), '--database', 'sqlite:words.txt/below/new.db'], /words\.txt\/below\/new\.db cannot be opened/],
  ['account list --database sqlite:newer.db', NEWER],
  ['account list --database sqlite:empty.db', NO_TABLES],
  ['serve --no-migrate --port 0 --database sqlite:empty.db', NO_TABLES],
]

for (const [code, title, rows] of [
  [1, 'what is refused ends with code 1, says why on stderr and changes nothing', refused],
  [2, 'wrong usage ends with code 2 and a message on stderr that says what to do instead', misused],
  [3, 'a store that cannot be used ends with code 3 and a clear message on stderr', unusable],
] as const) {
  test(title, async t => {
    await using folder = await makeFolder()
    await makeStores(folder.file)
    if (code === 1) {
      await using store = await folder.store()
      const cas = account(3, 'cas', { subscriptionEndsAt: '2025-01-01T00:00:00Z' })
      const accounts = [account(1, 'ann'), account(2, 'ben', { subscriptionTier: null }), cas, account(4, 'fay')]
      await importArchive(store, archiveOf([...accounts, partnership(1, 2)]))
    }
    const before = await folder.run(['export'])
    for (const [words, says, env = {}] of rows) {
      const args = typeof words === 'string' ? words.split(' ').filter(word => word !== '') : words
      await t.test(`lockstep ${args.join(' ')}`.slice(0, 80), async () => {
        const ended = await folder.run(args, { env })
        assert.match(ended.stderr, says)
        assert.deepEqual([ended.code, ended.stdout], [code, ''])
        assert.doesNotMatch(ended.stderr, /\n {4}at |hunter2/, 'no stack trace and no secret')
      })
    }
    assert.deepEqual(await folder.run(['export']), before)
    if (code === 1) assert.equal((await folder.run(['key', 'list', '--json'])).stdout, '[]\n')
    else assert.ok(!existsSync(folder.file('data')), 'none of them makes a database')
  })
}

/** Files that are no database of this version. */
async function makeStores(file: (name: string) => string) {
  writeFileSync(file('words.txt'), 'no database at all, only words\n'.repeat(100))
  mkdirSync(file('folder'))
  const empty = new DatabaseSync(file('empty.db'))
  empty.exec('pragma user_version = 1')
  empty.close()
  const newer = new DatabaseSync(file('newer.db'))
  newer.exec('create table migration (version, name, checksum, applied_at)')
  newer.exec(`insert into migration values (99, 'later', 'x', 0)`)
  newer.close()
}
