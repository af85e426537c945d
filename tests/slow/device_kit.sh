#!/bin/bash
# The device kit: packed below its limit, without a library from outside itself but the C library's, it runs from
# another folder in an empty environment. The device is ours; DEVICE_KIT_PLUGIN names another (XLA's CPU plugin).
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
command -v patchelf >/dev/null || { echo "patchelf is needed (Debian's package)"; exit 77; }
python3 "$root/tools/device_kit.py" "$BUILD" >"$tmp/out" 2>&1
check "the kit is packed, below its limit" [ $? = 0 ]
tar -C "$tmp" -xf "$BUILD/device-kit.tar.xz"
kit=$tmp/device-kit
strangers() { # libraries of the kit's files that come from elsewhere
    local f
    for f in "$kit"/build/*; do env -i ldd "$f" 2>/dev/null; done |
        grep -vE "$kit/build/|linux-vdso|ld-linux|/lib(c|m|dl|rt|pthread)\.so" | sort -u
}
strangers >"$tmp/out"
check "nothing comes from the system but the C library" [ ! -s "$tmp/out" ]
groups=$(env -i PATH=/usr/bin:/bin bash "$kit/tools/device_kit.sh" --list | cut -d' ' -f1 | uniq | tr '\n' ' ')
check "it has all groups" [ "$groups" = "doctor device examples fit checkpoints diagnostics bench peers " ]
plugin=${DEVICE_KIT_PLUGIN:-$kit/build/pjrt_plugin_xtrain_cpu.so}
some=doctor,client,hello,mnist_multi,log_metrics,mesh,throughput,fit_mnist_f16,fit_gpt2_bf16,checkpoints,diagnostics
run() { (cd / && env -i PATH=/usr/bin:/bin HOME="$tmp" bash "$kit/tools/device_kit.sh" --tiny "$@"); }
run --device "$plugin" --limit 900 --only "$some,dispatch,bench_mnist" --out "$tmp/results" >"$tmp/out" 2>&1
check "the steps pass" [ $? = 0 ]
grep -E 'FAILED' "$tmp/out"
check "none is left out for want of time" [ "$(grep -c 'not run' "$tmp/results/summary.txt")" = 0 ]
check "the table is JSON too" python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["steps"]
assert len(rows) >= 18 and all(r["state"] in ("ok", "n/a") for r in rows), rows
assert next(r for r in rows if r["name"] == "bench_mnist")["json"]["ms_median"] > 0' "$tmp/results/summary.json"
check "each step has a log" [ "$(tar tzf "$tmp/results/logs.tar.gz" | grep -c '\.log$')" -ge 18 ]
# A step that fails is told, and the others go on.
run --device /none.so --limit 60 --only doctor,hello,dispatch --out "$tmp/none" >"$tmp/out" 2>&1
check "a device that is not there fails" [ $? = 1 ]
check "by its steps" grep -qE '^doctor +doctor +FAILED .*none.so' "$tmp/none/summary.txt"
check "and the rest is tried" grep -qE '^bench +dispatch +FAILED' "$tmp/none/summary.txt"
finish
