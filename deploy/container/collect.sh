#!/usr/bin/env bash
# Gathers the files of the image: collect.sh PROGRAMS FOLDER, run in the stage that has everything.
#
# The programs that the file PROGRAMS lists, the libraries that they load, authorities for TLS, and the
# names of the packages that these come from, where scanners look for them.
set -euo pipefail
programs=$1
image=$2
mkdir -p "$image/usr/bin" "$image/etc/ssl/certs" "$image/var/lib/dpkg/status.d"

while read -r program; do
    cp "/usr/bin/$program" "$image/usr/bin/"
    ldd "/usr/bin/$program" | grep -oE '/[^ ]+' || exit 1
done <"$programs" | sort -u >/tmp/libraries
if ldd $(sed 's#^#/usr/bin/#' "$programs") | grep 'not found'; then
    exit 1
fi
while read -r library; do
    cp --dereference --parents "$library" "$image"
done </tmp/libraries

cp --dereference /etc/ssl/certs/ca-certificates.crt "$image/etc/ssl/certs/"
cp /etc/ssl/openssl.cnf "$image/etc/ssl/"
mkdir -p "$image/usr/lib/ssl"
ln -s /etc/ssl/certs "$image/usr/lib/ssl/certs"
ln -s /etc/ssl/certs/ca-certificates.crt "$image/usr/lib/ssl/cert.pem"
ln -s /etc/ssl/openssl.cnf "$image/usr/lib/ssl/openssl.cnf"
cp /etc/nsswitch.conf /etc/debian_version /etc/os-release "$image/etc/"
echo 'entitlements:x:10001:10001::/:/usr/sbin/nologin' >"$image/etc/passwd"
echo 'entitlements:x:10001:' >"$image/etc/group"

owner() {
    # dpkg knows a file by the path before or after /lib became a link to /usr/lib.
    local file
    file=$(realpath "$1")
    dpkg-query --search "$file" 2>/dev/null || dpkg-query --search "${file#/usr}"
}
while read -r library; do
    owner "$library"
done </tmp/libraries | sed 's/: .*//' | cut -d: -f1 | sort -u >/tmp/packages
echo ca-certificates >>/tmp/packages
while read -r package; do
    dpkg-query --status "$package" >"$image/var/lib/dpkg/status.d/$package"
    cp --parents "/usr/share/doc/$package/copyright" "$image"
done </tmp/packages
