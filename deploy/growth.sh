#!/usr/bin/env bash
# Shows that tables and indexes reach a plateau: some thousand purchases are refunded, restored and
# renewed again and again on a PostgreSQL of its own, while autovacuum (every 10 s) and
# `pipeline history` clean up behind. Prints the sizes, and fails where a table is more than a
# fifth larger in the second half than ever in the first.
#
#   deploy/growth.sh [MINUTES]     10 unless given
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh build
export SWIFT_BACKTRACE=enable=no
swift build --build-tests
GROWTH_MINUTES="${1:-10}" swift test --skip-build --no-parallel --filter GrowthTests
