#!/usr/bin/env bash
# The main job, end to end, on this machine: installs what is missing, builds, and runs signed App
# Store bodies through the four workers. Arguments go to `demo`, so that
#   deploy/demo.sh --kafka broker:9092 --postgres postgresql://user@host/database
# does the same against servers that are already there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh build

echo "building (the first time takes a few minutes)" >&2
swift build --configuration release >&2
exec "$(swift build --configuration release --show-bin-path)/demo" "$@"
