#!/usr/bin/env bash
# Rehearses the loss of the database and of the cluster, as recovery.md says, on this machine: a real
# Kafka, a PostgreSQL whose log is archived, the four workers as processes, traffic with all that is
# good and bad in it. Afterwards the rows have to be those of an undisturbed run, `pipeline reconcile`
# and `pipeline rebuild` have to find nothing, and the change feed may skip no version.
#
#   deploy/rehearsal.sh     about two minutes beside the build
#
# KAFKA_BOOTSTRAP_FOR_TESTS names a Kafka that runs already; the last rehearsal, which begins on a new
# cluster, needs a launcher (Tests/TestSupport/RealKafka.swift) and is skipped without one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh build
export SWIFT_BACKTRACE=enable=no
swift build --build-tests
REHEARSAL=yes swift test --skip-build --no-parallel --filter DisasterTests
