#!/usr/bin/env bash
# Checks dashboard.json against Grafana's published schema of dashboards: every member has to be one
# that Grafana knows, of its type. The schema comes as classes generated from it, in the package
# grafana-foundation-sdk of the Python index: `deploy/install.sh test` installs it into .build/python;
# without that it goes into a temporary folder. A test runs this for dashboard.json.
#
#   deploy/grafana/check.sh [another dashboard.json]
#
# Exit codes: 0 it fits, 1 it does not, 69 the package cannot be had.
set -euo pipefail
dashboard=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/dashboard.json}")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# The release for Grafana 10.1, the oldest whose dashboards newer ones read unchanged.
package=$(sed -n 's/^\(grafana-foundation-sdk==[^ ]*\).*/\1/p' \
    "$root/Tests/Reference/deploy/requirements.txt")

python=$root/.build/python/bin/python
if ! "$python" -c 'import grafana_foundation_sdk' 2>/dev/null; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    if ! { python3 -m venv "$folder/venv" &&
        "$folder/venv/bin/pip" install --quiet "$package"; } >"$folder/log" 2>&1; then
        cat "$folder/log" >&2
        echo "cannot install $package" >&2
        exit 69
    fi
    python=$folder/venv/bin/python
fi

"$python" -B - "$dashboard" <<'PYTHON'
import json
import re
import sys

from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard


# The members of an annotation that belong to Grafana's Prometheus, whose schema is not published.
OF_PROMETHEUS = re.compile(r"annotations\.list\[\d+\]\.(titleFormat|useValueForTime)$")


def differences(given, understood, path="dashboard"):
    """What of the file the schema does not know, or understands otherwise."""
    if isinstance(given, dict) and isinstance(understood, dict):
        for key, value in given.items():
            if key in understood:
                yield from differences(value, understood[key], f"{path}.{key}")
            elif not OF_PROMETHEUS.search(f"{path}.{key}"):
                yield f"{path}.{key} is no member that Grafana knows"
    elif isinstance(given, list) and isinstance(understood, list) and len(given) == len(understood):
        for index, (left, right) in enumerate(zip(given, understood)):
            yield from differences(left, right, f"{path}[{index}]")
    elif given != understood:
        yield f"{path} is {given!r}, which Grafana reads as {understood!r}"


plugins.register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
try:
    model = Dashboard.from_json(given)
except (AttributeError, KeyError, TypeError, ValueError) as error:
    sys.exit(f"the schema cannot read it: {error!r}")
found = list(differences(given, json.loads(JSONEncoder(sort_keys=True).encode(model))))
print("\n".join(found) or f"{len(given['panels'])} panels fit the schema")
sys.exit(1 if found else 0)
PYTHON
