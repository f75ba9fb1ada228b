import { readFileSync } from 'node:fs'

/**
 * A module and all that it imports as one module without comments, so that a browser loads one file. Each becomes a function that
 * returns what it exports, in the order of their imports, which the linter keeps from being circular. A module that is imported while
 * the page runs stays a file of its own, at the address that `addressOf` gives.
 */
export function joinModules(folder: URL, entry: string, addressOf: (name: string) => string): string {
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
      .replaceAll(DYNAMIC_IMPORT, (_, from: string) => `import('${addressOf(from)}')`)
    parts.set(name, `const ${nameOf(name)} = (() => {\n${body}return { ${exported.join(', ')} }\n})()\n`)
  }
  add(entry)
  return [...parts.values()].join('')
}

/** Of whole lines. */
const COMMENT = /^ *(?:\/\*\*(?:(?!\*\/)[^])*\*\/|\/\/.*)\n/gm
const IMPORT = /^import \{([^}]*)\} from '\.\/([a-z-]+\.js)'\n/gm
const EXPORT = /^export (const|(?:async )?function|class) (\w+)/gm
const DYNAMIC_IMPORT = /\bimport\('\.\/([a-z-]+\.js)'\)/g

/** `chart_draw` of `chart-draw.js` */
function nameOf(file: string): string {
  return file.replace('.js', '').replaceAll('-', '_')
}
