#!/bin/bash
# Writes what the ABI gate compares with anew: tests/abi/libhalftone.abi and tests/abi/struct_layouts.c.
#
#   tools/update_abi_baseline.sh [BUILD-DIR]     BUILD-DIR is configured already; build/release otherwise
#
# When this may be run: CONTRIBUTING.md, "The binary interface".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${1:-build/release}
[ -e "$build/CMakeCache.txt" ] || cmake --preset release -B "$build"
tools/check_layouts.py --write capi/include "$build/generated/include"
cmake --build "$build" --target halftone_abi
tools/check_abi.py "$build/tests/abi/libhalftone.so" --write tests/abi/libhalftone.abi
git --no-pager diff --stat -- tests/abi
