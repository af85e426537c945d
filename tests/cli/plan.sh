#!/bin/bash
# xtrain plan and xtrain doctor from outside: output, JSON, exit codes, mistakes. Foreign compilers are asked in
# tests/slow/plan.sh.
. "$(dirname "$0")/../examples/lib.sh"
x=$BUILD/xtrain
out=$tmp/out
value() { tail -n 1 "$out" | grep -oE "\"$1\": (\"[^\"]*\"|[^,}]*)" | head -n 1 | sed -E "s/[^:]*: //"; }
"$x" plan gpt2-tiny --batch 2 --json >"$out" 2>"$tmp/err"
check "it fits" [ "$(value fits)" = true ]
small=$(value peak_bytes)
"$x" plan gpt2-tiny --batch 8 --json >"$out" 2>"$tmp/err"
check "a larger batch takes more" [ "$(value peak_bytes)" -gt "$small" ]
large=$(value peak_bytes)
"$x" plan gpt2-tiny --batch 8 --checkpoint --json >"$out" 2>"$tmp/err"
check "checkpointing takes less" [ "$(value peak_bytes)" -lt "$large" ]
by_hand=$(value peak_bytes)
"$x" plan gpt2-tiny --batch 8 --limit $((large / 1024 - 1))K --json >"$out" 2>"$tmp/err"
check "what does not fit says so" [ "$(value fits)" = false ]
check "the remedy has the figure of the program with the remedy in it" \
    grep -q "activation checkpointing per block\", \"peak_bytes\": $by_hand, \"fits\": true" "$out"
