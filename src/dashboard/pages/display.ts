import { cookie } from '../cookies.ts'
import { themes } from '../display.ts'
import { type Page, redirect } from '../page.ts'
import { safePath } from '../paths.ts'
import { subjectCookie } from '../viewer.ts'

/** The switches of the header: theme, discreet mode, and whose records are shown. */
export const displayPages: readonly Page[] = [
  {
    method: 'POST',
    path: '/display',
    changesCookiesOnly: true,
    handler({ form, site: { secure } }) {
      const cookies: string[] = []
      const theme = form.get('theme')
      if (themes.some(known => known === theme))
        cookies.push(cookie('theme', String(theme), { maxAge: YEAR_SECONDS, secure }))
      const discreet = form.get('discreet')
      if (discreet === '1' || discreet === '0') {
        cookies.push(cookie('discreet', discreet, { maxAge: discreet === '1' ? YEAR_SECONDS : 0, secure }))
      }
      const shortcut = form.get('shortcut')
      if (shortcut === '1' || shortcut === '0') {
        cookies.push(cookie('shortcut', shortcut, { maxAge: shortcut === '0' ? YEAR_SECONDS : 0, secure }))
      }
      return redirect(safePath(form.get('back')), { cookies })
    },
  },
  {
    method: 'POST',
    path: '/subject',
    changesCookiesOnly: true,
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
