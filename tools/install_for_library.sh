#!/bin/bash
# Installs what building the library needs, and the groups of packages that the caller names in addition:
#
#   tools/install_for_library.sh [-- REASON PACKAGE...]...
#
# Used by samples/quickstart and tests/run.
exec "$(dirname "${BASH_SOURCE[0]}")/install_packages.sh" "to build the library" \
  g++ cmake ninja-build pkg-config python3 libhwy-dev libxxhash-dev "$@"
