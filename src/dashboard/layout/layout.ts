import { assetUrl } from '../sending.ts'
import { html, type Html, type Part, nothing } from '../html.ts'
import { ownName, personName, otherOwner } from '../text/names.ts'
import {
  type PageSection,
  type Section,
  type SectionInNavigation,
  sections,
  type View,
  type Viewer,
  type Display,
  isOwnSection,
  sharedAreas,
} from '../page.ts'
import { ownerBanner, partialNote } from './subject-notes.ts'
import { dateTime, thisYear } from '../text/text.ts'
import { version } from '../../version.ts'
import { options } from './components.ts'
import { withPrefix } from '../site.ts'

/** A page for somebody who is signed in. The switches of its header lead back to `path`. */
export function renderLayout(viewer: Viewer, view: View, section: PageSection, path: string): Html {
  const { title, heading = title, back, lead, actions, body, isBusy = false } = view
  const owner = isOwnSection(section) ? undefined : otherOwner(viewer, view)
  return styledDocument(
    viewer,
    owner === undefined ? title : `${title} (${personName(viewer, owner)})`,
    html`
      <a class="skip" href="#main">Skip to content</a>
      ${header(viewer, section, path, view.owner)}
      ${owner === undefined ? nothing : ownerBanner(viewer, owner, path, view)}
      <main id="main" tabindex="-1">
        ${(back === undefined || isOwnSection(section)) && listTabs(section, path)}${back && html`<p class="back"><a href="${back.path}">‹ ${back.title}</a></p>`}
        <div class="head">
          <div>
            <h1>${heading}</h1>
            ${lead === undefined ? nothing : html`<p class="lead">${lead}</p>`}
          </div>
          ${actions === undefined ? nothing : html`<div class="actions">${actions}</div>`}
        </div>
        ${section === null || isOwnSection(section) || viewer.copied === null ? nothing : partialNote(viewer, view, viewer.copied)}
        ${doneNote(path)}
        ${body}
      </main>
      ${footer(view.asOf === undefined ? viewer : { ...viewer, asOf: view.asOf }, owner === undefined, owner === undefined ? ownName(viewer) : personName(viewer, owner))}
    `,
    html`${script}
<link rel="manifest" href="/app.webmanifest">
${isBusy ? html`<noscript><meta http-equiv="refresh" content="3"></noscript>` : nothing}`,
  )
}

function doneNote(path: string): Html {
  const query = new URLSearchParams(path.split('?')[1])
  const what = query.has('confirmed') ? 'confirmed' : (query.get('done') ?? query.get('saved') ?? '')
  const text = DONE.get(what)
  return text === undefined ? nothing : html`<p class="note" role="status">${text}</p>`
}

const DONE: ReadonlyMap<string, string> = new Map([
  ['password', 'The password is saved. Other browsers were signed out.'],
  ['passkeys', 'The passkeys are saved.'],
  ['oidc', 'The link is saved.'],
  ['sessions', 'The browser was signed out.'],
  ['confirmed', 'Confirmed for ten minutes.'],
  ['given', 'Access is given, if there is such an account.'],
  ['narrowed', 'The access is narrowed within a second.'],
  ['ended', 'The access ends within a second. Imports and pulls do not restore it.'],
  ['revoked', 'The key was revoked. Programs that use it are refused from now on.'],
  ['tried', 'Tried again. Records that are still listed were rejected again.'],
  ['forgotten', 'The source and its key are forgotten. All records that were copied stay.'],
])

/** A page without a session: the sign-in form and errors. */
export function signedOutPage(display: Display, title: string, body: Html): Html {
  return styledDocument(
    display,
    title,
    html`
      <main id="main" class="plain">
        <p class="brand">${ring} Lockstep</p>
        ${body}
      </main>
    `,
    script,
  )
}

/** A document with the style sheet. */
export function styledDocument(display: Display, title: string, body: Html, more: Html = nothing): Html {
  const head = html`<link rel="icon" href="${assetUrl('favicon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${assetUrl('dashboard.css')}">
${more}`
  return htmlDocument(display, title, head, body)
}

const script = html`<script type="module" fetchpriority="low" src="${assetUrl('dashboard.js')}"></script>`

const sectionNames = Object.keys(sections) as Section[]

/** The sections of the bar, each with the lists that are shown with it. */
const destinations = sectionNames
  .filter(name => sections[name].menu === 'bar')
  .map(first => ({ first, others: sectionNames.filter(name => sections[name].menu === first) }))

