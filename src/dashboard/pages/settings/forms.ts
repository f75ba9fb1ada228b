import { setting } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import type { Visit } from '../../page.ts'
import { displayValue } from '../../site.ts'
import { capital, languages } from '../../text/text.ts'
import { unitNames } from '../../visit.ts'

/** How the account sees its records, everywhere. */
export function recordsForm({ viewer }: Visit): Html {
  const { session, timeZone, units } = viewer
  return html`
    <form class="stack" method="post" action="/settings">
      <div class="fields">
        <label>Time zone
          <select name="timeZone">${options(
            zones(timeZone).map(zone => [zone, zone.replaceAll('_', ' ')]),
            timeZone,
          )}</select>
        </label>
        <label>Distances in
          <select name="units">${options(Object.entries(unitNames), units)}</select>
        </label>
        <label>Weekly goal <span class="muted">repetitions</span>
          <input name="weeklyGoal" placeholder="None" inputmode="numeric" maxlength="6" autocomplete="off" value="${session.weeklyGoal ?? ''}">
        </label>
      </div>
      <div><button class="primary">Save</button></div>
    </form>
  `
}

function options(all: Choices, chosen: string): Html[] {
  return all.map(
    ([value, title]) => html`<option value="${value}"${value === chosen ? html` selected` : nothing}>${title}</option>`,
  )
}

/** What this browser shows. */
export function browserSettings({ viewer, cookies }: Visit): Html {
  const { theme, discreet, hasShortcut } = viewer
  return html`
    ${setting(
      'Dates and numbers',
      'As this language writes them.',
      html`
        <form class="row" method="post" action="/display" data-submit-on-change>
          <input type="hidden" name="back" value="/settings">
          <select name="language" aria-label="Dates and numbers">${options(languageChoices, displayValue(cookies, 'language') ?? '')}</select>
          <button class="small no-script">Save</button>
        </form>
      `,
    )}
    ${choice(
      'Theme',
      'Of this browser.',
      'theme',
      [
        ['auto', 'System'],
        ['light', 'Light'],
        ['dark', 'Dark'],
      ],
      theme,
    )}
    ${choice('Hide names', 'Names, types and texts, in this browser.', 'discreet', SWITCH, discreet ? '1' : '0')}
    ${choice('Key D', 'Hides names, and shows them again.', 'shortcut', SWITCH, hasShortcut ? '1' : '0')}
  `
}

const languageChoices: Choices = [
  ['', 'As this browser'],
  ...languages.map(tag => [tag, capital(new Intl.DisplayNames(tag, { type: 'language' }).of(tag) ?? tag)] as const),
]

type Choices = readonly (readonly [value: string, title: string])[]

const SWITCH: Choices = [
  ['0', 'Off'],
  ['1', 'On'],
]

/** Of several values, each a button that sets it at once. */
function choice(title: string, text: string, name: string, choices: Choices, chosen: string): Html {
  return setting(
    title,
    text,
    html`
      <form method="post" action="/display" data-display>
        <input type="hidden" name="back" value="/settings">
        <span class="choice" role="group" aria-label="${title}">${choices.map(
          ([value, label]) =>
            html`<button name="${name}" value="${value}" aria-pressed="${String(value === chosen)}">${label}</button>`,
        )}</span>
      </form>
    `,
  )
}

let allZones: readonly string[] | undefined

/** All time zones, and the chosen one. */
function zones(chosen: string): readonly string[] {
  allZones ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]
  return allZones.includes(chosen) ? allZones : [chosen, ...allZones]
}
