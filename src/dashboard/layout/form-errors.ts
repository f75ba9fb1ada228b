import { HttpError } from '../../contract/errors.ts'

/** Errors of forms and downloads. The API has none: it accepts no bodies, and no cookies, which other sites can make use of. */
const errors = {
  unsupported_media_type: { status: 415, text: 'A form must be sent as application/x-www-form-urlencoded' },
  cross_site_request: {
    status: 403,
    text: 'This form was not sent from a page of this service. Open the page and try again',
  },
  cross_site_download: {
    status: 403,
    text: 'This download was started by another site, and nothing was sent. Start it from a page of this service',
  },
} as const

export class FormError extends HttpError {
  override readonly name = 'FormError'

  constructor(code: keyof typeof errors) {
    super(code, errors[code].status, errors[code].text)
  }
}
