import { after } from 'node:test'

/** What files share is closed when their process has run the last of them: hooks of a module end with the file that loads it first. */

const works: (() => Promise<unknown>)[] = []
after(async () => {
  for (const work of works) await work()
})

export function atEnd(work: () => Promise<unknown>) {
  works.push(work)
}
