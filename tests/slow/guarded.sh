#!/bin/bash
# tests/cli/guarded.sh with every test of the CPU compiler, but for test_cpu_cost: it compares the time of compilations,
# and each allocation takes three calls of the system here.
set -u
cd "$(dirname "$0")/../.." || exit 1
GUARDED=$(find "$BUILD" -maxdepth 1 -type f -name 'test_cpu_*' -perm -u+x -printf '%f\n' | sed 's/^test_cpu_//' |
    grep -vx cost | sort | tr '\n' ' ') GUARDED_SECONDS=1500 exec bash tests/cli/guarded.sh
