/** The ways a form can fail that the API, which takes no bodies, does not have. */
const faults = {
  body_too_large: { status: 413, text: 'What was sent is larger than a form can be' },
  unsupported_media_type: { status: 415, text: 'A form is sent as application/x-www-form-urlencoded' },
  cross_site_request: {
    status: 403,
    text: 'This did not come from a page of this service. Open the page and try again',
  },
} as const

export class FormError extends Error {
  readonly code: keyof typeof faults
  readonly status: number
  constructor(code: keyof typeof faults) {
    super(faults[code].text)
    this.name = 'FormError'
    this.code = code
    this.status = faults[code].status
  }
}
