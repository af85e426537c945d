#!/bin/bash
# tests/cli/guarded.sh with every test of the CPU compiler, but for test_cpu_cost, which compares the processor's time of
# compilations: three calls of the system for each allocation here.
set -u
cd "$(dirname "$0")/../.." || exit 1
GUARDED=$(find "$BUILD" -maxdepth 1 -type f -name 'test_cpu_*' -perm -u+x -printf '%f\n' | sed 's/^test_cpu_//' |
    grep -vx cost | sort | tr '\n' ' ') GUARDED_SECONDS=1500 exec bash tests/cli/guarded.sh
