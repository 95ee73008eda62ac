#!/usr/bin/env bash
# Installs the pipeline as systemd services: deploy/systemd/install.sh [--root DIR] PROGRAMS
#
# PROGRAMS is the folder of the executables, such as .build/release. With --root everything goes below
# DIR, for a package or an image. May be run again, also for another version: settings, secrets and
# what is enabled stay as they are, and nothing is started or stopped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
    echo "usage: deploy/systemd/install.sh [--root DIR] PROGRAMS" >&2
    exit 64
}

root=""
if [ "${1:-}" = --root ]; then
    [ $# -ge 2 ] || usage
    root=$(cd "$OLDPWD" && realpath "$2")
    shift 2
fi
[ $# -eq 1 ] || usage
programs=$(cd "$OLDPWD" && realpath "$1")

executables=(
    verify-worker dedupe-worker link-worker entitle-worker recovery-worker dead-letter pipeline
)
for name in "${executables[@]}"; do
    [ -x "$programs/$name" ] || {
        echo "$name is not in $programs: swift build --configuration release" >&2
        exit 66
    }
done

home=$root/usr/lib/entitlements
# A running program is replaced by a rename: writing to it would fail.
install -d "$home/bin" "$home/doc" "$home/schemas"
for name in "${executables[@]}"; do
    install -m 0755 "$programs/$name" "$home/bin/.$name.new"
    mv -f "$home/bin/.$name.new" "$home/bin/$name"
done
rm -rf "$home/schemas.new"
cp -R ../schemas "$home/schemas.new"
chmod -R u=rwX,go=rX "$home/schemas.new"
rm -rf "$home/schemas"
mv "$home/schemas.new" "$home/schemas"
install -m 0644 runbook.md SETTINGS.md "$home/doc"

units=$root/etc/systemd/system
install -d "$units/entitlements-.service.d" "$root/usr/lib/sysusers.d" "$root/usr/lib/tmpfiles.d"
install -m 0644 systemd/*.service systemd/*.timer systemd/*.target "$units"
install -m 0644 systemd/entitlements-.service.d/*.conf "$units/entitlements-.service.d"
install -m 0644 systemd/entitlements.sysusers.conf "$root/usr/lib/sysusers.d/entitlements.conf"
install -m 0644 systemd/entitlements.tmpfiles.conf "$root/usr/lib/tmpfiles.d/entitlements.conf"

systemd-sysusers ${root:+--root="$root"} entitlements.conf
systemd-tmpfiles ${root:+--root="$root"} --create entitlements.conf
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
