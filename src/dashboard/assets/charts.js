/**
 * Turns the tables of a page into pictures. Each `[data-chart]` has a table, whose columns say what they hold with
 * `data-key` and whose cells hold it as `data-v` where their text is for people, and a `.plot` for the picture.
 * Nothing is loaded before the page is there and one of them is about to be seen.
 */

/** Plot and what it stands on, once. The page says where they are. */
let plotting
function loadPlot() {
  const { d3, plot } = document.querySelector('script[data-plot]').dataset
  plotting ??= loadScript(d3)
    .then(() => loadScript(plot))
    .then(() => globalThis.Plot)
  return plotting
}

function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = address
    script.addEventListener('load', resolve)
    script.addEventListener('error', () => reject(new Error(`${address} did not load`)))
    document.head.append(script)
  })
}

const ACCENT = 'var(--accent)'
const MUTED = 'var(--muted)'
const LINE = 'var(--line)'
const CARD = 'var(--card)'

const DAY = 86_400_000

// ---- The tables --------------------------------------------------------------------------------------------------

/** The rows of a table as objects: numbers where a cell holds one, instants for keys that end in `at`, else text. */
function readTable(table) {
  const columns = columnsOf(table)
  const rows = [...rowsOf(table)].map(row => {
    const values = { href: row.querySelector('a')?.getAttribute('href') ?? undefined }
    for (const [index, cell] of [...row.cells].entries()) {
      const { key } = columns[index] ?? {}
      if (!key) continue
      const { v = cell.textContent.trim(), p } = cell.dataset
      values[key] = valueOf(v)
      values[`${key}:text`] = cell.textContent.trim()
      if (p !== undefined) values[`${key}:passed`] = p === '1'
    }
    return values
  })
  return { columns, rows }
}

const rowsOf = table => table.tBodies[0].rows

function columnsOf(table) {
  return [...table.tHead.rows[0].cells].map(({ dataset, textContent }) => ({
    key: dataset.key ?? '',
    title: dataset.label ?? textContent.trim(),
    series: dataset.series,
  }))
}

/** Times are those on the clock of the account's zone, which is not the zone of this browser: all is drawn as if UTC. */
function valueOf(text) {
  if (text === '') return null
  if (/^\d{4}-\d\d-\d\d(T[\d:.]+)?$/.test(text)) return new Date(text.includes('T') ? `${text}Z` : text)
  const number = Number(text)
  return Number.isNaN(number) ? text : number
}

const instant = text => (text === undefined ? undefined : valueOf(text))

// ---- The pictures ------------------------------------------------------------------------------------------------

/** What all pictures have in common. */
function draw(Plot, host, { title, ...options }) {
  const picture = Plot.plot({
    width: Math.max(200, Math.floor(host.clientWidth)),
    marginTop: 12,
    marginRight: 12,
    marginBottom: 28,
    marginLeft: 36,
    style: { background: 'none', color: MUTED, fontFamily: 'inherit', fontSize: '12px', overflow: 'visible' },
    ...options,
  })
  const svg = picture.tagName === 'svg' ? picture : picture.querySelector('svg')
  svg.setAttribute('role', 'img')
  svg.setAttribute('aria-label', title)
  svg.prepend(hatches())
  // Plot names its groups after marks, which says nothing to anybody; the picture as a whole has a name.
  for (const group of svg.querySelectorAll('g[aria-label]')) {
    group.dataset.mark = group.getAttribute('aria-label')
    group.removeAttribute('aria-label')
  }
  // What is under the pointer leads where its row does.
  picture.addEventListener('click', () => {
    if (picture.value?.href) globalThis.location.assign(picture.value.href)
  })
  picture.addEventListener('input', () => picture.classList.toggle('leads', Boolean(picture.value?.href)))
  host.append(picture)
  return picture
}

