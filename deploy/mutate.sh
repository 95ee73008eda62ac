#!/usr/bin/env bash
# Takes out the checks of the verifier's policy one by one and shows that a test notices each:
# deploy/mutate.sh [CHECK...]
#
# One build, in a scratch path of its own, of the policy and its tests alone: nothing that could be
# deployed is ever built with POLICY_MUTATION. Each run ends with its first failed test; two are
# made at once. Ends with 1 when a check could be taken out and every test still passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export POLICY_MUTATION=1 SWIFT_BACKTRACE=enable=no NO_COLOR=1
build=(--scratch-path .build/mutation)
swift build --build-tests "${build[@]}"
binary=$(echo "$(swift build "${build[@]}" --show-bin-path)"/*PackageTests.xctest)
export binary
out=.build/mutation/verdicts
export out
rm -rf "$out"
mkdir -p "$out"

checks=("$@")
((${#checks[@]})) || mapfile -t checks < <(
    sed -n '/^    case /s/^    case //p' Sources/OpenSSL/PolicyCheck.swift | tr -d ' ' | tr ',' '\n'
)

# The flips of each bit take longer than all else together, and need no check of their own.
tests() {
    "$binary" --testing-library swift-testing --filter 'AppStoreTests|OpenSSLTests' \
        --skip 'Differential|every flipped bit|a flipped bit is refused|flipped bits of' --no-parallel 2>&1
}
export -f tests

# Prints the first test that fails without the check; the process ends with its next word.
verdict() {
    local noticed
    noticed=$(POLICY_CHECK_LEFT_OUT=$1 tests | grep -a --line-buffered -m 1 -E \
        '^✘ Test .* recorded an issue|Fatal error|^✔ Test run with' || true)
    case $noticed in
    '✔'*) printf '%-26s UNNOTICED\n' "$1" ;;
    '✘'*) printf '%-26s %s\n' "$1" "$(sed -E 's/^✘ Test (.*) recorded an issue.*/\1/' <<<"$noticed" |
        cut -c1-90)" ;;
    *) printf '%-26s the tests end at once\n' "$1" ;;
    esac | tee "$out/$1"
}
export -f verdict

tests >"$out/.all" || { echo 'the tests fail with all checks in place'; tail -n 20 "$out/.all"; exit 1; }
printf '%s\n' "${checks[@]}" | xargs -P 2 -I '{}' bash -c 'verdict "$1"' - '{}'
unnoticed=$(grep -l UNNOTICED "$out"/* | wc -l || true)
printf '%s checks, %s unnoticed\n' "${#checks[@]}" "$unnoticed"
((unnoticed == 0))
