import { asvsFaults } from './checks/asvs.ts'
import { documentFaults } from './checks/documents.ts'
import { layerFaults } from './checks/layers.ts'
import { wordingFaults } from './checks/wording.ts'

/** Checks what needs no running service: what documents say, how they are written, and which code may use which. */
const faults = [...documentFaults(), ...wordingFaults(), ...asvsFaults(), ...layerFaults()]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
