import { cookie } from '../cookies.ts'
import { themes } from '../display.ts'
import { type Page, redirect } from '../page.ts'
import { safePath } from '../paths.ts'

/** The switches of the header: how pages look in this browser, and whose records they show. */
export const displayPages: readonly Page[] = [
  {
    method: 'POST',
    path: '/display',
    answer({ form, secure }) {
      const cookies: string[] = []
      const theme = form.get('theme')
      if (themes.some(known => known === theme)) cookies.push(cookie('theme', String(theme), { maxAge: YEAR, secure }))
      const discreet = form.get('discreet')
      if (discreet === '1' || discreet === '0') {
        cookies.push(cookie('discreet', discreet, { maxAge: discreet === '1' ? YEAR : 0, secure }))
      }
      return redirect(safePath(form.get('back')), { cookies })
    },
  },
  {
    method: 'POST',
    path: '/subject',
    answer({ form, secure, viewer }) {
      const person = viewer.readable.find(({ id }) => String(id) === form.get('subject'))
      if (person === undefined) return redirect(safePath(form.get('back')))
      // A record of the one before would be a strange place to stay; lists are the same for everybody.
      const back = safePath(form.get('back')).replace(/\/\d+(\?.*)?$/, '')
      return redirect(back === '' ? '/' : back, {
        cookies: [cookie('subject', String(person.id), { maxAge: YEAR, secure })],
      })
    },
  },
]

const YEAR = 365 * 86_400
