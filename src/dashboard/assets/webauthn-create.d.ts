/** What making a passkey needs in a browser. `npm run docs` makes a module of it. */
export { startRegistration } from '@simplewebauthn/browser'
