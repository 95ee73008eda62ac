#!/usr/bin/env bash
# Boots a copy of this machine with the pipeline installed as systemd services, and all of them started.
#
#   boot.sh PROGRAMS FOLDER
#
# PROGRAMS is the folder of the executables. FOLDER holds `etc`, which becomes /etc/entitlements of the
# copy; written to it are `verify` (what systemd-analyze finds wrong, empty if nothing), `exposure` (a line
# for each unit), and `passwd` (the copy's users). The copy is a layer over this machine's files, in
# memory: what is changed in it is gone with it. It shares this machine's network. SIGTERM shuts it down
# in order. Needs root, overlayfs and systemd-nspawn.
set -euo pipefail

if [ "${IN_OWN_MOUNTS:-}" != yes ]; then
    IN_OWN_MOUNTS=yes exec unshare --mount --propagation private "$0" "$@"
fi
programs=$1
folder=$2
package=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)

# nspawn keeps its own state in /run, which has to be in memory.
mount -t tmpfs tmpfs /run
layer=$folder/layer
mkdir "$layer"
mount -t tmpfs tmpfs "$layer"
mkdir "$layer/changes" "$layer/work" "$layer/root"
mount -t overlay overlay \
    -o "lowerdir=/,upperdir=$layer/changes,workdir=$layer/work" "$layer/root"
root=$layer/root
rm -f "$root/etc/machine-id"

"$package/deploy/systemd/install.sh" --root "$root" "$programs" >&2
cp -R "$folder/etc/." "$root/etc/entitlements"
systemd-tmpfiles --root="$root" --create entitlements.conf
cp "$root/etc/passwd" "$folder/passwd"

units=(
    entitlements-verify@1.service entitlements-dedupe@1.service entitlements-link@1.service
    entitlements-entitle@1.service entitlements-index.service entitlements-console.service
)
tasks=(entitlements-{reconcile,chains,prune})
all=(
    "${units[@]}" entitlements-migrate.service "${tasks[@]/%/.service}" "${tasks[@]/%/.timer}"
    entitlements.target
)
systemd-analyze verify --recursive-errors=no --root="$root" "${all[@]}" >"$folder/verify" 2>&1 ||
    echo "exit code $?" >>"$folder/verify"
for unit in "${units[@]}" entitlements-migrate.service "${tasks[@]/%/.service}"; do
    systemd-analyze security --offline=true --root="$root" --no-pager "$unit" | tail -n 1
done >"$folder/exposure"

systemctl --root="$root" enable "${units[@]}" "${tasks[@]/%/.timer}" >&2
# Nobody waits for the night.
for task in "${tasks[@]}"; do
    mkdir "$root/etc/systemd/system/$task.timer.d"
    printf '[Timer]\nOnCalendar=\nOnCalendar=*:*:0/5\nRandomizedDelaySec=0\nAccuracySec=1s\n' \
        >"$root/etc/systemd/system/$task.timer.d/soon.conf"
done
mkdir -p "$root/etc/systemd/system.conf.d"
printf '[Manager]\nDefaultStandardOutput=journal+console\n' >"$root/etc/systemd/system.conf.d/log.conf"
# This machine's control groups are of the first kind where it has systemd's hierarchy.
if [ -d /sys/fs/cgroup/systemd ]; then
    export SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=0
fi
exec systemd-nspawn --quiet --directory="$root" --machine="entitlements-$$" --register=no --keep-unit \
    --link-journal=no --console=read-only --boot \
    systemd.unit=entitlements.target systemd.wants=entitlements-migrate.service