/** Patterns by the name of what they mean. Equal ids in several pictures are the same pattern. */
function hatches() {
  const make = (name, attributes) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name)
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
    return element
  }
  const defs = make('defs', {})
  for (const [id, angle, weight, wash] of [
    ['hatch-open', 45, 1.5, 0.1],
    ['hatch-so-far', -45, 3, 0.3],
    ['hatch-approximate', 45, 1, 0.06],
  ]) {
    const pattern = make('pattern', {
      id,
      width: 6,
      height: 6,
      patternUnits: 'userSpaceOnUse',
      patternTransform: `rotate(${angle})`,
    })
    pattern.append(
      make('rect', { width: 6, height: 6, style: `fill:${ACCENT};opacity:${wash}` }),
      make('rect', { width: weight, height: 6, style: `fill:${ACCENT}` }),
    )
    defs.append(pattern)
  }
  return defs
}

// How high pictures are, which is known before they are drawn: their room is kept, so that nothing jumps.

const GRADES_HEIGHT = 240
const KIND_HEIGHT = 140
const BARS_HEIGHT = 200
const SCALE_HEIGHT = 78
const EMPTY_TIMELINE_HEIGHT = 80

/** Where there is no room beside the bars of rates, their texts stand above them. */
const isNarrow = host => host.clientWidth < 420

const ratesHeight = (count, host) => Math.max(90, count * (isNarrow(host) ? 48 : 34) + 34)
const targetsHeight = count => Math.max(90, count * 22 + 34)
const timelineHeight = ({ days, wraps }) => days.length * (wraps ? 22 : 44) + 32

/** What is said of what is under the pointer. */
const TIP = { lineHeight: 1.4, textPadding: 10, stroke: 'var(--edge)' }

const OPEN = 'url(#hatch-open)'
const SO_FAR = 'url(#hatch-so-far)'
const APPROXIMATE = 'url(#hatch-approximate)'
const FILLS = { solid: ACCENT, open: OPEN, approximate: APPROXIMATE }

/** The text in the middle of a picture that has nothing to show. */
function emptyNote(Plot, text) {
  return Plot.text([text], { frameAnchor: 'middle', fill: MUTED, fontSize: 13 })
}

/** Grades over time: filled where passed, hollow where not, and their moving average. */
function gradePlot(Plot, host, { rows, title, from, to, empty, height = GRADES_HEIGHT }) {
  const known = rows.filter(({ grade }) => typeof grade === 'number')
  const crowd = known.length / host.clientWidth
  const radius = crowd > 0.5 ? 1.75 : crowd > 0.2 ? 2.5 : 3.5
  const domain = domainOf(known, from, to)
  // Hours say nothing here.
  const ticks = domain[1] - domain[0] < 14 * DAY ? 'day' : Math.max(2, host.clientWidth / 90)
  draw(Plot, host, {
    title,
    height,
    x: { type: 'utc', domain, label: null, ticks },
    y: { domain: [0, 100], ticks: [0, 25, 50, 75, 100], grid: true, label: null },
    marks: [
      Plot.ruleY([0], { stroke: LINE }),
      known.length === 0 ? emptyNote(Plot, empty) : null,
      Plot.dot(known, {
        x: 'at',
        y: 'grade',
        r: radius,
        fill: ({ passed }) => (passed ? ACCENT : CARD),
        stroke: ACCENT,
        strokeWidth: 1.25,
        fillOpacity: ({ passed }) => (passed ? 0.85 : 1),
      }),
      known.length > 1
        ? Plot.lineY(known, { x: 'at', y: 'average', stroke: 'var(--ink)', strokeWidth: 1.75, strokeOpacity: 0.7 })
        : null,
      Plot.tip(
        known,
        Plot.pointer({
          ...TIP,
          x: 'at',
          y: 'grade',
          title: ({ at, grade, passed }) => `${dateTime(at)}\n${grade} % · ${passed ? 'Passed' : 'Not passed'}`,
        }),
      ),
    ],
  })
}

function domainOf(rows, from, to) {
  if (from !== undefined && to !== undefined) return [from, to]
  const times = rows.map(({ at }) => at.getTime())
  const [first, last] = times.length === 0 ? [Date.now(), Date.now()] : [Math.min(...times), Math.max(...times)]
  // One point stands in the middle of its day, not on an axis without length.
  return first === last ? [new Date(first - DAY / 2), new Date(last + DAY / 2)] : [new Date(first), new Date(last)]
}

