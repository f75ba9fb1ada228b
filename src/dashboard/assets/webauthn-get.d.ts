/** What using a passkey needs in a browser. `npm run docs` makes a module of it. */
export { startAuthentication } from '@simplewebauthn/browser'
