/** What making a passkey needs in a browser. webauthn-create.js has it in one module. */
export { startRegistration } from '@simplewebauthn/browser'