/** One small picture for each kind: they measure different things. */
function gradesByKind(Plot, host, { columns, rows, title, from, to, empty }) {
  const kinds = kindsOf(columns)
  if (kinds.length === 0) gradePlot(Plot, host, { rows: [], title, from, to, empty, height: KIND_HEIGHT })
  for (const [part, { key, title }] of partsFor(host, kinds, ({ title }) => title)) {
    const known = rows
      .filter(row => typeof row[key] === 'number')
      .map(row => ({ at: row.at, href: row.href, grade: row[key], passed: row[`${key}:passed`] }))
    const averages = movingAverage(known.map(({ grade }) => grade))
    gradePlot(Plot, part, {
      rows: known.map((row, index) => ({ ...row, average: averages[index] })),
      title: `${title}: grade over time`,
      from,
      to,
      empty,
      height: KIND_HEIGHT,
    })
  }
}

const kindsOf = columns => columns.filter(({ key }) => key.startsWith('kind-'))

/** A place with a heading for each picture of several: all of them first, as their number decides how wide they are. */
function partsFor(host, items, titleOf) {
  return items.map(item => {
    const part = document.createElement('div')
    const heading = document.createElement('h3')
    heading.textContent = titleOf(item)
    part.append(heading)
    host.append(part)
    return [part, item]
  })
}

function movingAverage(values, width = 7) {
  return values.map((_, index) => {
    const window = values.slice(Math.max(0, index - width + 1), index + 1)
    return window.reduce((sum, value) => sum + value, 0) / window.length
  })
}

/** Sums by week or month: bars from zero, their average, and the current one hatched, as it is not over. */
function bars(Plot, host, { columns, rows, title, data, empty, to }) {
  const series = columns.filter(({ series }) => series !== undefined)
  const unit = data.unit ?? ''
  const parts = []
  const tops = []
  for (const row of rows) {
    let base = 0
    for (const { key, series: look } of series) {
      const value = row[key] ?? 0
      if (value > 0) {
        parts.push({
          ...row,
          from: base,
          top: base + value,
          fill: row.current && look === 'solid' ? SO_FAR : FILLS[look],
        })
      }
      base += value
    }
    tops.push({ ...row, top: base })
  }
  const highest = Math.max(0, ...tops.map(({ top }) => top))
  const average = data.average === undefined || data.average === '' ? undefined : Number(data.average)
  const ends = rows.length === 0 ? domainOf([], undefined, to) : [rows[0].start, rows.at(-1).end]
  draw(Plot, host, {
    title,
    height: BARS_HEIGHT,
    marginLeft: 44,
    x: { type: 'utc', domain: ends, label: null, ...spanTicks(rows, host.clientWidth) },
    y: {
      domain: [0, highest === 0 ? 1 : highest],
      nice: true,
      grid: true,
      ticks: highest === 0 ? [0] : 4,
      tickFormat: amount,
      label: null,
    },
    marks: [
      isMonthly(rows) ? monthNames(Plot, rows, host.clientWidth) : null,
      highest === 0 ? emptyNote(Plot, empty) : null,
      Plot.rectY(parts, {
        x1: 'start',
        x2: 'end',
        y1: 'from',
        y2: 'top',
        fill: 'fill',
        inset: 0,
        insetLeft: 1,
        insetRight: 1,
        stroke: ({ fill }) => (fill === ACCENT ? 'none' : ACCENT),
        strokeWidth: 0.75,
      }),
      average > 0 ? Plot.ruleY([average], { stroke: MUTED, strokeDasharray: '4 3', strokeWidth: 1.25 }) : null,
      Plot.ruleY([0], { stroke: MUTED }),
      Plot.tip(
        tops,
        Plot.pointerX({
          ...TIP,
          x: ({ start, end }) => new Date((start.getTime() + end.getTime()) / 2),
          y: 'top',
          title: row =>
            [
              row['start:text'],
              ...series.map(({ key, title }) => `${title}: ${amount(row[key] ?? 0)}${unit && ` ${unit}`}`),
            ].join('\n'),
        }),
      ),
    ],
  })
}

/** Months have their names in the middle, as each is one; weeks are too many for that. */
const isMonthly = rows => rows.length > 1 && rows[1].end - rows[1].start > 27 * DAY

