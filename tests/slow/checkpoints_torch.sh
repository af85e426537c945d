#!/bin/bash
# PyTorch reads the Trainer's checkpoints, in f32 and in bf16: names, shapes, dtypes and values are what the fit ended
# with, the optimizer's too, and the network made again in PyTorch gives the same outputs. TORCH_PYTHON names a Python
# that has torch and safetensors.
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=${BUILD:-$root/build}
python_with TORCH_PYTHON torch safetensors.torch
cat >"$tmp/p.c" <<'C'
/* p PRECISION: trains, then prints every tensor of the module and the optimizer, and the network's outputs, as "NAME
 * DTYPE DIMS ; VALUES". */
#include <stdio.h>
#include <stdlib.h>
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    x = xt_relu(xt_conv2d(m, "conv", x, 3, 3));
    x = xt_relu(xt_batch_norm(m, "bn", x));
    return xt_linear(m, "fc", xt_flatten(x, 1), 5);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static xt_optimizer *adam(xt_module *m, void *user) { (void)user; return xt_adamw(m, .lr = 0.01); }
static void show(const char *name, xt_tensor t) {
    size_t n = (size_t)xt_numel(t);
    float *values = malloc(n * sizeof *values);
    printf("%s %s", name, xt_dtype_name(xt_dtype_of(t)));
    for (int i = 0; i < xt_rank_of(t); i++) printf(" %d", (int)xt_dim(t, i));
    printf(" ;");
    if (values && xt_read(xt_cast(t, XT_F32), values, n * sizeof *values))
        for (size_t i = 0; i < n; i++) printf(" %.9g", (double)values[i]);
    puts("");
    free(values);
}
int main(int argc, char **argv) {
    static float x[24 * 36];
    static int32_t y[24];
    for (int i = 0; i < 24 * 36; i++) x[i] = (float)(i * 37 % 64) / 32 - 1;
    for (int i = 0; i < 24; i++) y[i] = i % 5;
    xt_seed(11);
    xt_trainer *t = xt_trainer_new(.max_epochs = 3, .precision = argc > 1 ? argv[1] : NULL,
                                   .run_name = argc > 1 ? argv[1] : NULL, .progress_bar = XT_OFF);
    xt_trainer_add(t, xt_model_checkpoint(.filename = "{epoch}-{step}"));
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = adam};
    int rc = xt_fit(t, &task,
                    xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {1, 6, 6}}, y, (xt_spec){XT_I32, {0}}, 24),
                                  .batch = 4, .shuffle = XT_ON));
    xt_module *m = xt_trainer_module(t);
    xt_optimizer *o = xt_trainer_optimizer(t);
    char name[200];
    for (int i = 0; !rc && i < xt_module_tensors(m); i++) show(xt_module_tensor_name(m, i), xt_module_tensor(m, i));
    for (int i = 0; !rc && i < xt_optimizer_tensors(o); i++) {
        snprintf(name, sizeof name, "optimizer:%s", xt_optimizer_tensor_name(o, i));
        show(name, xt_optimizer_tensor(o, i));
    }
    if (!rc) xt_eval(m);
    if (!rc)
        show("= outputs",
             xt_forward(m, xt_cast(xt_from_array(x, XT_F32, 24, 1, 6, 6), xt_dtype_of(xt_module_tensor(m, 0)))));
    return rc;
}
C
"${CC:-cc}" -std=c11 -I"$root/include" "$tmp/p.c" -o "$tmp/p" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
check "the program builds" [ $? = 0 ]
cat >"$tmp/read.py" <<'P'
import sys
import torch
import torch.nn.functional as F
from safetensors import safe_open
precision, tolerance = sys.argv[1], float(sys.argv[4])
dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "i32": torch.int32, "i64": torch.int64,
          "u32": torch.uint32, "u64": torch.uint64}
said, outputs = {}, None
for line in open(sys.argv[2]):
    if " ;" not in line: continue
    head, values = line.split(" ;")
    name, dtype, *dims = head.removeprefix("= ").split()
    row = (dtypes[dtype], [int(d) for d in dims], [float(v) for v in values.split()])
    if head.startswith("= "): outputs = row
    else: said[name] = row
with safe_open(sys.argv[3], framework="pt") as f:
    held = {k: f.get_tensor(k) for k in f.keys()}
missing = sorted(set(said) - set(held))
more = sorted(k for k in set(held) - set(said) if not k.startswith(("xtrain:", "callback:")))
wrong = [k for k, (dtype, dims, values) in said.items()
         if k in held and not (held[k].dtype == dtype and list(held[k].shape) == dims and
                               torch.equal(held[k].float().flatten(), torch.tensor(values)))]
print("names", len(said), "missing", missing, "unexplained", more, "different", wrong)
weights = {k: v for k, v in held.items() if k.startswith(("conv.", "bn.", "fc."))}
print("weights", sorted(weights),
      sorted({str(v.dtype) for k, v in weights.items() if ".num_" not in k and ".running_" not in k}),
      "statistics", str(weights["bn.running_var"].dtype))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Linear(48, 5)
    def forward(self, x):
        return self.fc(F.relu(self.bn(F.relu(self.conv(x)))).flatten(1))
net = Net()
print("load_state_dict", net.load_state_dict(weights, strict=False))
net = net.to(outputs[0]).eval()
x = ((torch.arange(24 * 36) * 37 % 64) / 32 - 1).reshape(24, 1, 6, 6).to(outputs[0])
with torch.no_grad(): out = net(x).float()
want = torch.tensor(outputs[2]).reshape(outputs[1])
share = ((out - want).abs().max() / want.abs().max()).item()
print("outputs", str(outputs[0]), "differ by", share, "of the largest:",
      "same" if share <= tolerance else "NOT THE SAME")
P
# one PRECISION DTYPE TOLERANCE: bf16 rounds every layer to 8 bits, in an order of one's own.
one() {
    "$tmp/p" "$1" >"$tmp/said" 2>"$tmp/out"
    check "$1: it trains" [ $? = 0 ]
    for file in last.ckpt epoch=2-step=18.ckpt; do
        "$python" "$tmp/read.py" "$1" "$tmp/said" "$tmp/runs/$1/version_0/checkpoints/$file" "$3" >"$tmp/out" 2>&1
        check "$1: PyTorch reads $file" [ $? = 0 ]
        check "$1: names, shapes, dtypes and values in $file" \
            grep -qE "^names [1-9][0-9]* missing \[\] unexplained \[\] different \[\]$" "$tmp/out"
        check "$1: its weights are $2, a norm's statistics f32" \
            grep -qE "^weights .*fc.weight.*\['torch.$2'\] statistics torch.float32$" "$tmp/out"
        check "$1: the network in PyTorch gives the outputs" grep -qE "^outputs torch.$2 .*: same$" "$tmp/out"
        [ -n "${SHOW:-}" ] && cat "$tmp/out"
    done
}
one fp32 float32 1e-5
one bf16-true bfloat16 2e-2
finish
