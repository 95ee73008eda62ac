#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Arguments go to `swift test`, so that
#   deploy/test.sh --filter WorkerTests
# runs one suite.
#
# The tests start the servers they need themselves, on free ports in temporary folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh test

# The backtracer of a process that a test kills can outlive it and hold its pipes open.
export SWIFT_BACKTRACE=enable=no

swift build --build-tests

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
# One test after the other: most of them start servers or processes, and on two cores they would wait
# for each other past any deadline.
status=0
swift test --skip-build --no-parallel "$@" 2>&1 | tee "$log" || status=$?
if [ "$status" != 0 ]; then
    # Once more at the end: who has only the last lines of a long log must see what failed.
    printf '\n== what failed\n'
    grep -A 8 -E '^✘|recorded an issue|error:' "$log" | grep -vE '^(◇|✔|--$)' | cut -c 1-600 | tail -60 ||
        true
fi
exit "$status"
