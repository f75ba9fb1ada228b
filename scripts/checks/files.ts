import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

export const root = join(import.meta.dirname, '../..')

/** The text of a file of the project. */
export const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The paths below a folder of the project, with slashes. */
export function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(file => file.split(sep).join('/'))
}

/** The documents for people: those of the project's folder, of docs and of bench. */
export const documents = ['.', 'docs', 'bench'].flatMap(folder =>
  readdirSync(join(root, folder))
    .filter(name => name.endsWith('.md'))
    .map(name => join(folder, name)),
)
