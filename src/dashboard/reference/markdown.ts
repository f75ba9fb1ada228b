import { table } from '../layout/components.ts'
import { html, type Html, type Part } from '../html.ts'

/** The Markdown of the reference as markup: headings, paragraphs, lists, tables and code in fences; in lines, code and strong text. */
export function markdown(text: string): Html[] {
  const blocks: Html[] = []
  for (const block of text.split(FENCE)) {
    const [, code] = /^```\w*\n([^]*?)\n```$/.exec(block.trim()) ?? []
    if (code !== undefined) blocks.push(codeBlock(code, `Commands, ${blocks.length}`))
    else blocks.push(...block.split(/\n{2,}/).flatMap(part => (part.trim() === '' ? [] : [paragraph(part.trim())])))
  }
  return blocks
}

/** Text in a line, where backquotes enclose code and asterisks strong text. */
export function inline(text: string): Part[] {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).map(part => {
    if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`
    return part.startsWith('**') ? html`<strong>${part.slice(2, -2)}</strong>` : part
  })
}

/** Text of a fixed width that scrolls; `name` is its accessible name. */
export function codeBlock(text: string, name: string): Html {
  return html`<div class="code"><pre tabindex="0" role="region" aria-label="${name}"><code>${text}</code></pre></div>`
}

/** The anchor of an error code, in the table of them. */
export function anchorOfCode(code: string): string {
  return `error-${code}`
}

/** Separates code in fences from what is around it. */
const FENCE = /(^```[^]*?^```$)/m

function paragraph(text: string): Html {
  const [, heading] = /^## (.*)$/.exec(text) ?? []
  if (heading !== undefined) return html`<h2 id="${heading.toLowerCase().replaceAll(' ', '-')}">${heading}</h2>`
  if (text.startsWith('| ')) return tableOf(text)
  const lines = text.replaceAll(/\n(?!- )\s*/g, ' ').split('\n')
  if (!text.startsWith('- ')) return html`<p>${inline(lines.join(' '))}</p>`
  return html`<ul>${lines.map(line => html`<li>${inline(line.slice(2))}</li>`)}</ul>`
}

function tableOf(text: string): Html {
  const [titles = [], , ...rows] = text.split('\n').map(line => line.slice(2, -2).split(' | '))
  const columns = titles.map((title, index) => ({ title, cell: (row: readonly string[]) => cell(row[index] ?? '') }))
  return table(titles.join(', '), columns, rows)
}

/** A cell that is only a word of code is an error code. */
function cell(text: string): Part {
  const [, code] = /^`([a-z_]+)`$/.exec(text) ?? []
  return code === undefined ? inline(text) : html`<code id="${anchorOfCode(code)}">${code}</code>`
}