"$x" plan gpt2-tiny --batch 2 >"$out" 2>"$tmp/err"
check "text names the model's lines" grep -qE 'activations +gpt2.c:[0-9]+ ' "$out"
"$x" plan gpt2-tiny --batch 4 --topology cpu:4 --mesh data=2,model=2 >"$out" 2>"$tmp/err"
check "a mesh shows its collectives" grep -qE 'all_?.?reduce +over (data|model)' "$out"
"$x" plan gpt2-tiny --topology cpu:2 --mesh stage=2 --batch 8 --seq 16 --no-remedies >"$tmp/stages" 2>&1
check "and those in its loops" grep -qE 'collective_permute +over stage' "$tmp/stages"
check "and nothing that moves nothing" [ "$(grep -c partition_id "$tmp/stages")" = 0 ]
"$x" plan gpt2-tiny --batch 4 --topology cpu:4 --mesh expert=4 --experts 4 >"$out" 2>"$tmp/err"
check "tokens are exchanged over experts" grep -qE 'all_?.?to_?.?all +over expert' "$out"
"$x" plan gpt2-tiny --batch 8 --topology cpu:4 --mesh stage=4 --microbatches 8 >"$out" 2>"$tmp/err"
check "results of the last stage are for all" grep -qE 'all_?.?reduce +over stage' "$out"
"$x" plan gpt2-tiny --sweep batch=1:4,precision=fp32,bf16 --json >"$out" 2>"$tmp/err"
check "a sweep has a line a combination" [ "$(grep -o '"peak_bytes"' "$out" | wc -l)" = 6 ]
"$x" plan gpt2-tiny --sweep batch=1:4,topology=v9 --json >"$out" 2>"$tmp/err"
check "a sweep's line that cannot be planned says why" \
    [ "$(grep -o '"error": "there is no topology' "$out" | wc -l)" = 3 ]
"$x" plan gpt2-tiny --batch 4 --row >"$out" 2>"$tmp/err"
check "a row for scripts" grep -qE '^row [0-9]+ 0 [0-9.e+-]+ 1$' "$out"
TPU_LIBRARY_PATH=$BUILD/fault_plugin.so FAULT_OF=$BUILD/pjrt_plugin_xtrain_cpu.so FAULT_TOPOLOGY=cpu:4 "$x" plan \
    gpt2-tiny --topology v4:2x2x1 --batch 8 --remedies --jobs 3 >"$out" 2>"$tmp/err"
check "remedies beside each other, each in a process" [ "$(grep -cE ' (yes|no)$' "$out")" = 11 ]
check "which says how many" grep -q '11 compilations, 3 at a time' "$tmp/err"
FAULT_COMPILE=hang TPU_LIBRARY_PATH=$BUILD/fault_plugin.so FAULT_OF=$BUILD/pjrt_plugin_xtrain_cpu.so \
    FAULT_TOPOLOGY=cpu:4 \
    "$x" plan gpt2-tiny --topology v4:2x2x1 --time-limit 0.4 --sweep batch=1:2 --json >"$out" 2>"$tmp/err"
check "a compiler that does not end is ended, row by row" [ "$(grep -o 'was ended after' "$out" | wc -l)" = 2 ]
"$x" plan gpt2-tiny --html "$tmp/page.html" >"$out" 2>"$tmp/err"
check "a page of its own" grep -q '"lives": \[{' "$tmp/page.html"
check "which loads nothing" [ "$(grep -cE 'src=|href=|url\(' "$tmp/page.html")" = 0 ]
XT_DEVICE=dry XT_DUMP=$tmp/dump XT_SUMMARY=off "$BUILD/mnist_single" >"$out" 2>"$tmp/err"
check "a rehearsal leaves programs" [ -s "$tmp/dump/program_001.mlir" ]
"$x" plan "$tmp/dump/program_001.mlir" >"$out" 2>"$tmp/err"
check "which can be planned, by line" \
    grep -qE 'parameters +mnist_single.c:[0-9]+ +conv1.weight|parameters +mnist_single.c:[0-9]+ ' "$out"
TMPDIR=$tmp "$x" plan -- "$BUILD/mnist_single" 64 2 >"$out" 2>"$tmp/err"
check "a user's program is called what the user typed" grep -qF "$BUILD/mnist_single 64 2 on cpu: fits" "$out"
check "and its rehearsal is gone" [ "$(ls -d "$tmp"/xtrain-rehearsal.* 2>/dev/null | wc -l)" = 0 ]
# A rehearsal computes zeros: nothing that the program saves may be replaced by them.
cat >"$tmp/saves.c" <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 1); }
int main(void) {
    static const float x[4] = {1, 2, 3, 4};
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *sgd = xt_sgd(m, .lr = 0.1);
    xt_backward(xt_mean(xt_square(xt_forward(m, xt_from_array(x, XT_F32, 2, 2)))));
    xt_optimizer_step(sgd);
    xt_mark_step();
    xt_status s = xt_save(m, "saved.safetensors");
    if (!s) s = xt_load(m, "saved.safetensors");
    return s ? 3 : xt_finish();
}
C
root=$(cd "$(dirname "$0")/../.." && pwd) asan=
nm "$BUILD/libxtrain.so" | grep -q __asan_init && asan=-fsanitize=address,undefined
mkdir "$tmp/work"
cc -g $asan -I"$root/include" "$tmp/saves.c" -o "$tmp/work/saves" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
(cd "$tmp/work" && "$x" plan --json -- ./saves) >"$out" 2>&1
check "a rehearsal that saves and loads" [ $? = 0 ]
check "leaves no file" [ "$(ls "$tmp/work")" = saves ]
(cd "$tmp/work" && ./saves) >"$out" 2>&1
sum=$(md5sum <"$tmp/work/saved.safetensors")
(cd "$tmp/work" && "$x" plan --json --html page.html -- ./saves) >"$out" 2>&1
check "and replaces none" [ "$sum" = "$(md5sum <"$tmp/work/saved.safetensors")" ]
check "while plan's own page is written" [ -s "$tmp/work/page.html" ]
(cd "$tmp/work" && XT_RUNS_DIR=runs "$x" plan --json -- "$BUILD/log_metrics" --max_epochs 1 --limit_train_batches 3) \
    >"$out" 2>&1
