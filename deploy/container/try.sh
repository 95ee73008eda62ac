#!/usr/bin/env bash
# Runs the demo with its workers as containers of the image: deploy/container/try.sh [TAG [OPTION…]]
#
# TAG is entitlement-pipeline:1.4.0 if not given; the options are those of `demo`. Each worker is a
# container of its own (runc): read-only root, the image's user, no capability, no new privileges, and
# nothing mounted but the demo's settings. They share this machine's network, where the demo starts Kafka's
# mock and PostgreSQL. Needs root, the image (build.sh, with the same STORE) and the demo itself
# (swift build --configuration release --product demo), or another one that DEMO names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tag=${1:-entitlement-pipeline:1.4.0}
shift || true
store=$(realpath --canonicalize-missing "${STORE:-.build/image}")
demo=${DEMO:-.build/release/demo}
for program in buildah runc; do
    command -v "$program" >/dev/null || {
        echo "missing: apt-get install --no-install-recommends buildah runc" >&2
        exit 69
    }
done
[ -x "$demo" ] || {
    echo "no demo: swift build --configuration release --product demo" >&2
    exit 69
}
buildah() {
    command buildah --root "$store/storage" --runroot "$store/run" --storage-driver overlay "$@"
}

container=
folder=$(mktemp -d)
finish() {
    if [ -n "$container" ]; then
        buildah umount "$container" >/dev/null || true
        buildah rm "$container" >/dev/null || true
    fi
    rm -rf --one-file-system "$folder"
}
trap finish EXIT
container=$(buildah from --pull-never "localhost/$tag")
image=$(buildah mount "$container")
mkdir "$folder/programs" "$folder/state"
install "$demo" "$folder/programs/demo"
[ ! -d schemas ] || cp -R schemas "$folder/schemas"

# What the demo starts instead of a worker: a container with the worker in it.
cat >"$folder/container.py" <<'PYTHON'
"""container.py FOLDER IMAGE PROGRAM --config FILE: becomes runc, with the program in a container."""
import json, os, pathlib, shutil, sys

folder, image, program, option, settings = sys.argv[1:]
bundle = pathlib.Path(folder, program)
# The image's user cannot read the demo's own folder.
seen = bundle / "settings"
shutil.copytree(pathlib.Path(settings).parent, seen)
for path in [seen, *seen.iterdir()]:
    path.chmod(0o755)
names = ["bounding", "effective", "permitted", "inheritable", "ambient"]
specification = {
    "ociVersion": "1.0.2",
    "root": {"path": image, "readonly": True},
    "process": {
        "user": {"uid": 10001, "gid": 10001},
        "args": [program, option, settings],
        "env": ["PATH=/usr/bin", "SWIFT_BACKTRACE=enable=no"],
        "cwd": "/",
        "capabilities": {name: [] for name in names},
        "noNewPrivileges": True,
    },
    "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
        {
            "destination": str(pathlib.Path(settings).parent),
            "source": str(seen),
            "options": ["bind", "ro"],
        },
    ],
    "linux": {"namespaces": [{"type": kind} for kind in ("mount", "pid", "ipc", "uts")]},
}
(bundle / "config.json").write_text(json.dumps(specification))
state = pathlib.Path(folder, "state")
os.execvp(
    "runc",
    ["runc", f"--root={state}", "run", f"--bundle={bundle}", program],
)
PYTHON
for program in verify-worker dedupe-worker link-worker entitle-worker; do
    mkdir "$folder/$program"
    printf '#!/usr/bin/env bash\nexec python3 %q %q %q %q "$@"\n' \
        "$folder/container.py" "$folder" "$image" "$program" >"$folder/programs/$program"
    chmod +x "$folder/programs/$program"
done
"$folder/programs/demo" "$@"
