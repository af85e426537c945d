#!/bin/bash
# The Ray example: two ranks train on Ray's workers and agree; a failing function fails the run. Ray comes from PyPI,
# into a folder of its own.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
venv=${RAY_VENV:-$root/.venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv" >"$tmp/out" 2>&1 || { echo "no python3 venv here"; exit 77; }
"$venv/bin/python" -c 'import ray' 2>/dev/null || "$venv/bin/pip" install -q ray >"$tmp/out" 2>&1 || {
    echo "Ray could not be installed from PyPI"
    exit 77
}
cp "$root"/examples/ray/*.py "$tmp/"
build() { cc -I"$root/include" -shared -fPIC "$1" -o "$2" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"; }
check "the training module builds" build "$root/examples/ray/train_module.c" "$tmp/train_module.so"
export RAY_raylet_start_wait_time_s=120 RAY_USAGE_STATS_ENABLED=0 XT_TIMEOUT=60 RAY_AUTH_MODE=disabled
timeout 200 "$venv/bin/python" "$tmp/main.py" 2 >"$tmp/out" 2>&1
check "two ranks train" [ $? = 0 ]
check "both speak" [ "$(grep -cE 'rank [01] of 2: loss 0\.0000' "$tmp/out")" = 2 ]
printf 'int train(int rank, void *arg) { return rank + (arg != 0); }\n' >"$tmp/bad.c"
check "the failing module builds" build "$tmp/bad.c" "$tmp/bad.so"
timeout 200 "$venv/bin/python" "$tmp/main.py" 2 "$tmp/bad.so" >"$tmp/out" 2>&1
check "a failing rank fails the run" [ $? = 1 ]
check "with its number" grep -q 'rank 1 of 2: train of .*bad.so returned 1' "$tmp/out"
check "nothing is left in shared memory" [ -z "$(shm_left)" ]
finish
