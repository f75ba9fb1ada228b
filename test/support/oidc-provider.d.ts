/** As much of the package as tests use; it comes without types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  export class Provider {
    constructor(issuer: string, configuration: object)
    readonly Client: { readonly prototype: object }
    callback(): RequestListener
  }
}
