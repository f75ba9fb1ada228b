import { asvsFaults } from './checks/asvs.ts'
import { deploymentChecks } from './checks/deployment.ts'
import { documentFaults } from './checks/documents.ts'
import { layerFaults } from './checks/layers.ts'
import { wordingFaults } from './checks/wording.ts'

/** Checks what needs no running service: documents, what systemd and Docker read, and which code may use which. */
const faults = [
  ...(await documentFaults()),
  ...wordingFaults(),
  ...asvsFaults(),
  ...layerFaults(),
  ...deploymentFaults(),
]
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1

function deploymentFaults(): string[] {
  return Object.entries(deploymentChecks).flatMap(([title, check]) => {
    try {
      check()
      return []
    } catch (error) {
      return [`not true: ${title}: ${error instanceof Error ? error.message : String(error)}`]
    }
  })
}
