/** Prints the table of a chart in place of its drawing. */

/**
 * Puts the table into the card until printing is over. A browser does not wait for promises before it prints, so the request is
 * synchronous.
 *
 * @param {{ section: HTMLElement; host: HTMLElement }} chart
 */
export function printTable({ section, host }) {
  const table = document.createElement('div')
  const link = section.querySelector('a[data-table]')
  if (link instanceof HTMLAnchorElement) table.append(...readTable(link.href))
  host.hidden = true
  host.after(table)
  addEventListener(
    'afterprint',
    () => {
      table.remove()
      host.hidden = false
    },
    { once: true },
  )
}

/**
 * The table of a page; nothing if it cannot be read.
 *
 * @param {string} address
 */
function readTable(address) {
  const request = new XMLHttpRequest()
  request.open('GET', address, false)
  try {
    request.send()
  } catch {
    return []
  }
  const page = new DOMParser().parseFromString(request.responseText, 'text/html')
  return page.querySelector('[data-chart-table]')?.childNodes ?? []
}
