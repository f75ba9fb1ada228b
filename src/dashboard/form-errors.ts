import { HttpError } from '../contract/errors.ts'

/** Errors of forms. The API has none, because it accepts no bodies. */
const errors = {
  body_too_large: { status: 413, text: 'The form is larger than allowed' },
  unsupported_media_type: { status: 415, text: 'A form must be sent as application/x-www-form-urlencoded' },
  cross_site_request: {
    status: 403,
    text: 'This form was not sent from a page of this service. Open the page and try again',
  },
} as const

export class FormError extends HttpError {
  override readonly name = 'FormError'

  constructor(code: keyof typeof errors) {
    super(code, errors[code].status, errors[code].text)
  }
}
