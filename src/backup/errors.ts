/** The file cannot be used as a backup: it is damaged, of another key, of a newer program, or no backup at all. */
export class BackupFileError extends Error {
  override readonly name = 'BackupFileError'
}

/** The file is encrypted, and no identity was named. */
export class MissingIdentityError extends Error {
  override readonly name = 'MissingIdentityError'
}
