#!/usr/bin/env bash
# The main job on a real session, on embedded defaults, in a temporary data
# folder. `make quickstart` runs it; every line is a command a user would type.
set -euo pipefail
bin=$(cd "${1:-bin}" && pwd)
PATH=$bin:$PATH
CMEM_DATA_DIR=$(mktemp -d)
export CMEM_DATA_DIR
# Leave alone the reserve of free disk: this is a few hundred kilobytes.
export CMEM_RESERVE_MB=-1
trap 'cmem stop >/dev/null 2>&1 || true; rm -rf "$CMEM_DATA_DIR"' EXIT

bold='' plain=''
if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; "$@"; }

session=testdata/transcripts/claude-code/g07-claude-code.jsonl
project=git-sync

say cmem start
say cmem replay --transcript "$session"
say cmem search "cancellation test fails in CI"
say cmem context --project "$project"
say cmem status
say cmem rebuild --verify | tee "$CMEM_DATA_DIR/before"
say cmem stop
echo
echo "Deleting every read model: read/ and context/"
rm -rf "$CMEM_DATA_DIR/read" "$CMEM_DATA_DIR/context"
say cmem rebuild --verify | tee "$CMEM_DATA_DIR/after"
say cmem search "cancellation test fails in CI"
cmp "$CMEM_DATA_DIR/before" "$CMEM_DATA_DIR/after"
echo
echo "The digests are those from before: the log was enough."
