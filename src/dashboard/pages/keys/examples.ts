import { readFileSync } from 'node:fs'
import { settings } from '../../../config.ts'
import { card, code, tabs } from '../../layout/components.ts'
import { html, type Html } from '../../html.ts'
import { type DashboardPage, view, type Visit } from '../../page.ts'

/** The examples, with the address of this service in place of the usual one. */
export const keyExamplePages: readonly DashboardPage[] = [
  { section: 'keys', reads: null, path: '/keys/examples', handler: showExamples },
]

type Example = readonly [name: string, title: string, file: string, text: string]

const offered: readonly Example[] = [
  [
    'curl',
    'curl',
    'curl/status.sh',
    'Prints the status and four weeks of training. Needs curl, jq and a key with status:read.',
  ],
  [
    'home-assistant',
    'Home Assistant',
    'home-assistant/lockstep.yaml',
    'Sensors. The first lines say where file and key go.',
  ],
  ['python', 'Python', 'python/sessions.py', 'Prints all training sessions. Needs only the standard library.'],
  [
    'typescript',
    'TypeScript',
    'typescript/weeks.ts',
    'Prints weeks of training. The first lines fetch the typed client.',
  ],
]

function showExamples(visit: Visit) {
  const { baseUrl, path, query } = visit
  return view({
    title: 'Examples',
    back: visit.sectionStart,
    lead: 'To copy, with the address of this service filled in. They read the key from LOCKSTEP_TOKEN.',
    body: tabs(
      path,
      query.get('view'),
      offered.map(one => ({ name: one[0], title: one[1], body: () => exampleCard(one, baseUrl) })),
    ),
  })
}

function exampleCard([, title, file, text]: Example, baseUrl: string): Html {
  const [, name = ''] = file.split('/')
  const example = readFileSync(new URL(`../../../../examples/${file}`, import.meta.url), 'utf8')
  const shown = code(example.replaceAll(settings.url.fallback, baseUrl), name)
  return card(title, html`<div class="stack"><p>${text}</p>${shown}</div>`)
}
