#!/usr/bin/env bash
# Builds the image with Debian's buildah, which needs no daemon: deploy/container/build.sh [TAG]
#
# TAG is entitlement-pipeline: with the version if not given. Where the registry of the base images cannot be
# reached, or with OFFLINE_BASES=yes, both bases are made by debootstrap of the same Debian releases and
# this machine's Swift. Needs root. STORE is the folder of buildah's storage, .build/image if not given.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
version=$(sed -n 's/.* static let version = "\(.*\)"/\1/p' Sources/Wrappers/Release/Release.swift)
tag=${1:-entitlement-pipeline:$version}
commit=$(git -c safe.directory="$PWD" describe --always --dirty --exclude='*' --abbrev=40 || echo unknown)
store=$(realpath --canonicalize-missing "${STORE:-.build/image}")
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

for program in buildah debootstrap; do
    command -v "$program" >/dev/null || {
        echo "missing: apt-get install --no-install-recommends buildah debootstrap" >&2
        exit 69
    }
done
mkdir -p "$store"
buildah() {
    command buildah --root "$store/storage" --runroot "$store/run" --storage-driver overlay "$@"
}
base() {
    sed -n "s/^ARG $1=//p" deploy/container/Containerfile
}

# give_up LOG: ends with the last lines of a program that failed.
give_up() {
    tail -n 20 "$1" >&2
    exit 69
}

# make_base NAME RELEASE SETUP: an image of Debian's packages; SETUP gets the folder of its files.
make_base() {
    local name=$1 release=$2 setup=$3 files=$store/$2
    buildah inspect --type image "localhost/$name" >/dev/null 2>&1 && return
    echo "making $name by debootstrap" >&2
    rm -rf --one-file-system "$files"
    debootstrap --variant=minbase "$release" "$files" "$mirror" >"$store/$release.log" 2>&1 ||
        give_up "$store/$release.log"
    "$setup" "$files"
    local container
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$files" / >/dev/null
    buildah commit --quiet --rm "$container" "localhost/$name" >/dev/null
    rm -rf --one-file-system "$files"
}
# As the toolchain's own image: what it links with, and the toolchain itself.
add_swift() {
    local resources
    # Not from the path of swiftc, which may be a proxy or a link elsewhere.
    resources=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p') ||
        resources=
    [ -n "$resources" ] || {
        echo "no Swift toolchain: sudo replaces the PATH by its secure_path, so run" \
            'sudo env PATH="$PATH" deploy/container/build.sh' >&2
        exit 69
    }
    chroot "$1" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
        binutils ca-certificates git libc6-dev libcurl4 libedit2 libgcc-12-dev libncurses6 \
        libsqlite3-0 libstdc++-12-dev libxml2 libz3-4 pkg-config tzdata zlib1g-dev \
        >>"$store/bookworm.log" 2>&1 || give_up "$store/bookworm.log"
    cp --archive "$resources/../../." "$1/usr"
}
add_nothing() { :; }

arguments=()
if [ "${OFFLINE_BASES:-}" = yes ] || ! buildah pull --quiet "$(base RUN_BASE)" >/dev/null 2>&1; then
    make_base entitlements-build-base bookworm add_swift
    make_base entitlements-run-base trixie add_nothing
    arguments=(--build-arg BUILD_BASE=localhost/entitlements-build-base
        --build-arg RUN_BASE=localhost/entitlements-run-base --pull-never)
fi
buildah build --isolation chroot --layers --format oci \
    --file deploy/container/Containerfile --ignorefile deploy/container/Containerfile.dockerignore \
    --build-arg COMMIT="$commit" --tag "$tag" "${arguments[@]}" .
buildah images "$tag"
