/** The file cannot be used as a backup: it is damaged, encrypted for others, made by a newer program, or no backup. */
export class BackupFileError extends Error {
  override readonly name: string = 'BackupFileError'
}

/** The file is encrypted, and no identity was named. */
export class MissingIdentityError extends Error {
  override readonly name = 'MissingIdentityError'
}

/** The file is encrypted for others. */
export class WrongKeyError extends BackupFileError {
  override readonly name = 'WrongKeyError'
}
