import { readFileSync } from 'node:fs'

/**
 * A module and all that it imports as one module without comments, so that a browser loads one file. Each becomes a function that
 * returns what it exports, in the order of their imports, which the linter keeps from being circular.
 */
export function joinModules(folder: URL, entry: string): string {
  const parts = new Map<string, string>()
  const add = (name: string) => {
    if (parts.has(name)) return
    const exported: string[] = []
    const body = readFileSync(new URL(name, folder), 'utf8')
      .replaceAll(COMMENT, '')
      .replaceAll(IMPORT, (_, names: string, from: string) => {
        add(from)
        return `const {${names.replaceAll(' as ', ': ')}} = ${nameOf(from)}\n`
      })
      .replaceAll(EXPORT, (_, declaration: string, name: string) => {
        exported.push(name)
        return `${declaration} ${name}`
      })
    parts.set(name, `const ${nameOf(name)} = (() => {\n${body}return { ${exported.join(', ')} }\n})()\n`)
  }
  add(entry)
  return [...parts.values()].join('')
}

/** Of whole lines. */
const COMMENT = /^ *(?:\/\*\*(?:(?!\*\/)[^])*\*\/|\/\/.*)\n/gm
const IMPORT = /^import \{([^}]*)\} from '\.\/([a-z-]+\.js)'\n/gm
const EXPORT = /^export (const|(?:async )?function|class) (\w+)/gm

/** `chart_draw` of `chart-draw.js` */
function nameOf(file: string): string {
  return file.replace('.js', '').replaceAll('-', '_')
}
