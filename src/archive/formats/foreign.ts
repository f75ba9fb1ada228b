/** What a file is that holds no records, with what to do instead; undefined if it may hold some. */
export function foreignFormat(start: Buffer): string | undefined {
  const bytes = start.toString('latin1')
  return FORMATS.find(([beginning]) => beginning.test(bytes))?.[1]
}

const NO_RECORDS = 'which holds no records: choose an archive, saved responses of this API, or a table (CSV UTF-8)'
const WORKBOOK = 'this is a workbook: save it as CSV UTF-8'

/** By how they begin, as bytes; the first that fits. The names in a ZIP archive say what it is. */
const FORMATS: readonly (readonly [beginning: RegExp, what: string])[] = [
  [/^PK[^\s!-~]{2}[^]*?(?:xl\/|opendocument\.spreadsheet|\.iwa)/, WORKBOOK],
  [/^PK[^\s!-~]{2}[^]*?(?:\[Content_Types\]\.xml|opendocument)/, `this is an office document, ${NO_RECORDS}`],
  [/^PK[^\s!-~]{2}/, 'this is a ZIP archive: unpack it, and choose the files that were in it'],
  // The older format of office programs.
  [/^\xd0\xcf.\xe0\xa1\xb1.\xe1/, WORKBOOK],
  [/^%PDF-/, `this is a PDF document, ${NO_RECORDS}`],
  [/^SQLite format 3/, 'this is a database: `lockstep restore` reads backups'],
  [/^(?:\x89PNG|\xff\xd8\xff|GIF8|RIFF|.{4}ftyp)/s, `this is a picture, a sound or a video, ${NO_RECORDS}`],
  [
    /^(?:BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|[^]{257}ustar)/,
    'this is a packed file of a kind that is not read: unpack it, and choose the files that were in it',
  ],
  [/^(?:\xff\xfe|\xfe\xff)/, 'this is text in UTF-16: save it as CSV UTF-8'],
  [
    /^(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head|body)\b/i,
    'this is a web page: save the response of the API, or a file that the dashboard downloads',
  ],
  [/^(?:\xef\xbb\xbf)?\s*</, `this is an XML file, ${NO_RECORDS}`],
  [/^\s*-----begin age encrypted file/i, 'this is an encrypted file as text: encrypt it again without --armor'],
]
