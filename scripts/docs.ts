import { generateDocs } from './generated-docs.ts'
import { writeFileSync } from 'node:fs'

/** Writes the docs that follow from the code, so that a change of the code shows in review. */
for (const { path, text } of await generateDocs()) writeFileSync(path, text)
