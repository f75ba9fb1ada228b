import { readFileSync } from 'node:fs'
import { settings } from '../../../config.ts'
import { card, code, tabs } from '../../layout/components.ts'
import { html, type Html } from '../../html.ts'
import { type DashboardPage, view, type Visit } from '../../page.ts'

/** The examples, with the address of this service in place of the usual one. */
export const keyRecipePages: readonly DashboardPage[] = [
  { section: 'keys', reads: null, path: '/keys/recipes', handler: showRecipes },
]

interface Recipe {
  readonly name: string
  readonly title: string
  readonly file: string
  readonly text: string
}

const recipes: readonly Recipe[] = [
  {
    name: 'curl',
    title: 'curl',
    file: 'curl/status.sh',
    text: 'Prints the current status and the last four weeks of training. Needs curl and jq.',
  },
  {
    name: 'home-assistant',
    title: 'Home Assistant',
    file: 'home-assistant/lockstep.yaml',
    text: 'A package with sensors. Its first lines say where the file and the key go.',
  },
  {
    name: 'python',
    title: 'Python',
    file: 'python/sessions.py',
    text: 'Prints all training sessions. Needs only the standard library.',
  },
  {
    name: 'typescript',
    title: 'TypeScript',
    file: 'typescript/weeks.ts',
    text: 'Prints the last weeks of training. Its first lines fetch the typed client from this service.',
  },
]

function showRecipes(visit: Visit) {
  const { baseUrl, path, query } = visit
  return view({
    title: 'Recipes',
    back: visit.sectionStart,
    lead: 'Examples to copy, with the address of this service filled in. They read the key from LOCKSTEP_TOKEN.',
    body: tabs(
      path,
      query.get('view'),
      recipes.map(recipe => ({ name: recipe.name, title: recipe.title, body: () => recipeCard(recipe, baseUrl) })),
    ),
  })
}

function recipeCard({ title, file, text }: Recipe, baseUrl: string): Html {
  const isShell = file.endsWith('.sh')
  const [, name = ''] = file.split('/')
  return card(
    title,
    html`<div class="stack">
      <p>${text}${isShell ? html` The scope <code>status:read</code> is enough.` : ''}</p>
      ${code(readExample(file).replaceAll(EXAMPLE_URL, baseUrl), name)}
    </div>`,
  )
}

/** The address that the examples have. */
const EXAMPLE_URL = settings.url.fallback

const examples = new Map<string, string>()

function readExample(file: string): string {
  const known = examples.get(file)
  if (known !== undefined) return known
  const text = readFileSync(new URL(`../../../../examples/${file}`, import.meta.url), 'utf8')
  examples.set(file, text)
  return text
}
