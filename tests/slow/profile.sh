#!/bin/bash
# TensorBoard's profile plugin (PyPI xprof) opens a profile of ours: the host's steps, scopes, and the device's ops with
# the user's lines. XT_XPROF_PYTHON names a Python that has it; without one a virtual environment is made.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
python=${XT_XPROF_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv "$tmp/venv" && "$tmp/venv/bin/pip" -q install xprof >"$tmp/out" 2>&1 || {
        echo "skip profile: the package cannot be had ($(tail -n 1 "$tmp/out"))"
        echo "0 passed, 0 failed"
        exit 0
    }
    python=$tmp/venv/bin/python
fi
cat >"$tmp/prof.c" <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "fc", xt_relu(xt_linear(m, "in", x, 256)), 10); /* @net */
}
int main(int argc, char **argv) {
    static float data[128 * 64];
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    if (argc < 2 || xt_profile(argv[1], .first = 5, .steps = 3)) return 1;
    for (int i = 0; i < 12; i++) {
        xt_scope_begin("forward pass");
        xt_tensor loss = xt_mean(xt_square(xt_forward(m, xt_from_array(data, XT_F32, 128, 64))));
        xt_scope_end();
        xt_backward(loss);
        xt_optimizer_step(sgd);
        if (!xt_mark_step()) break;
    }
    return xt_finish();
}
C
"${CC:-cc}" -std=c11 -I"$root/include" "$tmp/prof.c" -o "$tmp/prof" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" || exit 1
"$tmp/prof" "$tmp/logs" >"$tmp/out" 2>&1
check "it runs" [ $? = 0 ]
cat >"$tmp/read.py" <<'P'
import glob, json, sys
from xprof.convert import raw_to_tool_data as convert
data, kind = convert.xspace_to_tool_data(glob.glob(sys.argv[1] + "/plugins/profile/*/*.xplane.pb"), "trace_viewer", {})
events = [e for e in json.loads(data)["traceEvents"] if e]
names = {e["pid"]: e["args"]["name"] for e in events if e.get("name") == "process_name"}
for e in events:
    if e.get("ph") == "X": print(names[e["pid"]], e["name"], json.dumps(e.get("args", {})))
P
"$python" "$tmp/read.py" "$tmp/logs" >"$tmp/out" 2>"$tmp/errors" || cat "$tmp/errors"
line=$(grep -n '@net' "$tmp/prof.c" | cut -d: -f1)
check "the host's steps" [ "$(grep -cE '^/host:CPU step [567] ' "$tmp/out")" = 3 ]
check "its scopes" [ "$(grep -cE '^/host:CPU forward pass ' "$tmp/out")" -ge 3 ]
check "the device's programs" grep -qE '^/device:CUSTOM:xtrain step ' "$tmp/out"
want="^/device:CUSTOM:xtrain n[0-9]+ \(stablehlo.dot_general\) .*prof.c:$line .*\"module\": \"forward "
want+="pass.in\".*\"source\": \".*prof.c:$line\""
check "its ops with line, module and kernel" grep -qE "$want" "$tmp/out"
check "and their share of the roofline" grep -q '"percent_of_roofline"' "$tmp/out"

# Foreign plugins. XLA's CPU plugins have no profiler extension: the trace has the host's phases, and says so. A plugin
# that has it (CUDA's, which traces without a GPU too; XT_TEST_PROFILER=PATH:...) is started, stopped and read through
# the extension.
for p in $("$root/tools/plugins.sh" "${XT_PLUGINS_DIR:-$BUILD/plugins}" 2>"$tmp/errors"); do
    name=$(basename "$p" .so)
    XT_DEVICE=$p "$tmp/prof" "$tmp/$name.json" >"$tmp/out" 2>&1
    check "$name: a trace of the host" grep -q '"name": "step 6"' "$tmp/$name.json"
    check "$name: it says that ops are missing" \
        grep -q "the device's plugin told of no ops: the trace has the host's phases only" "$tmp/out"
done
if [ -n "${XT_TEST_PROFILER:-}" ]; then
    "$BUILD/test_device_profiler" >"$tmp/out" 2>&1
    check "other plugins' profilers" [ $? = 0 ]
    grep ' planes' "$tmp/out"
fi
finish
