/**
 * Writes screenshots of the dashboard. Without arguments those of the README; with a folder every page in every look and width:
 * `npm run screenshots -- <folder> [--only name,…] [--looks light,…] [--widths 320,…]`. Names begin with `--only`. Sheets of many
 * screenshots are next to them.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { closeBrowser, openPage } from '../test/support/chromium.ts'
import { signIn } from '../test/support/dashboard.ts'
import { writeSheets } from './contact-sheets.ts'
import { checkTable, type Scene, scenes, signInTo, type Stage, type StageName, stages } from './screenshot-scenes.ts'

interface Look {
  readonly context?: BrowserContextOptions
  readonly discreet?: boolean
  /** The font size of the browser. */
  readonly fontSize?: string
  /** The width of A4 between usual margins; else every width. */
  readonly paper?: number
}

const looks: Readonly<Record<string, Look>> = {
  light: { context: { colorScheme: 'light' } },
  dark: { context: { colorScheme: 'dark' } },
  discreet: { context: { colorScheme: 'light' }, discreet: true },
  forced: { context: { colorScheme: 'dark', forcedColors: 'active' } },
  large: { context: { colorScheme: 'light' }, fontSize: '200%' },
  print: { context: { colorScheme: 'dark' }, paper: 718 },
}

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: 'string' }, looks: { type: 'string' }, widths: { type: 'string' } },
})
const [folder] = positionals
const only = flags.only?.split(',')
const widths = (flags.widths ?? '320,360,768,1440').split(',').map(Number)
const running = new Map<StageName, Promise<Stage>>()

if (folder === undefined) await writeShown(join(import.meta.dirname, '../docs/screenshots'))
else await writeAll(folder)
for (const stage of running.values()) await (await stage).service[Symbol.asyncDispose]()
await closeBrowser()

async function writeAll(folder: string) {
  mkdirSync(folder, { recursive: true })
  const chosen = scenes.filter(({ name }) => only?.some(start => name.startsWith(start)) ?? true)
  for (const lookName of flags.looks?.split(',') ?? Object.keys(looks)) {
    const look = looks[lookName]
    if (look === undefined) throw new Error(`there is no look named ${lookName}`)
    for (const width of look.paper === undefined ? widths : [look.paper]) {
      const shots: string[] = []
      for (const [stageName, ofStage] of Map.groupBy(chosen, ({ on = 'sample' }) => on)) {
        shots.push(...(await writeStage({ folder, lookName, look, width }, stageName, ofStage)))
      }
      const scale = width > 1000 ? 0.41 : width > 700 ? 0.51 : 0.71
      await writeSheets(folder, `${lookName}-${width}`, shots.toSorted(), scale)
    }
  }
}

interface View {
  readonly folder: string
  readonly lookName: string
  readonly look: Look
  readonly width: number
}

/** The names of the screenshots of one service. */
async function writeStage(view: View, stageName: StageName, ofStage: readonly Scene[]): Promise<string[]> {
  const stage = await running.getOrInsertComputed(stageName, () => stages[stageName]())
  const shots: string[] = []
  await using browser = await openPage({
    ...view.look.context,
    viewport: { width: view.width, height: 900 },
    timezoneId: 'Europe/Berlin',
  })
  const { page } = browser
  await page.addInitScript(size => {
    addEventListener('DOMContentLoaded', () => document.documentElement.style.setProperty('font-size', size))
  }, view.look.fontSize ?? '')
  const cookie = { name: 'discreet', value: view.look.discreet === true ? '1' : '0', url: stage.service.url }
  await page.context().addCookies([cookie])
  const isOut = ({ signedOut = false }: Scene) => signedOut
  for (const scene of ofStage.toSorted((a, b) => Number(isOut(b)) - Number(isOut(a)))) {
    if (!isOut(scene) && shots.length === ofStage.filter(isOut).length) await signInTo(page, stage)
    const number = String(scenes.indexOf(scene) + 1).padStart(2, '0')
    const name = `${number}-${scene.name}-${view.lookName}-${view.width}`
    shots.push(name)
    await page.goto(stage.service.url + scene.path)
    await page.evaluate(() => globalThis.scrollTo(0, 0))
    // Before anything is done, because a tooltip ends when the window changes.
    await fitHeight(page, view.width)
    await scene.act?.(page, stage)
    if (view.look.paper !== undefined) await page.emulateMedia({ media: 'print' })
    await fitHeight(page, view.width)
    await page.screenshot({ path: join(view.folder, `${name}.png`), animations: 'disabled' })
    await page.setViewportSize({ width: view.width, height: 900 })
    if (view.look.paper !== undefined) await page.emulateMedia({ media: 'screen' })
  }
  for (const problem of browser.problems) console.error(`${view.lookName} ${view.width} ${stageName}: ${problem}`)
  return shots
}

/** As high as the page, so that what is fixed to the bottom is there. */
async function fitHeight(page: Page, width: number) {
  const height = await page.evaluate(() => Math.max(900, Math.min(document.documentElement.scrollHeight, 8000)))
  if (page.viewportSize()?.height !== height) await page.setViewportSize({ width, height })
}

async function writeShown(folder: string) {
  const shown = [
    { name: 'overview', on: 'sample', path: '/', act: undefined },
    { name: 'preview', on: 'fresh', path: '/source/upload', act: checkTable },
  ] as const
  for (const { name, on, path, act } of shown) {
    const stage = await running.getOrInsertComputed(on, () => stages[on]())
    const viewport = { width: 1280, height: 880 }
    await using browser = await openPage({ viewport, timezoneId: 'Europe/Berlin', colorScheme: 'light' })
    await signIn(browser.page, stage.service.url, stage.username)
    await browser.page.goto(stage.service.url + path)
    await act?.(browser.page)
    await browser.page.evaluate(() => globalThis.scrollTo(0, 0))
    await browser.page.screenshot({ path: join(folder, `${name}.png`) })
  }
}
