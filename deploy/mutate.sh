#!/usr/bin/env bash
# Takes checks out one by one and shows that a test notices each: deploy/mutate.sh [NAME...]
#
# The tables in Tests/Mutations list the checks. All of them are built once, in a copy of the
# sources in which each check is a switch that the environment turns off; nothing of that copy is
# left behind. Each run of the tests ends with its first failure; two run at once. Ends with 1 when
# the tests passed without one of the checks, and when a table names a text that is gone.
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
            "$copy/rows" || { echo "no table has a row $name"; exit 1; }
    done >"$rows"
fi

# Only what the tests of these rows need is built.
targets=$(cut -f 3 "$rows" | tr ' ' '\n' | cut -d . -f 1 | sort -u | sed 's/.*/"&",/')
cat >>"$copy/Package.swift" <<SWIFT

var needed: Set<String> = [${targets//$'\n'/ }]
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
export binary=$copy/.build/debug/entitlement-pipelinePackageTests.xctest

# These take longer than all the others together, and no check needs them.
tests() {
    timeout 600 "$binary" --testing-library swift-testing --no-parallel \
        --filter "^(${1// /|})[./]" \
        --skip 'Differential|(every|one) flipped bit|a flipped bit is refused|flipped bits of' \
        --skip 'makes? no difference|costs about as much' \
        --skip 'a receipt with a costly certificate is refused|records up to the limit of the body' 2>&1
}
export -f tests

# Prints the first test that fails without the check; the process ends at its next output.
verdict() {
    local name=$1 number=$2 filter=$3 line noticed
    # The shell itself reports a crash of the tests, which is an answer like any other.
    line=$({ MUTATION=$number tests "$filter" | grep -a --line-buffered -m 1 -E \
        '^✘ Test .* recorded an issue|Fatal error|^✔ Test run with'; } 2>/dev/null || true)
    case $line in
    '✔'*) noticed=UNNOTICED ;;
    '✘'*) noticed=$(sed -E 's/^✘ Test (.*) recorded an issue.*/\1/' <<<"$line" | cut -c 1-90) ;;
    *) noticed='the tests end at once' ;;
    esac
    printf '%-30s %s\n' "$name" "$noticed"
}
export -f verdict

cut -f 3 "$rows" | sort -u | while read -r filter; do
    tests "$filter" >"$copy/all" || {
        echo 'the tests fail with all checks in place'
        tail -n 20 "$copy/all"
        exit 1
    }
done
tr '\t' '\n' <"$rows" | xargs -d '\n' -P 2 -n 3 bash -c 'verdict "$@"' - | tee "$copy/verdicts"
unnoticed=$(grep -c ' UNNOTICED$' "$copy/verdicts" || true)
printf '%s checks, %s unnoticed, %s s\n' "$(wc -l <"$rows")" "$unnoticed" "$SECONDS"
((unnoticed == 0))
