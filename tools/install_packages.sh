#!/bin/bash
# Installs the Debian packages that are missing, all at once, and says which and what for. Used by samples/quickstart and
# tests/run. Groups are parted by --:
#
#   tools/install_packages.sh "to build the library" g++ cmake ... -- "for the sample" zlib1g-dev ...
#
# Nothing is touched, and no network is needed, where all of them are installed. sudo is used only where the caller is
# not root. The package lists are fetched only when the known ones do not suffice.
set -euo pipefail

missing=()
reasons=()

is_installed() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

find_missing() { # REASON PACKAGE...
  local reason=$1 package group=()
  shift
  for package in "$@"; do
    is_installed "$package" || group+=("$package")
  done
  [ ${#group[@]} -gt 0 ] || return 0
  missing+=("${group[@]}")
  reasons+=("${group[*]} ($reason)")
}

find_all_missing() { # REASON PACKAGE... [-- REASON PACKAGE...]...
  local group=() word
  for word in "$@" --; do
    if [ "$word" != -- ]; then
      group+=("$word")
      continue
    fi
    if [ ${#group[@]} -lt 2 ]; then
      echo "usage: $0 REASON PACKAGE... [-- REASON PACKAGE...]..." >&2
      exit 2
    fi
    find_missing "${group[@]}"
    group=()
  done
}

apt() {
  local prefix=(env DEBIAN_FRONTEND=noninteractive)
  [ "$(id -u)" -eq 0 ] || prefix=(sudo "${prefix[@]}")
  "${prefix[@]}" apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

install() {
  apt install --yes --no-install-recommends "${missing[@]}"
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "This system has no apt. Needed, if it is not there yet (Debian's names): $*" >&2
  exit 0
fi

find_all_missing "$@"
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
  printf 'Missing: %s\n' "${reasons[@]}" >&2
  echo "To install them needs root, and there is no sudo. Run as root:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
printf 'Installing %s\n' "${reasons[@]}"
# A bare image has no package lists at all, and old ones name versions that the mirror has dropped.
if ! ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1; then
  echo "There are no package lists yet; fetching them"
  apt update
fi
if ! install; then
  echo "The known package lists do not suffice; fetching new ones"
  apt update
  install
fi
