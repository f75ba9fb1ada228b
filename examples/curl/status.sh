#!/bin/sh
# Prints how things stand and the last four weeks of training. Needs curl and jq.
#
#   LOCKSTEP_URL=http://127.0.0.1:5625 LOCKSTEP_TOKEN=lks_… sh status.sh
set -eu

read_json() {
  # The header comes from stdin, because the arguments of a process can be read by others.
  printf 'Authorization: Bearer %s\n' "$LOCKSTEP_TOKEN" |
    curl --silent --show-error --fail --header @- "${LOCKSTEP_URL:-http://127.0.0.1:5625}$1"
}

status=$(read_json '/api/v1/status')
weeks=$(read_json '/api/v1/dtt/stats?bucket=week')

printf '%s' "$status" | jq --raw-output '.data |
  "state: \(.lockState // "unknown")",
  "planned end: \(.plannedEnd // (if .timeHidden then "hidden" else "none" end))",
  "streak: \(.streakDays // 0) days"'

printf '%s' "$weeks" | jq --raw-output '.data.buckets[-4:][] | [.date, .sessions, .repsMeasured, .distanceMeters] | @tsv'
