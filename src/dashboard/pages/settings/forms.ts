import { type Choices, options, setting } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { themes, type Visit } from '../../page.ts'
import { capital, languages } from '../../text/text.ts'
import { unitNames } from '../../visit.ts'

/** How the account sees its records everywhere, and in this browser. */
export function accountSettings({ viewer, query }: Visit): Html {
  const { session, timeZone, units, theme } = viewer
  const saved = (title: string, name: string) =>
    html`${title}${query.get('saved') === name ? html` <span class="state on" role="status">Saved</span>` : nothing}`
  const allZones = zones(timeZone).map(zone => [zone, zone.replaceAll('_', ' ')] as const)
  return html`
    ${setting(saved('Time zone', 'timeZone'), nothing, select('Time zone', 'timeZone', allZones, timeZone))}
    ${setting(saved('Dates and numbers', 'language'), nothing, select('Dates and numbers', 'language', languageChoices, session.language))}
    ${setting(saved('Distances', 'units'), nothing, choice('Distances', '/settings', 'units', Object.entries(unitNames), units))}
    ${setting('Theme', 'In this browser.', choice('Theme', '/display', 'theme', themeChoices, theme))}
    ${setting(
      saved('Weekly goal', 'weeklyGoal'),
      'Repetitions a week, on Overview and Training.',
      html`
        <form class="row" method="post" action="/settings" data-submit-on-change>
          <input name="weeklyGoal" aria-label="Weekly goal" placeholder="e.g. 2000" size="8" inputmode="numeric" maxlength="6" autocomplete="off" value="${session.weeklyGoal ?? ''}">
          <button class="small no-script">Save</button>
        </form>
      `,
    )}
  `
}

export function privacySettings({ viewer: { discreet, hasShortcut } }: Visit): Html {
  return html`
    ${setting('Hide names', 'Neutral words in place of names, types and texts, in this browser.', choice('Hide names', '/display', 'discreet', SWITCH, discreet ? '1' : '0'))}
    ${setting('Shortcut', 'The key D turns Hide names on and off.', choice('Shortcut', '/display', 'shortcut', SWITCH, hasShortcut ? '1' : '0'))}
  `
}

const languageChoices: Choices = [
  ['', 'As this browser'],
  ...languages.map(tag => [tag, capital(new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag)] as const),
]

const themeChoices: Choices = themes.map(name => [name, capital(name)])

const SWITCH: Choices = [
  ['0', 'Off'],
  ['1', 'On'],
]

/** Of many values. */
function select(title: string, name: string, choices: Choices, chosen: string): Html {
  return html`
    <form class="row" method="post" action="/settings" data-submit-on-change>
      <select name="${name}" aria-label="${title}">${options(choices, chosen)}</select>
      <button class="small no-script">Save</button>
    </form>
  `
}

/** Of a few, each a button. */
function choice(title: string, path: '/settings' | '/display', name: string, choices: Choices, chosen: string): Html {
  return html`
    <form class="row" method="post" action="${path}"${path === '/display' ? html` data-display` : nothing}>
      <input type="hidden" name="back" value="/settings">
      <span class="choice" role="group" aria-label="${title}">${choices.map(
        ([value, label]) =>
          html`<button name="${name}" value="${value}" aria-pressed="${String(value === chosen)}">${label}</button>`,
      )}</span>
    </form>
  `
}

let allZones: readonly string[] | undefined

/** All time zones, and the chosen one. */
function zones(chosen: string): readonly string[] {
  allZones ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]
  return allZones.includes(chosen) ? allZones : [chosen, ...allZones]
}
