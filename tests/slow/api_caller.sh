#!/bin/bash
# The public functions in random order with random arguments (tests/api_caller.c), ten minutes of a core:
# API_CALLER_SECONDS=N, API_CALLER_SEED=N to go on from another place. Best under a build with sanitizers
# (tests/run.sh build-asan slow:api_caller).
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/api_caller_build.sh"
./api_caller "${API_CALLER_SECONDS:-600}" "${API_CALLER_SEED:-1}" >out 2>err
check "no sequence crashes, hangs, loses anything or says nothing" [ $? = 0 ]
tail -n 1 out
finish
