import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

/** Jinja, which Home Assistant renders templates with. */

const python = ['python3', '/usr/bin/python3'].find(
  program => spawnSync(program, ['-c', 'import jinja2'], { stdio: 'ignore' }).status === 0,
)

export const needsJinja = { skip: python === undefined && 'missing: python3-jinja2' }

/** Each template with each of the variables; an undefined value that is used is an error. */
export async function renderAll(templates: readonly string[], variables: readonly object[]): Promise<string[][]> {
  const running = promisify(execFile)(python ?? '', ['-c', RENDER], { maxBuffer: 64 * 1024 * 1024 })
  running.child.stdin?.end(JSON.stringify({ templates, variables }))
  return JSON.parse((await running).stdout)
}

const RENDER = `
import json, sys
from jinja2 import StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

given = json.load(sys.stdin)
jinja = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
templates = [jinja.from_string(text) for text in given["templates"]]
json.dump([[each.render(variables).strip() for each in templates] for variables in given["variables"]], sys.stdout)
`
