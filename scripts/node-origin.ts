import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/**
 * Compares the Node.js of a package, which others than its makers pack, with the official build. Returns a sentence that says whether it
 * was compared; throws if it is another one.
 */
export async function compareNode(folder: string, from: string): Promise<string> {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const build = `node-v${version}-${basename(folder).replace('node-', '')}`
  const download = async (file: string) => {
    const response = await fetch(`${from}/v${version}/${file}`, { signal: AbortSignal.timeout(120_000) })
    if (!response.ok) throw new Error(`status ${response.status} for ${file}`)
    return Buffer.from(await response.arrayBuffer())
  }
  let sums: string
  let archive: Buffer
  try {
    sums = (await download('SHASUMS256.txt')).toString()
    archive = await download(`${build}.tar.gz`)
  } catch (error) {
    const { message, cause } = error as Error
    return `${name} ${version} was NOT compared with the official Node.js at ${from}: ${(cause as Error | undefined)?.message ?? message}`
  }
  if (!sums.split('\n').includes(`${sha256(archive)}  ${build}.tar.gz`))
    throw new Error(`${build}.tar.gz of ${from} is not the file that SHASUMS256.txt names`)
  const work = mkdtempSync(join(tmpdir(), 'lockstep-node-'))
  try {
    writeFileSync(join(work, 'node.tar.gz'), archive)
    execFileSync('tar', ['-xzf', 'node.tar.gz', `${build}/bin/node`], { cwd: work })
    const [official, packed] = [join(work, build), folder].map(place => sha256(readFileSync(join(place, 'bin/node'))))
    if (official !== packed)
      throw new Error(`${name} ${version} is not the official Node.js: ${packed}, not ${official}`)
    return `${name} ${version} is the official Node.js`
  } finally {
    rmSync(work, { recursive: true })
  }
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
