import { type DashboardPage, redirect, themes } from '../../page.ts'
import { safePath, cookie } from '../../site.ts'
import { subjectCookie } from '../../visit.ts'

const OF_HEADER = { section: null, reads: null } as const

/** The switches of the header: theme, discreet mode, and whose records are shown. */
export const displayPages: readonly DashboardPage[] = [
  {
    ...OF_HEADER,
    method: 'POST',
    path: '/display',
    handler({ form, site: { secure } }) {
      const cookies: string[] = []
      const set = (name: string, value: string, maxAge: number) => {
        cookies.push(cookie(name, value, { maxAge, secure }))
        // Versions before this one set it without the prefix, and so do scripts while there is no connection.
        if (secure) cookies.push(cookie(name, '', { maxAge: 0, secure: false }))
      }
      const theme = form.get('theme')
      if (themes.some(known => known === theme)) set('theme', String(theme), YEAR_SECONDS)
      const discreet = form.get('discreet')
      if (discreet === '1' || discreet === '0') set('discreet', discreet, discreet === '1' ? YEAR_SECONDS : 0)
      const shortcut = form.get('shortcut')
      if (shortcut === '1' || shortcut === '0') set('shortcut', shortcut, shortcut === '0' ? YEAR_SECONDS : 0)
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
