#!/bin/bash
# Installs the Debian packages that are missing, and says which and what for. Used by samples/quickstart and tests/run.
#
#   tools/install_packages.sh "to build the library" g++ cmake ...
#
# Nothing is touched, and no network is needed, where all of them are installed. sudo is used only where the caller is
# not root. The package lists are fetched only when the known ones do not suffice.
set -euo pipefail

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

apt() {
  local prefix=(env DEBIAN_FRONTEND=noninteractive)
  [ "$(id -u)" -eq 0 ] || prefix=(sudo "${prefix[@]}")
  "${prefix[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

install() {
  apt install --yes --no-install-recommends "$@"
}

if [ $# -lt 2 ]; then
  echo "usage: $0 REASON PACKAGE..." >&2
  exit 2
fi
reason=$1
shift

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "This system has no apt. Needed $reason, if it is not there yet (Debian's names): $*" >&2
  exit 0
fi

missing=()
for package in "$@"; do
  is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "Installing ${missing[*]} ($reason)"
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
  echo "This needs root and there is no sudo. Run as root: apt-get update && apt-get install ${missing[*]}" >&2
  exit 1
fi
# A bare image has no package lists at all, and old ones name versions that the mirror has dropped.
if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
  echo "There are no package lists yet; fetching them"
  apt update
fi
if ! install "${missing[@]}"; then
  echo "The known package lists do not suffice; fetching new ones"
  apt update
  install "${missing[@]}"
fi
