import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openPage } from '../test/support/chromium.ts'

const WIDTH = 1200
const HEIGHT = 1000
/** Pixels of a screenshot that are shown; only the API reference has more. */
const MAX_SHOWN = 6000
const CAPTION = 18
const GAP = 8

/**
 * Writes screenshots of one width into few pictures, `sheet-<name>-01.png` and so on, so that many can be looked at quickly.
 * What is higher than a sheet goes on in the next column.
 */
export async function writeSheets(folder: string, name: string, shots: readonly string[], scale: number) {
  await using browser = await openPage({ viewport: { width: WIDTH, height: HEIGHT } })
  for (const [index, columns] of arrange(folder, shots, scale).entries()) {
    await browser.page.setContent(markupOf(columns, scale))
    const number = String(index + 1).padStart(2, '0')
    await browser.page.screenshot({ path: join(folder, `sheet-${name}-${number}.png`) })
  }
}

interface Shot {
  readonly name: string
  readonly image: string
  readonly width: number
  readonly height: number
}

/** A part of a screenshot, from `top` on; lengths are those of the sheet. */
interface Part {
  readonly shot: Shot
  readonly top: number
  readonly height: number
}

/** Sheets of columns of parts. */
function arrange(folder: string, names: readonly string[], scale: number): Part[][][] {
  const columns: Part[][] = [[]]
  let left = HEIGHT
  let width = 0
  for (const name of names) {
    const shot = readShot(folder, name)
    width = shot.width * scale + GAP
    const height = Math.ceil(Math.min(shot.height, MAX_SHOWN) * scale)
    for (let top = 0; top < height;) {
      if (left < Math.min(height - top, 240) + CAPTION) {
        columns.push([])
        left = HEIGHT
      }
      const part = { shot, top, height: Math.min(height - top, left - CAPTION) }
      columns.at(-1)?.push(part)
      left -= part.height + CAPTION + GAP
      top += part.height
    }
  }
  const perSheet = Math.max(1, Math.floor((WIDTH + GAP) / width))
  return Array.from({ length: Math.ceil(columns.length / perSheet) }, (_, index) =>
    columns.slice(index * perSheet, (index + 1) * perSheet),
  )
}

function readShot(folder: string, name: string): Shot {
  const file = readFileSync(join(folder, `${name}.png`))
  return { name, image: file.toString('base64'), width: file.readUInt32BE(16), height: file.readUInt32BE(20) }
}

function markupOf(columns: readonly Part[][], scale: number): string {
  const part = ({ shot, top, height }: Part) => `
    <figcaption>${shot.name}${top === 0 ? '' : ', continued'}</figcaption>
    <div style="height: ${height}px"><img width="${shot.width * scale}" style="margin-top: -${top}px" src="data:image/png;base64,${shot.image}"></div>`
  return `<!doctype html><style>
    body { display: flex; gap: ${GAP}px; margin: 0; background: #b8a; }
    figure { margin: 0; font: 12px/${CAPTION}px sans-serif; }
    div { margin-bottom: ${GAP}px; overflow: hidden; }
    img { display: block; }
  </style>${columns.map(parts => `<figure>${parts.map(part).join('')}</figure>`).join('')}`
}