const spanTicks = (rows, width) => (isMonthly(rows) ? { axis: null } : { ticks: Math.max(2, width / 90) })

function monthNames(Plot, rows, width) {
  const every = Math.max(1, Math.ceil((rows.length * 44) / width))
  const shown = rows.filter((_, index) => (rows.length - 1 - index) % every === 0)
  return Plot.axisX(
    shown.map(({ start, end }) => new Date((start.getTime() + end.getTime()) / 2)),
    {
      label: null,
      tickSize: 0,
      tickFormat: (middle, index) =>
        middle.toLocaleDateString('en-GB', { timeZone: 'UTC', month: 'short' }) +
        (index === 0 || middle.getUTCMonth() < every ? `\n${middle.getUTCFullYear()}` : ''),
    },
  )
}

/** Rates: how many of how many, as a bar out of the whole; greyed where too few to mean much. */
function rates(Plot, host, { rows, title, empty }) {
  const left = 12 + Math.max(60, ...rows.map(({ label }) => String(label).length * 6.6))
  const narrow = isNarrow(host)
  const known = rows.map(row => ({ ...row, share: row.total === 0 ? 0 : row.passed / row.total, few: row.total < 5 }))
  draw(Plot, host, {
    title,
    height: ratesHeight(rows.length, host),
    marginTop: 4,
    marginLeft: narrow ? 4 : Math.min(left, host.clientWidth * 0.4),
    marginRight: narrow ? 16 : 112,
    x: {
      domain: [0, 1],
      label: null,
      tickFormat: value => `${Math.round(value * 100)}\u00a0%`,
      ticks: [0, 0.5, 1],
    },
    y: {
      axis: narrow ? null : 'left',
      domain: known.map(({ label }) => label),
      label: null,
      tickSize: 0,
      padding: narrow ? 0.55 : 0.35,
    },
    marks: [
      narrow
        ? Plot.axisY({
            label: null,
            tickSize: 0,
            tickPadding: 0,
            textAnchor: 'start',
            dy: -20,
            fill: 'var(--ink)',
          })
        : null,
      known.length === 0 ? emptyNote(Plot, empty) : null,
      Plot.barX(known, { x1: 0, x2: 1, y: 'label', fill: LINE, fillOpacity: 0.6, rx: 3 }),
      Plot.barX(known, {
        x1: 0,
        x2: 'share',
        y: 'label',
        fill: ({ few }) => (few ? MUTED : ACCENT),
        fillOpacity: ({ few }) => (few ? 0.45 : 1),
        rx: 3,
      }),
      Plot.text(known, {
        x: 1,
        y: 'label',
        ...(narrow ? { dy: -20, textAnchor: 'end' } : { dx: 8, textAnchor: 'start' }),
        fill: ({ few }) => (few ? MUTED : 'var(--ink)'),
        text: ({ passed, total, share }) => `${passed} / ${total} (${Math.round(share * 100)} %)`,
      }),
    ],
  })
}

/** What was measured beside what was meant: a bar and a mark, once for time and once for repetitions. */
function targets(Plot, host, { columns, rows, empty }) {
  const titleOf = measure => columns.find(({ key }) => key === measure)?.title ?? measure
  for (const [part, measure] of partsFor(host, MEASURES, titleOf)) {
    const target = `${measure}-target`
    const most = Math.max(1, ...rows.flatMap(row => [row[measure] ?? 0, row[target] ?? 0]))
    const left = 10 + Math.max(30, ...rows.map(({ label }) => String(label).length * 6.6))
    draw(Plot, part, {
      title: titleOf(measure),
      height: targetsHeight(rows.length),
      marginTop: 4,
      marginLeft: Math.min(left, part.clientWidth * 0.45),
      x: {
        domain: [0, most],
        label: null,
        grid: true,
        ticks: ticksFor(measure, most, part.clientWidth - left),
        tickFormat: measure === 'seconds' ? clock : amount,
      },
      y: { domain: rows.map(({ label }) => label), label: null, tickSize: 0, padding: 0.3 },
      marks: [
        rows.length === 0 ? emptyNote(Plot, empty) : null,
        Plot.barX(rows, {
          x1: 0,
          x2: measure,
          y: 'label',
          fill: ({ passed }) => (passed ? ACCENT : CARD),
          stroke: ACCENT,
          strokeWidth: 1.25,
          rx: 2,
        }),
        Plot.tickX(
          rows.filter(row => row[target] > 0),
          { x: target, y: 'label', stroke: 'var(--ink)', strokeWidth: 2.5, inset: -2 },
        ),
        Plot.tip(
          rows,
          Plot.pointerY({
            ...TIP,
            x: measure,
            y: 'label',
            title: row => {
              const show = measure === 'seconds' ? clock : amount
              const meant = row[target] > 0 ? ` of ${show(row[target])}` : ', no target'
              return `${row.label}\n${show(row[measure])}${meant}\n${row.passed ? 'Passed' : 'Not passed'}`
            },
          }),
        ),
        Plot.ruleX([0], { stroke: MUTED }),
      ],
    })
  }
}

