/** The parts of TypeBox that the contract uses. `npm run docs` makes typebox.js from this list. */
export { Array, Boolean, Enum, Integer, Literal, Null, Number, Object, Optional, Record, String, Union } from 'typebox'
