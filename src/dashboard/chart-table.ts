import { addressWithTable } from './charts.ts'
import { html } from './html.ts'
import { type View, view, type Visit } from './page.ts'

/** The page with the table of a chart, if the address asks for one that the view has. */
export function chartTableView(visit: Visit, shown: View): View | undefined {
  const id = visit.query.get('table')
  const chart = id === null ? undefined : shown.charts?.find(one => one.id === id)
  if (chart === undefined) return undefined
  const { section, owner, title } = shown
  return view({
    section,
    owner,
    title: `${title}: ${chart.title}`,
    back: { path: addressWithTable(visit), title },
    body: html`<section class="card" data-chart-table>${chart.table(visit)}</section>`,
  })
}