const MEASURES = ['seconds', 'reps']

/** Steps of time that a clock has. */
function ticksFor(measure, most, width) {
  const many = Math.max(2, Math.min(6, width / 48))
  if (measure !== 'seconds') return Math.min(5, many)
  const step = [5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200].find(step => most / step <= many) ?? 14_400
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step)
}

/** The segments of a program one after another, as long as they take; those that are counted on a scale of their own. */
function segments(Plot, host, { rows, empty }) {
  for (const [part, [measure, name, show]] of partsFor(host, scalesOf(rows), ([, name]) => name)) {
    let end = 0
    const parts = rows
      .filter(row => row[measure] > 0)
      .flatMap(row =>
        Array.from({ length: Math.max(1, row.repeat ?? 1) }, () => {
          const start = end
          end += row[measure]
          return { ...row, start, end }
        }),
      )
    const wide = (part.clientWidth - 24) / Math.max(1, end)
    draw(Plot, part, {
      title: name,
      height: SCALE_HEIGHT,
      marginTop: 4,
      marginLeft: 12,
      x: {
        domain: [0, Math.max(1, end)],
        label: null,
        ticks: measure === 'seconds' ? ticksFor('seconds', end, part.clientWidth) : 5,
        tickFormat: show,
      },
      y: { axis: null },
      marks: [
        parts.length === 0 ? emptyNote(Plot, empty) : null,
        Plot.rect(parts, {
          x1: 'start',
          x2: 'end',
          insetLeft: 1,
          insetRight: 1,
          fill: ({ graded }) => (graded ? ACCENT : APPROXIMATE),
          stroke: ACCENT,
          strokeWidth: 1,
          rx: 3,
        }),
        Plot.text(
          parts.filter(({ start, end, label }) => (end - start) * wide > String(label).length * 7 + 8),
          {
            x: ({ start, end }) => (start + end) / 2,
            text: 'label',
            fill: ({ graded }) => (graded ? CARD : 'var(--ink)'),
            stroke: ({ graded }) => (graded ? 'none' : CARD),
            strokeWidth: 10,
          },
        ),
        Plot.tip(
          parts,
          Plot.pointerX({
            ...TIP,
            x: ({ start, end }) => (start + end) / 2,
            title: row => `${row.label}\n${show(row[measure])}${row.repeat > 1 ? `, ${row.repeat} times` : ''}`,
          }),
        ),
      ],
    })
  }
}

function scalesOf(rows) {
  return [
    ['seconds', 'Time', clock],
    ['reps', 'Repetitions', amount],
  ].filter(([measure]) => (rows.length === 0 ? measure === 'seconds' : rows.some(row => row[measure] > 0)))
}

