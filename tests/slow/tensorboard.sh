#!/bin/bash
# TensorBoard's own package (PyPI) reads an event file of ours: scalars, histograms, images, texts, the table of runs.
# XT_TENSORBOARD_PYTHON names a Python that has it; without one a virtual environment is made.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
python=${XT_TENSORBOARD_PYTHON:-}
if [ -z "$python" ]; then
    python3 -m venv "$tmp/venv" && "$tmp/venv/bin/pip" -q install tensorboard==2.20.0 >"$tmp/out" 2>&1 || {
        echo "skip tensorboard: the package cannot be had ($(tail -n 1 "$tmp/out"))"
        echo "0 passed, 0 failed"
        exit 0
    }
    python=$tmp/venv/bin/python
fi
cat >"$tmp/rich.c" <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { (void)user; return xt_linear(m, "fc", x, 2); }
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor out = xt_forward(m, b.x);
    xt_log_histogram("weights", xt_module_find(m, "fc.weight"));
    xt_log_image("picture", b.x);
    return xt_mean(out);
}
static xt_optimizer *sgd(xt_module *m, void *user) { (void)user; return xt_sgd(m, .lr = 0.1); }
static void begun(xt_module *m, void *user) { (void)m; (void)user; xt_log_text("note", "**begun**"); }
int main(void) {
    static float x[64];
    for (int i = 0; i < 64; i++) x[i] = (float)i / 64;
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .log_every_n_steps = 4, .run_name = "rich", .progress_bar = XT_OFF);
    xt_trainer_number(t, "model.lr", 0.1);
    xt_trainer_text(t, "model.kind", "linear");
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = sgd, .on_fit_start = begun};
    return xt_fit(t, &task,
                  xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 16), .batch = 2));
}
C
"${CC:-cc}" -std=c11 -I"$root/include" "$tmp/rich.c" -o "$tmp/rich" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
check "the program builds" [ $? = 0 ]
"$tmp/rich" >"$tmp/out" 2>&1
check "it runs" [ $? = 0 ]
cat >"$tmp/read.py" <<'P'
import sys, glob
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2
a = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0}); a.Reload()
print("scalars", [(e.step, e.value == e.value) for e in a.Scalars("loss")])
h = a.Histograms("weights")
print("histograms", [e.step for e in h], h[0].histogram_value.num, len(h[0].histogram_value.bucket),
      sum(h[0].histogram_value.bucket))
i = a.Images("picture")
print("images", [(e.step, e.width, e.height, e.encoded_image_string[1:4]) for e in i])
print("text", a.Tensors("note")[0].tensor_proto.string_val[0].decode())
m = a.SummaryMetadata("_hparams_/session_start_info")
d = plugin_data_pb2.HParamsPluginData.FromString(m.plugin_data.content).session_start_info
print("hparams", d.hparams["model.lr"].number_value, d.hparams["model.kind"].string_value)
data = a.SummaryMetadata("_hparams_/experiment").plugin_data.content
d = plugin_data_pb2.HParamsPluginData.FromString(data).experiment
print("experiment", sorted(i.name for i in d.hparam_infos), sorted(i.name.tag for i in d.metric_infos))
P
"$python" "$tmp/read.py" "$tmp/runs/rich/version_0" >"$tmp/out" 2>&1
check "TensorBoard reads it" [ $? = 0 ]
check "scalars" grep -q "scalars \[(4, True), (8, True)\]" "$tmp/out"
check "histograms of 8 weights in 30 bins" grep -qE "histograms \[4, 8\] 8.0 30 8.0" "$tmp/out"
check "images" grep -q "(4, 4, 2, b'PNG')" "$tmp/out"
check "texts" grep -q 'text \*\*begun\*\*' "$tmp/out"
check "the run's settings" grep -q 'hparams 0.1 linear' "$tmp/out"
check "the table of runs" grep -q "experiment \['model.kind', 'model.lr'\]" "$tmp/out"
finish
