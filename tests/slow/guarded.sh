#!/bin/bash
# tests/cli/guarded.sh with every test of the CPU compiler.
set -u
cd "$(dirname "$0")/../.." || exit 1
GUARDED=$(find "$BUILD" -maxdepth 1 -type f -name 'test_cpu_*' -perm -u+x -printf '%f\n' | sed 's/^test_cpu_//' |
    sort | tr '\n' ' ') exec bash tests/cli/guarded.sh
