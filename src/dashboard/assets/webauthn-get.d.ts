/** What using a passkey needs in a browser. webauthn-get.js has it in one module. */
export { startAuthentication } from '@simplewebauthn/browser'
