import { writeFileSync } from 'node:fs'
import { settingsPage } from '../src/config.ts'

/** Writes the page of settings that the docs show. */
writeFileSync(new URL('../docs/settings.md', import.meta.url), settingsPage())