function header(viewer: Viewer, section: PageSection, path: string, owner = viewer.subject.id): Html {
  return html`
    <header class="top">
      <div class="bar">
        <a class="brand" href="/">${ring} Lockstep</a>
        <nav class="strip" aria-label="Main sections"><ul>${destinationLinks(viewer, section)}</ul></nav>
        <details class="menu account">
          <summary><span>${ownName(viewer)}</span></summary>
          <div class="sheet">
            ${isOwnSection(section) ? nothing : picker(viewer, path, owner)}
            ${displayForm(viewer, path)}
            <nav aria-label="Account"><ul>${accountLinks(section, path)}</ul></nav>
            <form method="post" action="/signout"><button class="link">Sign out</button></form>
          </div>
        </details>
      </div>
    </header>
  `
}

/** Of somebody else, those whose area the viewer may read. */
function destinationLinks(viewer: Viewer, current: PageSection): readonly Html[] {
  const areas = sharedAreas(viewer)
  const shown = destinations.filter(({ first }) => {
    const section: SectionInNavigation = sections[first]
    return section.area === undefined || areas.includes(section.area)
  })
  return shown.map(({ first, others }) =>
    sectionLink(first, first === current ? 'page' : others.some(name => name === current) ? 'true' : undefined),
  )
}

function sectionLink(name: Section, current: 'page' | 'true' | undefined, title: string = sections[name].title): Html {
  return html`<li><a href="${sections[name].path}"${current === undefined ? nothing : html` aria-current="${current}"`}>${title}</a></li>`
}

function accountLinks(current: PageSection, path: string): readonly Html[] {
  const mark = sectionNames.some(name => sections[name].path === path.split('?')[0]) ? 'page' : 'true'
  return sectionNames.filter(isOwnSection).map(name => sectionLink(name, name === current ? mark : undefined))
}

/** The lists of a destination that has several, and the pages of the account. */
function listTabs(current: PageSection, path: string): Html {
  if (isOwnSection(current))
    return html`<nav class="tabs" aria-label="Account pages"><ul>${accountLinks(current, path)}</ul></nav>`
  const shown = destinations.find(({ first, others }) => [first, ...others].some(name => name === current))
  if (shown === undefined || shown.others.length === 0) return nothing
  const link = (name: Section, title?: string) => sectionLink(name, name === current ? 'page' : undefined, title)
  const { first, others } = shown
  return html`<nav class="tabs" aria-label="${sections[first].title}"><ul>${link(first, first === 'training' ? 'Sessions' : undefined)}${others.map(name => link(name))}</ul></nav>`
}

/** Selects whose records are shown, and names the owner of the present ones; only for viewers whom somebody gave access. */
function picker(viewer: Viewer, path: string, owner: number): Html {
  const { readable } = viewer
  if (readable.length < 2) return nothing
  const choices = readable.map(person => {
    return [person.id, person.id === viewer.session.accountId ? 'My records' : personName(viewer, person)] as const
  })
  return html`
    <form class="picker" method="post" action="/subject" data-submit-on-change>
      <input type="hidden" name="back" value="${path}">
      <label>Records of
        <select name="subject">${options(choices, owner)}</select>
      </label>
      <button class="small no-script">Show</button>
    </form>
  `
}

function displayForm({ discreet, hasShortcut, theme }: Viewer, path: string): Html {
  const next = { auto: 'light', light: 'dark', dark: 'auto' } as const
  return html`
    <form method="post" action="/display" data-display>
      <input type="hidden" name="back" value="${path}">
      <button class="link" name="discreet" value="${discreet ? '0' : '1'}" aria-pressed="${String(discreet)}"${
        hasShortcut ? html` title="Hide names (D)" data-shortcut="d" aria-keyshortcuts="D"` : nothing
      }>Hide names</button>
      <button class="link" name="theme" value="${next[theme]}" title="Change to ${next[theme]}">Theme: ${theme}</button>
    </form>
  `
}

function footer(viewer: Viewer, isOwn: boolean, owner: Part): Html {
  const { timeZone, asOf } = viewer
  return html`
    <footer>
      <p class="on-paper">Lockstep: records of ${owner}</p>
      <p class="on-paper">Times in ${timeZone.replaceAll('_', ' ')}${thisYear() && `; no year means ${thisYear()}`}</p>
      ${asOf === null || !isOwn ? nothing : html`<p>Records as of <a href="/source">${dateTime(viewer, asOf)}</a></p>`}
      <p class="off-paper row"><span class="wide">Lockstep ${version}</span><a href="/docs">API reference</a></p>
    </footer>
  `
}

/** A whole document. `head` is what it loads. */
export function htmlDocument({ theme, discreet }: Display, title: string, head: Part, body: Part): Html {
  return withPrefix(html`<!doctype html>
<html lang="en" data-root="/"${discreet ? html` data-discreet` : null}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="${theme === 'auto' ? 'light dark' : theme}">
<title>${discreet ? 'Lockstep' : `Lockstep – ${title}`}</title>
${head}
</head>
<body>${body}</body>
</html>
`)
}

export const ring = html`<svg class="ring" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true"><circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="3"/></svg>`
