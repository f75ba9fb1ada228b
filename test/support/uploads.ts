import { readdirSync, existsSync } from 'node:fs'
import { UploadFolder } from '../../src/uploads/folder.ts'
import type { Seen, Visitor } from './dashboard.ts'
import { until } from './waiting.ts'

/** Sends files as a browser does. */
export async function upload(
  url: string,
  someone: Visitor,
  files: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Pick<Seen, 'status' | 'text' | 'to'>> {
  const form = new FormData()
  for (const [name, content] of Object.entries(files)) form.append('file', new Blob([content]), name)
  const response = await fetch(`${url}/source/upload`, {
    method: 'POST',
    body: form,
    redirect: 'manual',
    headers: { Accept: 'text/html', 'Sec-Fetch-Site': 'same-origin', Cookie: cookiesOf(someone), ...headers },
  })
  return { status: response.status, text: await response.text(), to: response.headers.get('Location') }
}

export function cookiesOf({ cookies }: Visitor): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
}

/** The page of an upload, once nothing is under way. */
export async function settledPage(someone: Visitor): Promise<string> {
  let text = ''
  await until(async () => {
    text = (await someone.get('/source/file')).text
    return !text.includes('data-busy')
  })
  return text
}

/** Sends a form of the page of an upload. */
export async function decide(
  someone: Visitor,
  what: 'store' | 'discard' | 'check' | 'allow',
  fields: Readonly<Record<string, string>> = {},
) {
  const { text } = await someone.get('/source/file')
  const [, id = ''] = /name="id" value="([^"]+)"/.exec(text) ?? []
  return someone.post(`/source/upload/${what}`, { id, ...fields })
}

/** What there is of uploads on the disk. */
export function uploadFiles(databaseUrl: string): string[] {
  const { path } = new UploadFolder(databaseUrl)
  return existsSync(path) ? readdirSync(path, { recursive: true }).map(String) : []
}
