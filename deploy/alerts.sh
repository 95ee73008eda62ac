#!/usr/bin/env bash
# deploy/alerts.sh [TEXT]
#
# Makes faults in a running pipeline, one after the other, under a real Prometheus with the rules of
# deploy/prometheus, their windows and some thresholds shortened (MonitoringFiles.shortenedRules in
# the tests): each alert has to fire by its fault, and to clear after it is mended.
#
# TEXT makes only the faults whose names contain it.
#
# Ends with a line for each alert, which says what it did, and their number. Exit codes: 0 each has
# fired and cleared, 70 nothing was tried, any other: some have not. Takes some ten minutes;
# the tests do the same for one fault.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

report=$(mktemp)
trap 'rm -f "$report"' EXIT

status=0
export ALERTS_END_TO_END=$report ALERTS_FAULT=${1:-}
deploy/test.sh --filter 'each alert fires when its fault is made' ||
    status=$?

if [ ! -s "$report" ]; then
    echo "no alert was tried" >&2
    [ "$status" -ne 0 ] || status=70
    exit "$status"
fi
printf '\n== alerts\n'
cat "$report"
if grep -q 'NOT' "$report" && [ "$status" -eq 0 ]; then
    status=1
fi
exit "$status"