/** Locked and open stretches as they followed each other; beyond a day, one line for each day. */
function timeline(Plot, host, { rows, title, data, empty }) {
  const now = instant(data.now)
  const lines = linesOf(rows)
  if (lines === undefined) {
    draw(Plot, host, {
      title,
      height: EMPTY_TIMELINE_HEIGHT,
      x: { axis: null },
      marks: [Plot.frame({ stroke: LINE }), emptyNote(Plot, empty)],
    })
    return
  }
  const { first, last, wraps, dayOf, days } = lines
  const within = (time, day) => (wraps ? (time - day) / 3_600_000 : new Date(time))
  const parts = rows.flatMap(row => {
    const pieces = []
    let start = row.start.getTime()
    const end = row.end.getTime()
    while (start < end) {
      const day = dayOf(start)
      const stop = wraps ? Math.min(end, day.getTime() + DAY) : end
      pieces.push({ ...row, day, x1: within(start, day), x2: within(stop, day) })
      start = stop
    }
    return pieces
  })
  const eventTable = document.querySelector(`#${CSS.escape(data.events ?? 'events')}`)
  const events = (eventTable === null ? rows.map(({ start }) => ({ at: start })) : readTable(eventTable).rows)
    .filter(({ at }) => at instanceof Date)
    .map(event => ({ ...event, day: dayOf(event.at), x: within(event.at, dayOf(event.at)) }))
  const isRunning = now !== undefined && last.getTime() === now.getTime()
  draw(Plot, host, {
    title,
    height: timelineHeight(lines),
    marginTop: 4,
    marginLeft: wraps ? 84 : 12,
    marginRight: 24,
    x: wraps
      ? {
          domain: [0, 24],
          ticks: host.clientWidth < 400 ? [0, 12, 24] : [0, 6, 12, 18, 24],
          tickFormat: hour => `${String(hour).padStart(2, '0')}:00`,
          label: null,
          grid: true,
        }
      : {
          type: 'utc',
          domain: [first, last],
          label: null,
          ticks: Math.max(2, host.clientWidth / 100),
          tickFormat: clockTime,
        },
    y: {
      type: 'band',
      domain: days,
      axis: wraps ? 'left' : null,
      tickFormat: shortDay,
      tickSize: 0,
      label: null,
      padding: 0.25,
    },
    marks: [
      Plot.rect(parts, {
        x1: 'x1',
        x2: 'x2',
        y: 'day',
        fill: ({ locked }) => (locked ? ACCENT : OPEN),
        stroke: ACCENT,
        strokeWidth: ({ locked }) => (locked ? 0 : 0.75),
      }),
      Plot.tickX(events, { x: 'x', y: 'day', stroke: 'var(--ink)', strokeWidth: 1.5, inset: -2 }),
      isRunning
        ? Plot.tickX([{ day: dayOf(now - 1), x: within(now, dayOf(now - 1)) }], {
            x: 'x',
            y: 'day',
            stroke: 'var(--warn)',
            strokeWidth: 2.5,
            inset: -4,
          })
        : null,
      isRunning
        ? Plot.text([{ day: dayOf(now - 1), x: within(now, dayOf(now - 1)) }], {
            x: 'x',
            y: 'day',
            text: () => 'now',
            dx: wraps && within(now, dayOf(now - 1)) > 20 ? -6 : 6,
            textAnchor: wraps && within(now, dayOf(now - 1)) > 20 ? 'end' : wraps ? 'start' : 'end',
            fill: 'var(--ink)',
            stroke: CARD,
            strokeWidth: 4,
          })
        : null,
      Plot.tip(
        parts,
        Plot.pointer({
          ...TIP,
          x: ({ x1, x2 }) => (wraps ? (x1 + x2) / 2 : new Date((x1.getTime() + x2.getTime()) / 2)),
          y: 'day',
          title: row =>
            `${row.label ?? (row.locked ? 'Locked' : 'Open')}\n${dateTime(row.start)} – ${dateTime(row.end)}`,
        }),
      ),
    ],
  })
}

/** The lines of a timeline, a day each; none without stretches. */
function linesOf(rows) {
  const first = rows[0]?.start
  const last = rows.at(-1)?.end
  if (first === undefined || last === undefined) return
  const wraps = last - first > DAY
  const dayOf = time => new Date(Math.floor((wraps ? time : first) / DAY) * DAY)
  const count = wraps ? Math.round((dayOf(last - 1) - dayOf(first)) / DAY) + 1 : 1
  const days = Array.from({ length: count }, (_, index) => new Date(dayOf(first).getTime() + index * DAY))
  return { first, last, wraps, dayOf, days }
}

const pictures = {
  grade: (Plot, host, chart) => gradePlot(Plot, host, chart),
  'grade-by-kind': gradesByKind,
  bars,
  rates,
  targets,
  segments,
  timeline,
}

