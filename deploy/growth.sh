#!/usr/bin/env bash
# Shows that tables and indexes reach a plateau: 4,000 purchases are refunded, restored and renewed
# every 9 s on a PostgreSQL of its own, while autovacuum (every 10 s) and deploy/postgres/archive.sql
# clean up behind. Every 36 s, after an archive, the size of each table with its indexes is sampled.
#
# Fails where the median size of a table in the last third of the time is larger than in the middle
# third, by more than 1 % and 64 KiB (GrowthJudge of the tests, which run before). The first third is
# for growing in. Tables whose rows come and go are as large as what autovacuum has left at that
# instant, so that one high sample says nothing: hence medians, 5 %, and a size that was usual in the
# first third is no growth. 1 %, so that an hour finds growth of 1 % in ten minutes in
# a table above 7 MB. Let the machine do nothing else: with less load there is less to leave.
#
#   deploy/growth.sh [MINUTES]     60 unless given; 8 at least, and the less, the less it finds
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh build
export SWIFT_BACKTRACE=enable=no
swift build --build-tests
GROWTH_MINUTES="${1:-60}" swift test --skip-build --no-parallel --filter 'StagesTests\.Growth'
