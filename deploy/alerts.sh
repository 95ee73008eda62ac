#!/usr/bin/env bash
# Makes faults in a running pipeline, one after the other, under a real Prometheus with the rules of
# deploy/prometheus, their windows shortened: each alert has to fire by its fault, and to clear after.
# Takes some five minutes; the tests do the same for one fault.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ALERTS_END_TO_END=1 deploy/test.sh --filter 'each alert fires when its fault is made'
