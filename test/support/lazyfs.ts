import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Folder } from './command.ts'
import { until } from './waiting.ts'

/** A file system in `disk` of a folder that drops what was not synced: LazyFS, of which `program` is the path. */
export async function mountLazyFs(folder: Folder, program: string) {
  const [path, commands, completed] = [folder.file('disk'), folder.file('commands'), folder.file('completed')]
  for (const name of ['disk', 'kept']) mkdirSync(folder.file(name))
  writeFileSync(
    folder.file('lazyfs.toml'),
    `[faults]\nfifo_path="${commands}"\nfifo_path_completed="${completed}"\n[cache]\napply_eviction=false\n[cache.simple]\ncustom_size="128mb"
blocks_per_page=1\n[filesystem]\nlog_all_operations=false\nlogfile="${folder.file('lazyfs.log')}"\n`,
  )
  const options = ['-o', 'allow_other', '-o', 'modules=subdir', '-o', `subdir=${folder.file('kept')}`, '-f']
  const isMounted = () => readFileSync('/proc/mounts', 'utf8').includes(` ${path} `)
  const mount = async () => {
    const process = spawn(program, [path, '--config-path', folder.file('lazyfs.toml'), ...options], { stdio: 'ignore' })
    await until(async () => isMounted() && existsSync(commands) && existsSync(completed))
    // It waits for a reader.
    return { process, answers: folder.spawn('cat', [completed]) }
  }
  let running = await mount()
  const unmount = async () => {
    const ended = once(running.process, 'exit')
    spawnSync('umount', ['--lazy', path])
    running.process.kill('SIGKILL')
    await ended
    await running.answers[Symbol.asyncDispose]()
    for (const fifo of [commands, completed]) rmSync(fifo)
  }
  return {
    file: (name: string) => `${path}/${name}`,
    /** Drops what was not synced. */
    async cut() {
      appendFileSync(commands, 'lazyfs::clear-cache\n')
      await running.answers.says(/finished::clear-cache/)
      await unmount()
      running = await mount()
    },
    [Symbol.asyncDispose]: unmount,
  }
}
