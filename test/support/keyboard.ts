import type { Page } from 'playwright-core'

/** The text of what has the focus. */
export function focusedText(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
}

/** Moves on until something with this text has the focus. */
export async function tabTo(page: Page, text: string) {
  for (let presses = 0; presses < 60; presses += 1) {
    if ((await focusedText(page)).startsWith(text)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${text}`)
}
