import { type DashboardPage, redirect, themes } from '../../page.ts'
import { cookie, safePath } from '../../site.ts'
import { subjectCookie } from '../../visit.ts'

const OF_HEADER = { section: null, reads: null } as const

/** What this browser can show in several ways, and how. The first one needs no cookie. */
const choices: Readonly<Record<string, readonly string[]>> = {
  theme: themes,
  discreet: ['0', '1'],
  shortcut: ['1', '0'],
}

/** The switches of the header: theme, discreet mode, and whose records are shown. */
export const displayPages: readonly DashboardPage[] = [
  {
    ...OF_HEADER,
    method: 'POST',
    path: '/display',
    handler({ form, site: { secure } }) {
      const cookies: string[] = []
      for (const [name, values] of Object.entries(choices)) {
        const value = form.get(name) ?? 'none'
        if (!values.includes(value)) continue
        cookies.push(cookie(name, value, { maxAge: value === values[0] ? 0 : YEAR_SECONDS, secure }))
        // Versions before this one set it without the prefix, and so do scripts while there is no connection.
        if (secure) cookies.push(cookie(name, '', { maxAge: 0, secure: false }))
      }
      return redirect(safePath(form.get('back')), { cookies })
    },
  },
  {
    ...OF_HEADER,
    method: 'POST',
    path: '/subject',
    handler({ form, site: { secure }, viewer }) {
      const person = viewer.readable.find(({ id }) => String(id) === form.get('subject'))
      if (person === undefined) return redirect(safePath(form.get('back')))
      // The record belongs to the account that was shown before, so this leads back to the list.
      const back = safePath(form.get('back')).replace(/\/\d+(\?.*)?$/, '')
      return redirect(back === '' ? '/' : back, {
        cookies: [subjectCookie(viewer.session, person.id, { maxAge: YEAR_SECONDS, secure })],
      })
    },
  },
]

const YEAR_SECONDS = 365 * 86_400
