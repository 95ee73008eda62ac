#!/usr/bin/env bash
# Takes checks out one by one and shows that a test notices each: deploy/mutate.sh [NAME...]
#
# The tables in Tests/Mutations list the checks. All of them are built once, in a copy of the
# sources in which each check is a switch that the environment turns off; nothing of that copy is
# left behind. Ends with 1 when the tests passed without one of the checks, when they timed out or
# failed once only, and when a table names a text that is gone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export SWIFT_BACKTRACE=enable=no NO_COLOR=1
# From the copy the tests would look for it elsewhere.
export SHARED_DATA=${SHARED_DATA:-$PWD/../shared}
mkdir -p .build
copy=$(mktemp -d "$PWD/.build/mutation.XXXXXX")
trap 'rm -rf "$copy"' EXIT
trap 'exit 130' INT TERM

tar -cf - Package.swift Sources Tests schemas deploy README.md | tar -xf - -C "$copy"
Tests/Mutations/apply.py "$copy" >"$copy/rows"

# Name, number and tests of the rows that were asked for; all without an argument.
rows=$copy/rows
if (($#)); then
    rows=$copy/asked
    for name in "$@"; do
        awk -F '\t' -v name="$name" '$1 == name { print; found = 1 } END { exit !found }' \
            "$copy/rows" || { echo "no table has a row $name" >&2; exit 64; }
    done >"$rows"
fi

# Only what the tests of these rows need is built.
targets=$(cut -f 3 "$rows" | tr ' ' '\n' | cut -d . -f 1 | sort -u | sed 's/.*/"&",/')
cat >>"$copy/Package.swift" <<SWIFT

var needed: Set<String> = [${targets//$'\n'/ }]
// A test there starts it.
if needed.contains("IntegrationTests") { needed.insert("pipeline") }
var count = 0
while count < needed.count {
    count = needed.count
    for target in package.targets where needed.contains(target.name) {
        for case .byNameItem(let name, _) in target.dependencies { needed.insert(name) }
    }
}
package.targets.removeAll { !needed.contains(\$0.name) }
SWIFT
swift build --package-path "$copy" --build-tests
echo "built in $SECONDS s"
binary=$copy/.build/debug/entitlement-pipelinePackageTests.xctest
Tests/Mutations/run.py "$copy" "$binary" "$rows" && code=0 || code=$?
echo "$SECONDS s in all"
exit "$code"
