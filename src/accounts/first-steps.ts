/** The commands that bring a history from another server into an empty service, in order; `options` end each of ours. */
export function firstPullCommands(options = ''): readonly string[] {
  return [
    'read -rs LOCKSTEP_SOURCE_TOKEN && export LOCKSTEP_SOURCE_TOKEN',
    `./lockstep pull --from https://history.example${options}`,
    `./lockstep account list${options}`,
    `./lockstep account set-password --account alex${options}`,
  ]
}
