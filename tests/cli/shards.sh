#!/bin/bash
# Checkpoints in shards: every rank writes a share of the tensors, any number of ranks on any mesh reads them, older
# ones go with their shards, and a run that is killed in the middle leaves the one before.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_CACHE=on XT_CACHE_DIR=$tmp/cache
cd "$tmp" || exit 1
fit() {
    "$XTRAIN" fit gpt2-tiny --seq 16 --width 32 --layers 2 --heads 4 --seed 3 --json "$@" >"$tmp/o" \
        2>"$tmp/out" </dev/null
}
loss() { sed -nE 's/.*"loss_last": ([0-9.e+-]+).*/\1/p' "$tmp/o" | tail -n 1; }
saver() { echo --callbacks model_checkpoint --callbacks.model_checkpoint.dirpath "$1"; }
four="--devices 4 --mesh data=2,tensor=2 --fsdp --batch 4"
# shellcheck disable=SC2086,SC2046
{
    fit $four --epochs 1 --limit-batches 4 $(saver whole)
    check "a mesh of four saves one file" [ "$?$(ls whole | grep -c safetensors)" = 00 ]
    fit $four --epochs 1 --limit-batches 4 $(saver parts) --callbacks.model_checkpoint.sharded on
    check "and in shards" [ "$?" = 0 -a -e parts/last.ckpt ]
}
check "four of them and an index, beside one checkpoint" \
    [ "$(ls parts | grep -cE '\.ckpt-[0-9a-f]{16}-0000[1-4]-of-00004\.safetensors$')$(ls parts | wc -l)" = 47 ]
cat >"$tmp/look.py" <<'P'
import glob, json, os, struct, sys
def header(path):
    with open(path, 'rb') as f:
        n = struct.unpack('<Q', f.read(8))[0]
        return json.loads(f.read(n))
folder, whole = sys.argv[1:]
index = json.load(open(glob.glob(folder + '/*.index.json')[0]))
sizes, names = {}, {}
for path in glob.glob(folder + '/*.safetensors'):
    h = header(path)
    h.pop('__metadata__')
    sizes[path] = sum(t['data_offsets'][1] - t['data_offsets'][0] for t in h.values())
    for name in h: names[name] = os.path.basename(path)
assert names == index['weight_map'], 'the index names what is there'
assert sum(sizes.values()) == index['metadata']['total_size']
largest = max(t['data_offsets'][1] - t['data_offsets'][0] for t in header(whole).values() if 'data_offsets' in t)
assert max(sizes.values()) <= sum(sizes.values()) / len(sizes) + largest, sizes
assert {n for n in header(whole) if not n.startswith(('__', 'xtrain:'))} == set(names)
P
check "every rank writes its share; the index is Hugging Face's" python3 "$tmp/look.py" parts whole/last.ckpt
"$XTRAIN" convert whole/last.ckpt whole.safetensors >"$tmp/out" 2>&1 &&
    "$XTRAIN" convert parts/last.ckpt parts.safetensors >>"$tmp/out" 2>&1
cat >same.py <<'P'
import json, struct, sys
def tensors(path):
    raw = open(path, 'rb').read()
    n = struct.unpack('<Q', raw[:8])[0]
    h = json.loads(raw[8:8 + n])
    return {k: (t['shape'], raw[8 + n + t['data_offsets'][0]:8 + n + t['data_offsets'][1]]) for k, t in h.items()
            if not k.startswith(('__', 'xtrain:'))}
a, b = map(tensors, sys.argv[1:])
assert len(a) > 50 and a == b
P
check "convert joins them: the tensors of the one file" python3 same.py whole.safetensors parts.safetensors

# shellcheck disable=SC2086
while read -r how; do
    fit $how --limit-batches 4 --epochs 2 --resume whole/last.ckpt
    want=$(loss)
    fit $how --limit-batches 4 --epochs 2 --resume parts/last.ckpt
    check "$how goes on from the shards" [ "$?" = 0 -a -n "$want" -a "$(loss)" = "$want" ]
