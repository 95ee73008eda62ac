#!/usr/bin/env bash
# Takes out the checks of the verifier's policy one by one and shows that a test notices each:
# deploy/mutate.sh [CHECK...]
#
# One build, in a scratch path of its own, of the policy and its tests alone: nothing that could be
# deployed is ever built with POLICY_MUTATION. Ends with 1 when a check could be taken out and every
# test still passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export POLICY_MUTATION=1 SWIFT_BACKTRACE=enable=no
build=(--scratch-path .build/mutation)
swift build --build-tests "${build[@]}"

checks=("$@")
((${#checks[@]})) || mapfile -t checks < <(
    sed -n '/^    case /s/^    case //p' Sources/AppStore/Trust/PolicyCheck.swift | tr -d ' ' |
        tr ',' '\n'
)
passes() {
    swift test --skip-build "${build[@]}" --filter AppStoreTests --skip Differential \
        >.build/mutation/log 2>&1
}

passes || { echo 'the tests fail with all checks in place'; tail -n 20 .build/mutation/log; exit 1; }
unnoticed=0
for check in "${checks[@]}"; do
    if POLICY_CHECK_LEFT_OUT=$check passes; then
        printf '%-24s UNNOTICED\n' "$check"
        unnoticed=$((unnoticed + 1))
    else
        count=$(grep -c '^✘ Test .* failed after' .build/mutation/log || true)
        printf '%-24s noticed by %s test(s)\n' "$check" "$count"
    fi
done
printf '%s checks, %s unnoticed\n' "${#checks[@]}" "$unnoticed"
((unnoticed == 0))
