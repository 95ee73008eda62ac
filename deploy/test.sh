#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests.
#
#   deploy/test.sh                        all tests, about 50 minutes after the build on two cores
#   deploy/test.sh --quick                the suites that need no server, about a minute
#   deploy/test.sh --filter WorkerTests   one suite; arguments go to `swift test`
#
# The tests start the servers they need themselves, on free ports in temporary folders, and remove
# the folders at the end. Those that lack something are skipped, and named at the end; with
# REQUIRE_ALL_TESTS=yes they fail the run with 69, except those that another script here runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --help ]; then
    sed -n '/^# /{s/^# //p};/^#$/s/^#//p;/^set /q' deploy/test.sh
    exit
fi

deploy/install.sh test

# The backtracer of a process that a test kills can outlive it and hold its pipes open.
export SWIFT_BACKTRACE=enable=no

swift build --build-tests

logs="$(mktemp --directory)"
temporary="$(mktemp --directory)"
# PostgreSQL's servers run as another user where this one is root.
chmod 711 "$temporary"
export TMPDIR="$temporary"

clean_up() {
    # `swift test` passes on SIGINT alone to its tests, which are a group of their own.
    for run in $(jobs -rp); do kill -INT -- "-$run" 2>/dev/null || true; done
    wait
    # Servers notice in a moment that their test is gone; a client of theirs would wait forever.
    for run in "${runs[@]}"; do
        pgrep --session "$run" >/dev/null && sleep 2 && pkill -KILL --session "$run" || true
    done
    # A server whose test is gone takes a moment to notice it, and writes until then.
    for _ in {1..20}; do
        rm -rf "$logs" "$temporary" 2>/dev/null && return
        sleep 0.5
    done
    echo "could not remove $temporary" >&2
}
runs=()
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME ARGUMENTS: runs tests in the background, as a trap waits for a command in the foreground,
# and in a session of its own, whose group the clean-up can end and no key of the terminal reaches.
start() {
    setsid bash -o pipefail -c 'swift test --skip-build "${@:2}" 2>&1 | tee "$1"' \
        bash "$logs/$1" "${@:2}" &
    runs+=($!)
}

# One test after the other: most of them start servers or processes, and more of these than there
# are cores would exceed each other's deadlines.
if [ "${1:-}" = --quick ]; then
    shift
    quick='^(AppStore|Commands|Entitlements|JSON|OpenSSL|Platform|Records|Settings|Simulation|Threads|Tidy)Tests\.'
    start quick --filter "$quick" "$@"
elif [ "$#" -gt 0 ]; then
    start asked --no-parallel "$@"
else
    # The tests of whole pipelines and of the workers' loop mostly wait, and take as long as all
    # others. Nothing is built here, so that two may share the build folder without its lock.
    waiting='^(IntegrationTests|WorkerTests)\.'
    start waiting --no-parallel --ignore-lock --filter "$waiting"
    start others --no-parallel --ignore-lock --skip "$waiting"
fi
status=0
for run in "${runs[@]}"; do wait "$run" || status=$?; done
skipped=$(sed -n 's/^➜ //p' "$logs"/* | sort -u)
[ -z "$skipped" ] || printf '\n== skipped\n%s\n' "$skipped"
if [ "$status" != 0 ]; then
    # Once more at the end, for a reader of only the last lines of a long log.
    printf '\n== what failed\n'
    for log in "$logs"/*; do
        # The error of tests that were ended by a signal stands behind what they had printed of a line.
        grep -A 8 -E '^✘|recorded an issue|error:' "$log" | sed 's/^◇.*error: /error: /' |
            grep -vE '^(◇|✔|--$)' |
            cut -c 1-600 | tail -60 || true
    done
elif [ "${REQUIRE_ALL_TESTS:-}" = yes ] &&
    grep -qvE ' skipped: "run (by )?deploy/|^$' <<<"$skipped"; then
    echo "tests were skipped, and REQUIRE_ALL_TESTS=yes asks for all" >&2
    status=69
fi
exit "$status"
