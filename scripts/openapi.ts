import { mkdir, writeFile } from 'node:fs/promises'
import { openapi } from '../src/openapi/document.ts'

/** Writes the OpenAPI document, so that a change of the contract shows in review. */
const folder = new URL('../docs/', import.meta.url)
await mkdir(folder, { recursive: true })
await writeFile(new URL('openapi.json', folder), `${JSON.stringify(openapi(), null, 2)}\n`)
