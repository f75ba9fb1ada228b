import { html, type Html, nothing } from '../../html.ts'
import { ownName } from '../../text/names.ts'
import type { Visit } from '../../page.ts'
import { unitNames } from '../../visit.ts'

export function accountForm({ viewer }: Visit): Html {
  const { session, timeZone, units } = viewer
  return html`
    <form class="stack" method="post" action="/settings">
      <p class="muted">Signed in as ${ownName(viewer)}.</p>
      <label>Time zone
        <select name="timeZone">${zones(timeZone).map(
          zone =>
            html`<option value="${zone}"${zone === timeZone ? html` selected` : nothing}>${zone.replaceAll('_', ' ')}</option>`,
        )}</select>
      </label>
      <label>Distances in
        <select name="units">${Object.entries(unitNames).map(
          ([name, title]) =>
            html`<option value="${name}"${name === units ? html` selected` : nothing}>${title}</option>`,
        )}</select>
      </label>
      <label>Weekly goal <span class="muted">repetitions; a line in the chart, or empty for none</span>
        <input name="weeklyGoal" inputmode="numeric" maxlength="6" autocomplete="off" value="${session.weeklyGoal ?? ''}">
      </label>
      <div><button class="primary">Save</button></div>
    </form>
  `
}

export function lookForms({ viewer }: Visit): Html {
  return html`
    <div class="stack">
      <form class="row" method="post" action="/display" data-display>
        <input type="hidden" name="back" value="/settings">
        <span id="shortcut">Key <kbd>D</kbd></span>
        <span class="choice" role="group" aria-labelledby="shortcut">
          <button name="shortcut" value="0" aria-pressed="${String(!viewer.hasShortcut)}">Off</button>
          <button name="shortcut" value="1" aria-pressed="${String(viewer.hasShortcut)}">On</button>
        </span>
      </form>
      <p class="muted">The menu at the top changes the theme, and hides names, kinds and texts, as the key <kbd>D</kbd> does. All of this applies to this browser.</p>
    </div>
  `
}

let allZones: readonly string[] | undefined

/** All time zones, and the chosen one. */
function zones(chosen: string): readonly string[] {
  allZones ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]
  return allZones.includes(chosen) ? allZones : [chosen, ...allZones]
}
