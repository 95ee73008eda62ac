#!/usr/bin/env bash
# Rehearses on this machine, with a real Kafka, a PostgreSQL whose log is archived, the four workers as
# processes, and traffic with all that is good and bad in it:
#   the loss of the database and of the cluster, as recovery.md says;
#   one copy of each worker, eight, one again, and more partitions, under load; static members too;
#   the workers of the version before, on their own schema and on today's, and back, under load.
# Afterwards the rows have to be those of an undisturbed run, `pipeline reconcile` and
# `pipeline plan --facts` have to find nothing, the change feed may skip no version, and no partition may
# have waited for 5 s while copies came and went.
#
#   deploy/rehearsal.sh [COMMIT]     about ten minutes beside the builds
#
# COMMIT is the version before: unless given, the last one whose schema is a migration behind. It is
# built below .build/previous, once.
#
# KAFKA_BOOTSTRAP_FOR_TESTS names a Kafka that runs already; a launcher with Kafka's own tools
# (Tests/Kit/TestSupport/RealKafka.swift) is needed all the same. Ends with 69 without one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The tests skip themselves under the same condition, and nothing would be rehearsed.
launcher=${SHARED_DATA:-../shared}/kafka/kafka
if ! { [ -x "$launcher" ] && { [ -x /usr/bin/java ] || [ -x "${KAFKA_JAVA:-}" ]; }; }; then
    echo "rehearsal: no Kafka: $launcher and Java are needed" >&2
    exit 69
fi

deploy/install.sh build
export SWIFT_BACKTRACE=enable=no
swift build --build-tests

migrations=(schemas/postgres/*.sql)
added=$(git log --diff-filter=A --max-count=1 --format=%H -- "${migrations[-1]}")
previous=$(git rev-parse --verify --quiet "${1:-$added^}^{commit}") || {
    echo "rehearsal: no commit ${1:-before ${migrations[-1]}}: the history is needed" >&2
    exit 1
}
folder=".build/previous/$previous"
if [ ! -e "$folder/built" ]; then
    echo "building the version before, $(git log --max-count=1 --format='%h, %s' "$previous")"
    mkdir -p "$folder"
    git archive "$previous" | tar --extract --directory "$folder"
    for program in verify-worker dedupe-worker link-worker entitle-worker; do
        swift build --package-path "$folder" --product "$program"
    done
    touch "$folder/built"
fi

PREVIOUS_PROGRAMS="$PWD/$folder/.build/debug" REHEARSAL=yes swift test --skip-build --no-parallel \
    --filter "DisasterTests|ScalingTests|RollingUpgradeTests"