/** How high each will be: a number, or one for each of its parts with their headings. */
const rooms = {
  grade: () => GRADES_HEIGHT,
  'grade-by-kind': table => {
    const kinds = kindsOf(columnsOf(table))
    return kinds.length === 0 ? KIND_HEIGHT : kinds.map(({ title }) => [title, KIND_HEIGHT])
  },
  bars: () => BARS_HEIGHT,
  rates: (table, host) => ratesHeight(rowsOf(table).length, host),
  targets: table => MEASURES.map(measure => [measure, targetsHeight(rowsOf(table).length)]),
  segments: table => scalesOf(readTable(table).rows).map(([, name]) => [name, SCALE_HEIGHT]),
  timeline: table => {
    const lines = linesOf(readTable(table).rows)
    return lines === undefined ? EMPTY_TIMELINE_HEIGHT : timelineHeight(lines)
  },
}

// ---- Texts -------------------------------------------------------------------------------------------------------

const dateTime = time =>
  time.toLocaleString('en-GB', {
    timeZone: 'UTC',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
  })

const clockTime = time => time.toLocaleTimeString('en-GB', { timeZone: 'UTC', hour: '2-digit', minute: '2-digit' })

const shortDay = time =>
  time.toLocaleDateString('en-GB', { timeZone: 'UTC', weekday: 'short', day: 'numeric', month: 'short' })

const amount = value => value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 })

function clock(seconds) {
  const whole = Math.round(seconds)
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const [hours, minutes, rest] = parts
  const two = number => String(number).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

// ---- When --------------------------------------------------------------------------------------------------------

/** Where a picture goes, and the table it is drawn from. */
function placeOf(figure) {
  const host = figure.querySelector('.plot')
  const source =
    figure.dataset.source === undefined ? figure : document.querySelector(`#${CSS.escape(figure.dataset.source)}`)
  return { figure, host, table: source?.querySelector('table'), picture: figure.dataset.chart }
}

function keepRoom({ host, table, picture }) {
  const room = rooms[picture](table, host)
  if (typeof room === 'number') host.style.minHeight = `${room}px`
  else for (const [part, [, height]] of partsFor(host, room, ([title]) => title)) part.append(spaceOf(height))
}

function spaceOf(height) {
  const space = document.createElement('div')
  space.style.height = `${height}px`
  return space
}

async function show({ figure, host, table, picture }) {
  const Plot = await loadPlot()
  const data = figure.dataset
  const chart = {
    ...readTable(table),
    data,
    title: figure.querySelector('h2, h3')?.textContent.trim() ?? '',
    empty: data.empty ?? 'Nothing yet',
    from: instant(data.from),
    to: instant(data.to),
  }
  const paint = () => {
    host.replaceChildren()
    pictures[picture](Plot, host, chart)
    host.style.minHeight = ''
    figure.dataset.drawn = ''
  }
  paint()
  let width = host.clientWidth
  new ResizeObserver(() => {
    if (host.clientWidth === width || host.clientWidth === 0) return
    width = host.clientWidth
    paint()
  }).observe(host)
}

/** Shows the table of a chart that cannot be drawn. */
function giveUp({ figure, host }, error) {
  console.error(`The chart "${figure.dataset.chart}" cannot be drawn.`, error)
  host?.replaceChildren()
  host?.style.removeProperty('min-height')
  figure.classList.add('without-picture')
  const table = figure.querySelector('details')
  if (table !== null) table.open = true
}

const places = new Map()
for (const figure of document.querySelectorAll('[data-chart]')) {
  const place = placeOf(figure)
  try {
    keepRoom(place)
    places.set(figure, place)
  } catch (error) {
    giveUp(place, error)
  }
}

function watch() {
  const seen = new IntersectionObserver(
    entries => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue
        seen.unobserve(target)
        const place = places.get(target)
        show(place).catch((/** @type {unknown} */ error) => giveUp(place, error))
      }
    },
    { rootMargin: '300px' },
  )
  for (const figure of places.keys()) seen.observe(figure)
}

if (document.readyState === 'complete') watch()
else globalThis.addEventListener('load', watch)