check "a Trainer's rehearsal" [ $? = 0 ]
check "makes no run" [ ! -e "$tmp/work/runs" ]
says() { # WORDS CODE COMMAND...
    local words=$1 code=$2
    shift 2
    "$@" >"$out" 2>&1
    [ $? = "$code" ] && grep -qF -- "$words" "$out"
}
# Scores of all pairs of positions: the CPU compiler cuts them out of long sequences, others keep them.
XT_PASSES=-tile "$x" plan gpt2-tiny --batch 8 --remedies --json >"$out" 2>"$tmp/err"
tiled=$(tail -n 1 "$out" | grep -o 'tiled attention (--attention-tile 32)", "peak_bytes": [0-9]*' | grep -o '[0-9]*$')
whole=$(value peak_bytes)
check "tiled attention is among the remedies" [ "${tiled:-0}" -gt 0 ]
check "and takes less" [ "${tiled:-$whole}" -lt "$whole" ]
XT_PASSES=-tile "$x" plan gpt2-tiny --batch 8 --attention-tile 32 --no-remedies --json >"$out" 2>"$tmp/err"
check "its figure is that of the program with the tiles in it" [ "$(value peak_bytes)" = "$tiled" ]
"$x" plan gpt2-tiny --batch 16 --seq 128 --remedies >"$out" 2>"$tmp/err"
check "and no remedy where there are no such scores" [ "$(grep -c 'tiled attention' "$out")" = 0 ]
XT_PASSES=-tile "$x" plan gpt2-tiny --batch 2 --seq 61 --remedies >"$out" 2>"$tmp/err"
check "a length that no tile divides is told" grep -q 'no tile divides: a --seq that is a multiple of 128' "$tmp/err"
cat >"$tmp/attends.c" <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_self_attention(m, "attn", x, .heads = 2, .causal = XT_ON);
}
int main(void) {
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.1);
    for (int i = 0; i < 2; i++) {
        xt_backward(xt_mean(xt_square(xt_forward(m, xt_randn(XT_F32, 2, 96, 16)))));
        xt_optimizer_step(o);
        xt_mark_step();
    }
    return xt_finish();
}
C
cc $asan "$tmp/attends.c" -I"$root/include" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" -o "$tmp/attends" || exit 1
XT_PASSES=-tile "$x" plan --remedies -- "$tmp/attends" >"$out" 2>"$tmp/err"
check "a program of one's own is told the option" \
    grep -q '2x2x96x96 of attends.c:4 .* xt_self_attention with .tile = 48 keeps 1/2 of it' "$out"
check "a tile that does not divide" says "attention_tile = 7, seq = 64; the tile must divide" 2 \
    "$x" plan gpt2-tiny --attention-tile 7
check "a tile of a model without attention" says "mnist has no option attention_tile" 2 "$x" plan mnist \
    --attention-tile 8
check "more positions than the model has" says "seq = 2048, context = 128" 2 "$x" plan gpt2-tiny --seq 2048
check "an unknown topology lists the known" says "known are: cpu" 1 "$x" plan mnist --topology v9
check "an unknown model" says "neither a model" 2 "$x" plan nonsense
check "experts of a model that has none" says "mnist has no option experts" 2 "$x" plan mnist --experts 4
check "experts for a program of one's own" says "make a MODEL anew" 2 "$x" plan --experts 4 -- true
check "a mesh of another size" says "needs 8 devices" 1 "$x" plan gpt2-tiny --topology cpu:4 --mesh data=8
check "told once" [ "$(wc -l <"$out")" = 1 ]
# Nothing of the user's; a system may still have a libtpu.
alone() { env -i PATH=/usr/bin:/bin HOME="$tmp" XT_PLUGIN_DIR="$BUILD" XT_PLUGINS_DIR="$tmp/none" "$x" "$@"; }
alone doctor --device TPU --json | grep -q '"found": true' ||
    check "no plugin for the topology" says "no plugin for the device TPU" 1 alone plan mnist --topology v4:2x2x1
