// engine: sqlite
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'
import { needs } from '../support/programs.ts'
import { isWhole } from '../support/sweeps.ts'

const repository = join(import.meta.dirname, '../..')
const isUsable = process.getuid?.() === 0 && existsSync(join(repository, '.git'))
const skip = isUsable ? needs('mmdebstrap', 'unshare', 'npm').skip : 'needs root and a history'
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const [DEMO = '', TEST = ''] = Array.from(
  readFileSync(join(repository, 'README.md'), 'utf8').matchAll(/```sh\n(.*)\n```/g),
  ([, command]) => command,
)

test(
  'in the smallest Debian with Node.js, npm and git, both commands of the README work, and without its library say what to install',
  {
    skip,
  },
  async () => {
    await using folder = await makeFolder()
    // Devices cannot be made where the other files of the tests are.
    const root = mkdtempSync('/var/tmp/lockstep-test-')
    try {
      makeRoot(root)
      const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
      const inside = (command: string) => {
        const settings = ['HOME=/root', 'TERM=dumb', 'PATH=/usr/local/bin:/usr/bin:/bin']
        const network = [`npm_config_registry=${registry}`, `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`]
        const mounts = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev"'
        const enter = `${mounts} && cd "$0" && exec env -i ${[...settings, ...network].join(' ')} "$(command -v chroot)" . sh -c "$1"`
        const namespaces = ['--mount', '--pid', '--fork', '--kill-child']
        return folder.spawn('unshare', [...namespaces, 'sh', '-c', enter, root, `cd /root/project && ${command}`])
      }
      {
        await using demo = inside(DEMO)
        const [, url = ''] = await demo.says(/(http:\/\/127\.0\.0\.1:\d+)/)
        assert.equal((await fetch(`${url}/signin`)).status, 200)
      }
      // A sample has some files whose programs such a machine lacks.
      const { code, said } = await endOf(inside(isWhole ? TEST : `${TEST} -- docs/proxies backup/whole`))
      assert.equal(code, 0, /^FAILED[^]{1,6000}/m.exec(said)?.[0] ?? said.slice(-6000))
      assert.match(said, /\n\d+ passed, 0 failed, \d+ skipped\n/)
      execFileSync('find', [join(root, 'usr/lib'), '-name', 'libatomic.so.1*', '-delete'])
      for (const command of ['npm test', 'npm start', 'npm run check', 'npm run demo']) {
        const { code, said } = await endOf(inside(command))
        assert.notEqual(code, 0, command)
        const ours = said.split('\n').filter(line => line !== '' && !/^(>|npm )/.test(line))
        assert.equal(ours.length, 1, said)
        assert.match(ours[0] ?? '', /^lockstep: .*: on Debian, run: apt install libatomic1 libstdc\+\+6$/)
      }
    } finally {
      rmSync(root, { recursive: true, force: true })
    }
  },
)

/** A Debian with this machine's Node.js and npm, and a clone of this repository. */
function makeRoot(root: string) {
  const [, release = ''] = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? []
  const targets = ['indextargets', '--format', '$(REPO_URI)', 'Created-By: Packages', `Codename: ${release}`]
  const [mirror = ''] = execFileSync('apt-get', targets, { encoding: 'utf8' }).split('\n')
  const options = ['--variant=minbase', '--include=git,ca-certificates,libatomic1', '--dpkgopt=force-unsafe-io']
  execFileSync('mmdebstrap', [...options, release, root, mirror], { stdio: 'pipe' })
  const folders = (process.env['PATH'] ?? '').split(':').filter(path => !path.includes('node_modules'))
  const find = (name: string) =>
    realpathSync(folders.map(path => join(path, name)).find(path => existsSync(path)) ?? assert.fail(name))
  const modules = join(root, 'usr/local/lib/node_modules')
  mkdirSync(modules, { recursive: true })
  cpSync(find('node'), join(root, 'usr/local/bin/node'))
  cpSync(dirname(dirname(find('npm'))), join(modules, 'npm'), { recursive: true })
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  // As this machine reaches the registry.
  const settings = join(homedir(), '.npmrc')
  for (const file of ['/etc/resolv.conf', '/etc/hosts', CERTIFICATES]) cpSync(file, join(root, file))
  if (existsSync(settings)) cpSync(settings, join(root, 'root/.npmrc'))
  execFileSync('git', ['clone', '--quiet', repository, join(root, 'root/project')])
}

/** How it ended, and everything that it said. */
async function endOf(running: ReturnType<Awaited<ReturnType<typeof makeFolder>>['spawn']>) {
  running.process.stdin?.end()
  const { code, stdout, stderr } = await running.ended
  return { code, said: stdout + stderr }
}
