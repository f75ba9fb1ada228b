import { registerHooks } from 'node:module'

/** Loaded before a command, it has the steps of `next-steps.ts` in place of its own. */
registerHooks({
  load: (url, context, next) =>
    next(url.endsWith('/src/store/steps.ts') ? new URL('next-steps.ts', import.meta.url).href : url, context),
})