printf none >"$tmp/libtpu.so" # what the message above tells to do
check "a plugin's path in XT_DEVICE is the one that is asked" \
    says "$tmp/libtpu.so" 1 env XT_DEVICE="$tmp/libtpu.so" "$x" plan mnist --topology v4:2x2x1
check "a wrong size is named" \
    says "'10X' is no value for --limit: a size in bytes is expected" 2 "$x" plan mnist --limit 10X
check "a wrong precision" \
    says "'fp8' is no value for --precision: a precision, fp32 or bf16, is" 2 "$x" plan mnist --precision fp8
check "of its own kind alone" env XT_DEVICE="$tmp/libtpu.so" "$x" plan gpt2-tiny --topology cpu --batch 1
# Remedies are compiled one after the other: who reads the verdict need not wait for them.
mkfifo "$tmp/verdict"
"$x" plan gpt2-mini --batch 8 --limit 1M >"$tmp/verdict" 2>"$tmp/err" &
{ read -r first; kill $!; rest=$(cat); } <"$tmp/verdict"
wait $! 2>"$tmp/err"
check "the verdict is there: $first" [ "${first#*does not fit}" != "$first" ]
check "and comes before the remedies" [ "${rest#*remedy }" = "$rest" ]
check "cards that make no even hosts" says "do not stand evenly" 1 "$x" plan mnist --topology cuda:h100:9
check "a mesh that is none" says "names and sizes are expected" 2 "$x" plan gpt2-tiny --topology cpu:4 --mesh data
check "a model's option with a program" says "make a MODEL anew" 2 "$x" plan --batch 8 -- "$BUILD/mnist_single"
check "an axis twice" says "stands twice" 1 "$x" plan gpt2-tiny --topology cpu:4 --mesh data=2,data=2
check "a folder that cannot be written" says "/proc" 1 "$x" plan mnist --dump /proc/nothing
check "a page that cannot be written" says "cannot be written" 1 "$x" plan mnist --html /proc/nothing
cat >"$tmp/mine.mlir" <<'M'
module @mine {
  func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %y = stablehlo.add %x, %w : tensor<64x64xf32>
    return %y : tensor<64x64xf32>
  }
}
M
"$x" plan "$tmp/mine.mlir" >"$out" 2>"$tmp/err"
check "a file's arguments by line and number" grep -qE 'other inputs +mine.mlir:2 +argument 1 ' "$out"
printf 'module @m { func.func @main(%%a: tensor<2xf32>) -> tensor<3xf32> { return %%a : tensor<2xf32> } }' \
    >"$tmp/bad.mlir"
check "a program that does not verify" says "bad.mlir" 1 "$x" plan "$tmp/bad.mlir"
"$x" plan gpt2-tiny --json >"$tmp/one" 2>&1 & first=$!
"$x" plan gpt2-tiny --json >"$tmp/two" 2>&1
wait $first
check "two at the same time" \
    [ "$(grep -o '"peak_bytes": [0-9]*' "$tmp/one" | head -1)" = "$(grep -o '"peak_bytes": [0-9]*' "$tmp/two" |
    head -1)" ]
"$x" doctor --device CPU --json >"$out" 2>&1
check "doctor finds the CPU plugin" [ $? = 0 -a "$(value usable)" = true ]
mkdir "$tmp/empty"
env -i PATH=/usr/bin:/bin HOME="$tmp/empty" XT_PLUGIN_DIR="$BUILD" XT_PLUGINS_DIR="$tmp/empty" "$x" doctor \
    --device CUDA >"$out" 2>&1
check "doctor tells how to get what is missing" \
    grep -qE "pip install --target $tmp/empty/jax-cuda13-pjrt jax-cuda13-pjrt|usable|no device to run on" "$out"
check "a broken plugin" says "does not load" 1 "$x" doctor --device "$BUILD/libxtrain.so"
check "doctor asks before it installs" env -u YES \
    bash -c "echo n | '$x' doctor --install tpu 2>&1 | grep -q 'nothing was installed'"
check "and knows what there is to install" says "tpu, cuda and xla_cpu are known" 1 "$x" doctor --install fpga
finish
