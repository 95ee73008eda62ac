#!/usr/bin/env bash
# Rehearses on this machine, with a real Kafka, a PostgreSQL whose log is archived, the four workers as
# processes, and traffic with all that is good and bad in it:
#   the loss of the database and of the cluster, as recovery.md says;
#   one copy of each worker, eight, one again, and more partitions, under load.
# Afterwards the rows have to be those of an undisturbed run, `pipeline reconcile` and
# `pipeline rebuild` have to find nothing, the change feed may skip no version, and no partition may
# have waited for 5 s while copies came and went.
#
#   deploy/rehearsal.sh     about three minutes beside the build
#
# KAFKA_BOOTSTRAP_FOR_TESTS names a Kafka that runs already; the last rehearsal, which begins on a new
# cluster, needs a launcher (Tests/TestSupport/RealKafka.swift) and is skipped without one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh build
export SWIFT_BACKTRACE=enable=no
swift build --build-tests
REHEARSAL=yes swift test --skip-build --no-parallel --filter "DisasterTests|ScalingTests"
