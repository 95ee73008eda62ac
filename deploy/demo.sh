#!/usr/bin/env bash
# The main job, end to end, on this machine: installs what is missing, builds, and runs signed App
# Store bodies through the four workers.
#
#   deploy/demo.sh          on an embedded Kafka and a private PostgreSQL
#   deploy/demo.sh --kafka broker:9092 --postgres postgresql://user@host/database
#                           on servers that are already there
#
# Arguments go to `demo`, whose options `deploy/demo.sh --help` lists once it is built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --help ]; then
    sed -n '/^# /{s/^# //p};/^#$/s/^#//p;/^set /q' deploy/demo.sh
    built=.build/release/demo
    if [ -x "$built" ]; then echo && "$built" --help; fi
    exit
fi

deploy/install.sh build

echo "building (the first time takes a few minutes)" >&2
swift build --configuration release >&2
exec "$(swift build --configuration release --show-bin-path)/demo" "$@"
