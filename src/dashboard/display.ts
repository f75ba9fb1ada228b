/** How pages look and behave in this browser. Stored in cookies, because the server renders the pages. */
export interface Display {
  readonly theme: Theme
  /** Whether names, kinds and texts are replaced by neutral ones. */
  readonly discreet: boolean
  /** Whether the key D switches discreet mode. People who use voice control, or press keys by accident, switch it off. */
  readonly hasShortcut: boolean
}

export const themes = ['auto', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

export function readDisplay(cookies: ReadonlyMap<string, string>): Display {
  return {
    theme: themes.find(theme => theme === cookies.get('theme')) ?? 'auto',
    discreet: cookies.get('discreet') === '1',
    hasShortcut: cookies.get('shortcut') !== '0',
  }
}
