#!/usr/bin/env bash
# Installs what is missing from Debian's packages; does nothing where all is there.
#
#   deploy/install.sh build   what the package needs to compile, and PostgreSQL's server binaries
#   deploy/install.sh test    the above, and what only the tests call
#
# Swift itself is not a Debian package: its absence is said, not mended.
set -euo pipefail

build_packages=(pkg-config librdkafka-dev libssl-dev libpq-dev libmicrohttpd-dev libgmp-dev
    libcurl4-openssl-dev postgresql)
test_packages=(
    prometheus python3-confluent-kafka python3-jsonschema python3-psycopg2 chromium chromium-driver
    systemd systemd-container pgbouncer openssl zsh fish curl python3-venv libpostgresql-jdbc-java kcat
)
# Debian's node-pg cannot be installed beside another vendor's nodejs, see unpack_node_pg; any JDK will do.
[ -x /usr/bin/node ] || test_packages+=(nodejs node-pg)
[ -x /usr/bin/javac ] || test_packages+=(default-jdk-headless)

case "${1:-build}" in
build) wanted=("${build_packages[@]}") ;;
test) wanted=("${build_packages[@]}" "${test_packages[@]}") ;;
*)
    echo "usage: deploy/install.sh [build|test]" >&2
    exit 64
    ;;
esac

if ! command -v swift >/dev/null; then
    echo "swift is not on the PATH: install Swift 6.3 from https://www.swift.org/install/linux/" >&2
    exit 69
fi

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# One run after the other, as apt-get and .build/python have room for one. A folder that every user
# can read is the lock, so that no file is left behind that another user cannot open.
exec 9</var/lib/dpkg
flock --nonblock 9 || {
    echo "waiting for another run of deploy/install.sh" >&2
    flock 9
}

missing=()
for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
done

# The published schemas by which tests check the files of this folder, and axe, which checks the
# console's pages, in a Python of their own.
install_schemas() {
    local root folder wanted axe=axe-playwright-python==0.1.8
    root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    folder=$root/.build/python
    wanted=$root/Tests/Reference/deploy/requirements.txt
    cat "$wanted" - <<<"$axe" | cmp --silent - "$folder/installed" && return
    echo "installing from the Python index into .build/python" >&2
    rm -rf "$folder"
    /usr/bin/python3 -m venv "$folder"
    "$folder/bin/pip" --quiet --disable-pip-version-check install --requirement "$wanted"
    # Its Playwright is not needed: the tests drive Debian's Chromium.
    "$folder/bin/pip" --quiet --disable-pip-version-check install --no-deps "$axe"
    cat "$wanted" - <<<"$axe" >"$folder/installed"
}
# node-pg and what it needs, unpacked where the tests look for it.
unpack_node_pg() {
    local folder
    folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.build/node
    if [ -e /usr/share/nodejs/pg ] || [ -e "$folder/installed" ]; then return; fi
    echo "unpacking Debian's node-pg into .build/node" >&2
    mkdir -p "$folder"
    (cd "$folder" &&
        apt-get -o Acquire::Retries=3 download node-pg node-split2 node-readable-stream node-xtend >/dev/null 2>&1 &&
        ls -- *.deb | xargs -I '{}' dpkg-deb --extract '{}' . && touch installed) ||
        echo "no node-pg: apt-get update, and try again; the tests of the Node examples are skipped" >&2
}
finish() {
    if [ "${1:-build}" = test ]; then
        install_schemas
        unpack_node_pg
    fi
    exit 0
}
[ "${#missing[@]}" -eq 0 ] && finish "$@"

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "missing packages, and no right to install them: apt-get install ${missing[*]}" >&2
        exit 77
    fi
    as_root=(sudo)
fi

echo "installing from Debian: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# DPkg::Lock::Timeout does not wait for the lock of the lists, which apt-daily holds after a boot. A
# server that an installation starts must not inherit this script's own lock.
install_missing() {
    local deadline=$((SECONDS + 300))
    until "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LANGUAGE=en \
        apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -y "$@" >>"$log" 2>&1 9<&-; do
        tail -n 5 "$log" | grep -q "Could not get lock" && ((SECONDS < deadline)) || return 1
        sleep 5
    done
}
if ! { install_missing update && install_missing install --no-install-recommends "${missing[@]}"; }; then
    cat "$log" >&2
    echo "apt-get could not install: ${missing[*]}" >&2
    exit 69
fi
finish "$@"
