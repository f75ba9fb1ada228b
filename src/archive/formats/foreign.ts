import { startsWith } from './unwrap.ts'

/** What a file is that holds no records, with what to do instead; undefined if it may hold some. */
export function foreignFormat(start: Buffer): string | undefined {
  const magic = MAGIC.find(({ bytes, at = 0 }) => startsWith(start.subarray(at), [...Buffer.from(bytes, 'latin1')]))
  if (magic !== undefined) return magic.is(start)
  const text = start
    .toString('utf8', 0, 1000)
    .replace(/^\uFEFF/, '')
    .trimStart()
    .toLowerCase()
  if (/^<(?:!doctype html|html|head|body)\b/.test(text)) {
    return 'this is a web page: save the response of the API, or a download of the dashboard'
  }
  if (text.startsWith('<')) return `this is an XML file, ${NO_RECORDS}`
  if (text.startsWith('-----begin age encrypted file')) {
    return 'this is an encrypted file as text: encrypt it again without --armor'
  }
  return undefined
}

interface Magic {
  readonly bytes: string
  readonly at?: number
  readonly is: (start: Buffer) => string
}

const NO_RECORDS = 'which holds no records: choose an archive, saved responses of this API, or a table (CSV UTF-8)'
const WORKBOOK = 'this is a workbook: save it as CSV UTF-8'
const PICTURE = `this is a picture, ${NO_RECORDS}`
const MEDIA = `this is a video, a sound or a picture, ${NO_RECORDS}`
const PACKED = 'this is a packed file of a kind that is not read: unpack it, and choose the files that were in it'
const UTF_16 = 'this is text in UTF-16: save it as CSV UTF-8'

const MAGIC: readonly Magic[] = [
  { bytes: 'PK\x03\x04', is: zipOf },
  { bytes: 'PK\x05\x06', is: () => PACKED },
  // The older format of office programs.
  { bytes: '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', is: () => WORKBOOK },
  { bytes: '%PDF-', is: () => `this is a PDF document, ${NO_RECORDS}` },
  { bytes: 'SQLite format 3\0', is: () => 'this is a database: `lockstep restore` reads backups' },
  { bytes: '\x89PNG', is: () => PICTURE },
  { bytes: '\xff\xd8\xff', is: () => PICTURE },
  { bytes: 'GIF8', is: () => PICTURE },
  { bytes: 'RIFF', is: () => MEDIA },
  { bytes: 'ftyp', at: 4, is: () => MEDIA },
  { bytes: 'BZh', is: () => PACKED },
  { bytes: '\xfd7zXZ\0', is: () => PACKED },
  { bytes: '7z\xbc\xaf\x27\x1c', is: () => PACKED },
  { bytes: 'Rar!', is: () => PACKED },
  { bytes: 'ustar', at: 257, is: () => PACKED },
  { bytes: '\xff\xfe', is: () => UTF_16 },
  { bytes: '\xfe\xff', is: () => UTF_16 },
]

function zipOf(start: Buffer): string {
  const names = start.toString('latin1')
  if (/xl\/|opendocument\.spreadsheet|\.iwa/.test(names)) return WORKBOOK
  if (/\[Content_Types\]\.xml|opendocument/.test(names)) return `this is an office document, ${NO_RECORDS}`
  return 'this is a ZIP archive: unpack it, and choose the files that were in it'
}