done <<END
--batch 8
--devices 2 --mesh data=2 --batch 4
END
# Replicas of plain data parallel training share the work too.
cat >"$tmp/p.c" <<'C'
#include <stdlib.h>
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    (void)user;
    return xt_linear(m, "out", xt_relu(xt_batch_norm(m, "bn", xt_linear(m, "in", x, 64))), 2);
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    return xt_cross_entropy(xt_forward(m, b.x), b.y);
}
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = 0.01);
}
static char **args;
static int n_args;
static int train(int rank, void *arg) {
    (void)rank, (void)arg;
    xt_task task = {.net = net, .training_step = step, .configure_optimizers = configure};
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .progress_bar = XT_OFF, .logger = XT_OFF);
    xt_trainer_args(t, n_args, args);
    xt_trainer_add(t, xt_model_checkpoint(.dirpath = "ranks", .every_n_steps = 1, .sharded = XT_ON));
    return xt_fit(t, &task, xt_sample_loader(.batch = 4, .count = 2000, .x = {XT_F32, {8}}, .y = {XT_I64}), NULL);
}
int main(int argc, char **argv) {
    n_args = argc;
    args = argv;
    return xt_launch(train, NULL);
}
C
# shellcheck disable=SC2086
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -std=c11 -D_GNU_SOURCE -I"$root/include" p.c -o p -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
check "the program builds" [ $? = 0 ]
ranks() { CPU_NUM_DEVICES=3 timeout 100 ./p "$@" >"$tmp/out" 2>&1 </dev/null; }
stems() { ls ranks | grep -oE '^.*\.ckpt-[0-9a-f]{16}' | sort -u | wc -l; }
ranks --max_steps 20
check "three replicas save after each step" [ $? = 0 ]
check "the shards of older checkpoints are gone" [ "$(stems)$(ls ranks | wc -l)" = 16 ]
ranks --max_steps 25 --resume ranks/last.ckpt
check "and go on" [ "$?$(grep -c 'resuming from ranks/last.ckpt: epoch 0, batch 20, step 20' out)" = 01 ]

here() { for p in $(pgrep -x p); do [ "$(readlink "/proc/$p/cwd")" = "$tmp" ] && return; done; return 1; }
# A kill at any instant leaves a checkpoint that is whole.
for k in 1 2; do
    rm -rf ranks killed.safetensors
    CPU_NUM_DEVICES=3 ./p >"$tmp/out" 2>&1 </dev/null &
    for _ in $(seq 600); do [ -e ranks/last.ckpt ] && break; sleep 0.05; done
    sleep 0.0$((RANDOM % 90 + 10))
    kill -9 $! # the launcher; its ranks end with it
    wait $! 2>/dev/null
    check "a run is cut short" [ $? = 137 ]
    for _ in $(seq 100); do here || break; sleep 0.1; done
    "$XTRAIN" convert ranks/last.ckpt killed.safetensors >"$tmp/out" 2>&1
    check "a killed run leaves the checkpoint before" [ $? = 0 ]
done
orphan=ranks/epoch=0-step=9.ckpt-0123456789abcdef-0000
touch -d '2 hours ago' "${orphan}1-of-00003.safetensors" ranks/mine.safetensors
touch "${orphan}2-of-00003.safetensors"
ranks --max_steps 400000 --max_time 1s --resume ranks/last.ckpt
check "shards that no checkpoint names go with the next run, however young" [ -z "$(ls "$orphan"* 2>/dev/null)" ]
check "and nothing else" [ -e ranks/mine.safetensors ]

# --- what is wrong with shards is said
shard=ranks/$(grep -aoE '[^"\\]*-00002-of-00003\.safetensors' ranks/last.ckpt | sed 's/^n//')
cp "$shard" kept
printf 'x' | dd of="$shard" bs=1 seek=$(($(stat -c %s "$shard") - 3)) conv=notrunc 2>/dev/null
ranks --resume ranks/last.ckpt
check "a damaged shard is named" grep -q "00002-of-00003.safetensors: the data does not match its checksum" out
rm "$shard"
ranks --resume ranks/last.ckpt
check "and one that is not there" \
    grep -q "00002-of-00003.safetensors is not there, which holds a part of ranks/last.ckpt" out
mv kept "$shard"
ranks --max_steps 400000 --max_time 1s --resume ranks/last.ckpt
check "put back, all is well" [ $? = 0 ]
# A list is a claim: a name that leads elsewhere is refused, and nothing but a shard is ever removed.
python3 - ranks/last.ckpt bad.ckpt <<'P'
import json, struct, sys
raw = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', raw[:8])[0]
h = json.loads(raw[8:8 + n])
h['__metadata__']['xtrain:shards'] = '../kept'
text = json.dumps(h).encode()
open(sys.argv[2], 'wb').write(struct.pack('<Q', len(text)) + text + raw[8 + n:])
P
"$XTRAIN" convert bad.ckpt never.safetensors >"$tmp/out" 2>&1
check "a shard of another folder is refused" \
    grep -q 'its list of shards has "../kept"; the name of a file beside it' out
finish
