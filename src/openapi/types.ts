/** The parts of an OpenAPI document that the pages of the reference read. */

export interface OpenApi {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly Tag[]
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly headers: Readonly<Record<string, Header>>
    readonly examples: Readonly<Record<string, Example>>
    readonly responses: Readonly<Record<string, Response>>
    readonly securitySchemes: object
  }
}

export interface Tag {
  readonly name: string
  readonly description: string
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security: readonly object[]
  readonly parameters: readonly (Parameter | Ref)[]
  readonly responses: Readonly<Record<string, Response | Ref>>
}

export interface Ref {
  readonly $ref: string
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly description: string
  readonly required?: boolean
  readonly schema: Schema
}

interface Header {
  readonly description: string
  readonly example: string | number
}

export interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, Ref>>
  readonly content?: {
    readonly 'application/json': {
      readonly schema: Schema
      readonly examples: Readonly<Record<string, Example | Ref>>
    }
  }
}

export interface Example {
  readonly summary?: string
  readonly value: unknown
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: string | number | boolean
  readonly const?: string | number | boolean
  readonly enum?: readonly (string | number | boolean | null)[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}
