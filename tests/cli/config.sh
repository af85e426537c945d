#!/bin/bash
# Configuration files, settings, models in shared objects, and the plot of a run.
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off XT_PROGRESS=off
root=$(cd "$(dirname "$0")/../.." && pwd)
json() { tail -n 1 "$1" | grep -oE "\"$2\": [-0-9.e+]+" | head -n 1 | sed 's/.*: //'; }
cat >"$tmp/run.json" <<'J'
{"model": {"name": "mnist", "lr": 0.02}, "data": {"batch": 64}, "trainer": {"max_epochs": 1, "limit_train_batches": 12,
 "limit_val_batches": 2, "log_every_n_steps": 3}}
J
"$XTRAIN" fit --config "$tmp/run.json" --no-pictures --json >"$tmp/one" 2>"$tmp/out"
check "a file names the model and its options" [ $? = 0 ]
check "12 steps" [ "$(json "$tmp/one" steps)" = 12 ]
check "a row every 3 steps" grep -q 'a row every 3 steps' "$tmp/out"
check "the run's own file" grep -q '"lr":.*0.02' "$tmp/runs/mnist/version_0/config.json"
"$XTRAIN" fit --config "$tmp/runs/mnist/version_0/config.json" --no-pictures --json >"$tmp/two" 2>"$tmp/out"
check "it repeats the run" [ "$(json "$tmp/one" loss_last)" = "$(json "$tmp/two" loss_last)" ]
"$XTRAIN" fit --config "$tmp/run.json" --trainer.limit_train_batches 5 \
    --model.lr=0.3 --no-pictures --json >"$tmp/three" 2>"$tmp/out"
check "the command line wins" [ "$(json "$tmp/three" steps)" = 5 ]
"$XTRAIN" fit --config "$tmp/run.json" --trainer.max_epochs 7 --print-config >"$tmp/printed" 2>"$tmp/out"
check "--print-config trains nothing" [ $? = 0 ]
check "it prints what it comes to" grep -q '"max_epochs":.*7' "$tmp/printed"
"$XTRAIN" fit --config "$tmp/printed" --trainer.max_epochs 1 --no-pictures --json >"$tmp/four" 2>"$tmp/out"
check "and that is a file" [ "$(json "$tmp/four" steps)" = 12 ]
refused() {
    [ "$1" != -- ] || shift
    local what=$1
    shift
    "$XTRAIN" fit "$@" >"$tmp/out" 2>&1
    check "refused: $*" [ $? != 0 ]
    check "'$what' is said" grep -q -- "$what" "$tmp/out"
}
refused 'did you mean max_epochs' mnist --trainer.max_epoch 3
refused 'no option --lrr' mnist --model.lrr 3
refused 'no option default_root_dir: it is runs_dir here' mnist --trainer.default-root-dir "$tmp"
refused 'no option val_check_interval: it is val_every here' mnist --trainer.val_check_interval 0.5
echo '{"trainer": {"max_epochs": }}' >"$tmp/bad.json"
refused 'line 1 is no JSON' mnist --config "$tmp/bad.json"
echo '{"trainr": {}}' >"$tmp/bad.json"
refused 'no section "trainr"' mnist --config "$tmp/bad.json"
refused 'cannot open' mnist --config "$tmp/none.json"

# --- optimizers and schedules by name
"$XTRAIN" fit --config "$tmp/run.json" --optimizer adamw --optimizer.lr 0.003 \
    --optimizer.weight_decay=0.1 --scheduler cosine --scheduler.t_max 12 --scheduler.interval step \
    --trainer.run_name named --no-pictures --json >"$tmp/named" 2>"$tmp/out"
check "an optimizer and a schedule by name" [ $? = 0 ]
check "another loss than SGD's" [ "$(json "$tmp/named" loss_last)" != "$(json "$tmp/one" loss_last)" ]
check "they are in the run's file" grep -q '"t_max":.*12' "$tmp/runs/named/version_0/config.json"
"$XTRAIN" fit --config "$tmp/runs/named/version_0/config.json" --no-pictures --json >"$tmp/again" 2>"$tmp/out"
check "which repeats the run" [ "$(json "$tmp/named" loss_last)" = "$(json "$tmp/again" loss_last)" ]
refused 'did you mean adamw?' mnist --optimizer adanw
refused 'there is no option lrr; did you mean lr?' mnist --limit-batches 2 --optimizer sgd --optimizer.lrr 3
refused 'without --optimizer NAME' mnist --optimizer.lr 3
refused 'there is no option momentum_decay' mnist --limit-batches 2 --optimizer adamax --optimizer.momentum_decay 0.1

# --- --lr is the rate of the optimizer that trains, whoever names that; what would be dropped is refused
file() {
    echo "$1" >"$tmp/rate.json"
}
rate() {
    "$XTRAIN" fit mnist --limit-batches 4 --limit-val 1 --epochs 1 --no-pictures --json "$@" >"$tmp/rate" 2>"$tmp/out"
    json "$tmp/rate" loss_last
}
want=$(rate --optimizer adamw --optimizer.lr 0.02)
check "a rate by the optimizer's own name" [ -n "$want" -a "$want" != "$(rate --optimizer adamw)" ]
check "--lr is the same" [ "$(rate --optimizer adamw --lr 0.02)" = "$want" ]
check "in front of it too" [ "$(rate --lr=0.02 --optimizer=adamw)" = "$want" ]
check "so is --model.lr" [ "$(rate --optimizer adamw --model.lr 0.02)" = "$want" ]
check "given twice, the same" [ "$(rate --optimizer adamw --lr 0.02 --optimizer.lr 2e-2)" = "$want" ]
version=$(find "$tmp/runs/mnist" -maxdepth 1 -name 'version_*' -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2)
check "the run's file repeats it" [ "$(rate --config "$version/config.json")" = "$want" ]
file '{"optimizer": {"name": "adamw"}}'
check "for a file's optimizer" [ "$(rate --config "$tmp/rate.json" --lr 0.02)" = "$want" ]
file '{"optimizer": {"name": "adamw", "lr": 0.5}}'
check "over a file's rate" [ "$(rate --config "$tmp/rate.json" --lr 0.02)" = "$want" ]
file '{"model": {"lr": 0.02}}'
check "of a file" [ "$(rate --config "$tmp/rate.json" --optimizer adamw)" = "$want" ]
file '{"model": {"lr": 0.5}}'
check "a file's gives way" [ "$(rate --config "$tmp/rate.json" --optimizer adamw --optimizer.lr 0.02)" = "$want" ]
file '{"model": {"lr": 0.5}, "optimizer": {"name": "adamw", "lr": 0.02}}'
refused 'lr is 0.5 and --optimizer.lr is 0.02: which is the rate' mnist --config "$tmp/rate.json"
refused 'lr is 0.5 and --optimizer.lr is 0.02: which is the rate' mnist --optimizer adamw --lr 0.5 --optimizer.lr 0.02
refused -- '--warmup is of the model.s own schedule, whose place --optimizer adamw takes' mnist --optimizer adamw \
    --warmup 3
refused -- '--schedule is of the model.s own schedule, whose place --scheduler cosine takes' mnist --scheduler cosine \
    --scheduler.t_max 3 --schedule constant
refused 'swa_lr would change nothing here: it belongs to .swa = XT_ON' mnist --limit-batches 2 \
    --callbacks weight_averaging --callbacks.weight_averaging.swa_lr 0.1
refused 't_max is needed' mnist --limit-batches 2 --scheduler cosine

# --- callbacks by name
"$XTRAIN" fit mnist --limit-batches 4 --limit-val 1 --epochs 6 --no-pictures --trainer.run_name stopped \
    --trainer.log_every_n_steps 1 --callbacks early_stopping,lr_monitor --callbacks.early_stopping.monitor=val/loss \
    --callbacks.early_stopping.patience 0 --callbacks.early-stopping.min-delta 1e9 --callbacks.early_stopping.mode min \
    --json >"$tmp/stopped" 2>"$tmp/out"
check "callbacks by name" [ $? = 0 ]
check "early stopping with its options ends the fit after its second look" [ "$(json "$tmp/stopped" epochs)" = 2 ]
check "the rate is in the rows" grep -q 'lr-SGD' "$tmp/runs/stopped/version_0/metrics.csv"
check "they are in the run's file" grep -q '"early_stopping.min_delta":' "$tmp/runs/stopped/version_0/config.json"
"$XTRAIN" fit --config "$tmp/runs/stopped/version_0/config.json" --no-pictures --json >"$tmp/again" 2>"$tmp/out"
check "which repeats the run" \
    [ "$(json "$tmp/again" epochs) $(json "$tmp/again" loss_last)" = "2 $(json "$tmp/stopped" loss_last)" ]
refused 'did you mean early_stopping?' mnist --callbacks early_stoping
refused 'did you mean patience?' mnist --callbacks early_stopping --callbacks.early_stopping.patiense 3
refused 'monitor is missing' mnist --callbacks early_stopping
refused 'patience = -3 is out of range' mnist --callbacks early_stopping --callbacks.early_stopping.patience -3
refused 'mode = best: expected one of' mnist --callbacks early_stopping --callbacks.early_stopping.mode best
refused 'lr_monitor has no options' mnist --callbacks lr_monitor --callbacks.lr_monitor.every 3
refused 'without --callbacks timer, which adds it' mnist --callbacks lr_monitor --callbacks.timer.duration 2h
refused 'an option of it is --callbacks.timer.OPTION' mnist --callbacks timer --callbacks.timer 2h
refused 'did you mean timer?' mnist --callbacks timer --callbacks.timr.duration 2h
refused 'duration is missing' mnist --callbacks timer
for all in 'timer --callbacks.timer.duration 2h' 'weight_averaging --callbacks.weight_averaging.swa on' \
    'spike_detection --callbacks.spike_detection.stop on' 'device_stats' 'throughput_monitor' \
    'exception_checkpoint --callbacks.exception_checkpoint.filename last_words' \
    'model_checkpoint --callbacks.model_checkpoint.dirpath '"$tmp/named_ckpt"; do
    # shellcheck disable=SC2086
    "$XTRAIN" fit mnist --limit-batches 2 --limit-val 1 --epochs 1 --no-pictures --callbacks $all >"$tmp/out" 2>&1
    check "--callbacks $all" [ $? = 0 ]
done
headers=$root/include/xtrain
constructors=$(sed -nE 's/^XT_API xt_callback \*xt_(\w+)\(.*/\1/p' "$headers/train.h" "$headers/train_callbacks.h" |
    sed 's/_opt$//' | grep -vx callback_new)
check "the headers name the callbacks that exist" [ "$(wc -w <<<"$constructors")" -ge 12 ]
for one in $constructors; do
    "$XTRAIN" fit mnist --limit-batches 1 --no-pictures --callbacks "$one" >"$tmp/out" 2>&1
    unknown=$(grep -c 'there is none of this name' "$tmp/out")
    check "--callbacks $one is known, or the reason is said" [ "$unknown" = 0 ]
done
refused 'a fit predicts nothing' mnist --callbacks prediction_writer
check "a checkpoint lies where its option says" test -e "$tmp/named_ckpt/last.ckpt"

# --- passes over a checkpoint
"$XTRAIN" test mnist --ckpt last --no-pictures --json >"$tmp/tested" 2>"$tmp/out"
check "xtrain test" [ $? = 0 ]
check "with the run's weights" grep -q 'weights of .*runs/mnist/version_.*last.ckpt' "$tmp/out"
check "says the loss" grep -qE 'test/loss +[0-9.]+' "$tmp/out"
check "and in JSON" grep -qE '"stage": "test", "test/loss": [0-9.]+, "test/acc": [0-9.]+' "$tmp/tested"
"$XTRAIN" validate mnist --ckpt "$tmp/runs/mnist/version_0/checkpoints" --trainer.limit_val_batches 2 \
    --json >"$tmp/validated" 2>"$tmp/out"
check "xtrain validate, a folder's weights: the run's own value" \
    [ "$(json "$tmp/validated" val/loss)" = "$(json "$tmp/one" val_loss)" ]
"$XTRAIN" predict mnist --ckpt last --trainer.limit_predict_batches 1 --output "$tmp/p.npy" >"$tmp/out" 2>&1
check "xtrain predict" [ $? = 0 ]
check "writes a row a sample" grep -aq "'shape': (500, 10)" "$tmp/p.npy"
"$XTRAIN" test mnist >"$tmp/out" 2>&1
check "no weights" grep -q 'xtrain test: --ckpt is needed' "$tmp/out"
"$XTRAIN" test mnist --ckpt "$tmp/none" >"$tmp/out" 2>&1
check "no such weights" grep -q 'is no checkpoint' "$tmp/out"

# --- a model of one's own
cat >"$tmp/mine.c" <<'C'
#include <xtrain/xtrain.h>
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    return xt_linear(m, "fc2", xt_relu(xt_linear(m, "fc1", x, *(int *)user)), 3);
}
static xt_tensor train_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_tensor loss = xt_cross_entropy(xt_forward(m, b.x), b.y);
    xt_log("train/loss", loss);
    return loss;
}
static void val_step(xt_module *m, xt_batch b, void *user) {
    (void)user;
    xt_log("val/loss", xt_cross_entropy(xt_forward(m, b.x), b.y));
}
static double lr;
static int width;
static xt_optimizer *configure(xt_module *m, void *user) {
    (void)user;
    return xt_adam(m, .lr = lr);
}
static xt_task task(xt_trainer *t) {
    lr = xt_trainer_number(t, "model.lr", 0.01);
    width = (int)xt_trainer_number(t, "model.width", 8);
    return (xt_task){.net = net,
                     .user = &width,
                     .training_step = train_step,
                     .validation_step = val_step,
                     .test_step = val_step,
                     .configure_optimizers = configure};
}
static xt_loader *data(xt_trainer *t, void *user) {
    static float x[96][4];
    static int64_t y[96];
    (void)user;
    for (int i = 0; i < 96; i++) {
        for (int k = 0; k < 4; k++) x[i][k] = (float)((i * 5 + k * 3) % 11) / 11.0f;
        y[i] = i % 3;
    }
    return xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64, {0}}, 96),
                         .batch = (int64_t)xt_trainer_number(t, "data.batch", 16));
}
const xt_model_desc xt_model = {.struct_size = sizeof(xt_model_desc),
                                .name = "mine",
                                .help = "three classes of nothing much",
                                .task = task,
                                .train = data,
                                .val = data,
                                .test = data};
C
asan=
nm "$BUILD/libxtrain.so" | grep -q __asan_init && asan=-fsanitize=address,undefined
"${CC:-cc}" -std=c11 $asan -shared -fPIC -I"$root/include" "$tmp/mine.c" -o "$tmp/mine.so" \
    -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD" >"$tmp/out" 2>&1
check "the model builds" [ $? = 0 ]
"$XTRAIN" fit "$tmp/mine.so" --max_epochs 2 --model.lr 0.05 --batch 8 --trainer.log_every_n_steps 2 \
    --json >"$tmp/so" 2>"$tmp/out"
check "xtrain fit ./mine.so" [ $? = 0 ]
check "24 steps" [ "$(json "$tmp/so" steps)" = 24 ]
check "its settings are kept" grep -q '"width":.*8' "$tmp/runs/mine/version_0/config.json"
check "it was tested" grep -q 'test:' "$tmp/out"
check "its loss falls" \
    awk -v a="$(json "$tmp/so" loss_first)" -v b="$(json "$tmp/so" loss_last)" 'BEGIN {exit !(b < a)}'
"$XTRAIN" validate "$tmp/mine.so" --ckpt last >"$tmp/out" 2>&1
check "xtrain validate ./mine.so" grep -qE 'val/loss +[0-9.]+' "$tmp/out"
"$XTRAIN" test "$tmp/mine.so" --ckpt "$tmp/runs/mine/version_0/checkpoints/last.ckpt" --json >"$tmp/out" 2>&1
check "xtrain test ./mine.so" grep -q '"stage": "test"' "$tmp/out"
"$XTRAIN" validate "$tmp/mine.so" --ckpt "$tmp/runs/mine/version_0/checkpoints" >"$tmp/out" 2>&1
check "a folder's weights" grep -q 'weights of .*version_0/checkpoints/last.ckpt' "$tmp/out"
"$XTRAIN" fit "$tmp/mine.so" --max_epochs 2 --run_name over --resume "$tmp/runs/mine/version_0" >"$tmp/out" 2>&1
check "a version's folder is resumed from" grep -q 'resuming from .*version_0/checkpoints/last.ckpt' "$tmp/out"
check "what is over says so" grep -q 'max_epochs 2 is reached already: nothing to train; raise --max_epochs' "$tmp/out"
mkdir -p "$tmp/nothing"
refused 'nothing is a folder without a checkpoint' "$tmp/mine.so" --max_epochs 3 --resume "$tmp/nothing"
for pass in validate test predict; do
    "$XTRAIN" $pass "$tmp/mine.so" >"$tmp/out" 2>&1
    check "xtrain $pass ./mine.so without weights" [ "$?$(grep -c "xtrain $pass: --ckpt is needed" "$tmp/out")" = 21 ]
done
echo '{"trainer": {"ckpt": "last"}}' >"$tmp/weights.json"
"$XTRAIN" validate "$tmp/mine.so" --config "$tmp/weights.json" >"$tmp/out" 2>&1
check "a file names them" [ $? = 0 ]
XT_TRAINER_CKPT=last "$XTRAIN" validate "$tmp/mine.so" >"$tmp/out" 2>&1
check "the environment names them too" [ $? = 0 ]
"$XTRAIN" plan "$tmp/mine.so" >"$tmp/out" 2>&1
check "xtrain plan names the command that works" grep -q "xtrain plan -- xtrain fit $tmp/mine.so" "$tmp/out"
"$XTRAIN" predict "$tmp/mine.so" --ckpt last --output "$tmp/mine.npy" >"$tmp/out" 2>&1
check "a model without predict_step predicts what its network gives" [ $? = 0 ]
"$XTRAIN" fit "$tmp/mine.so" --max_epochs 1 --optimizer rmsprop --optimizer.alpha 0.9 --json >"$tmp/out" 2>&1
check "its optimizer by name" [ $? = 0 ]
one=$("$XTRAIN" fit "$tmp/mine.so" --max_epochs 1 --optimizer sgd --optimizer.lr 0.5 --json 2>"$tmp/out" | tail -1)
two=$("$XTRAIN" fit "$tmp/mine.so" --max_epochs 1 --optimizer sgd --lr 0.5 --json 2>"$tmp/out" | tail -1)
loss_of() {
    grep -o '"loss_last": [^,}]*' <<<"$1"
}
check "with the rate of --lr" [ -n "$(loss_of "$one")" -a "$(loss_of "$one")" = "$(loss_of "$two")" ]
refused 'lr is 0.3 and --optimizer.lr is 0.5: which is the rate' "$tmp/mine.so" --optimizer sgd --lr 0.3 \
    --optimizer.lr 0.5
"$XTRAIN" fit "$tmp/mine.so" --help >"$tmp/out" 2>&1
check "the short words of the command" [ "$(grep -cE '^  --(epochs|batch|json) ' "$tmp/out")" = 3 ]
no_line() {
    check "and no line of ours" [ "$(grep -cE '[.][ch]:[0-9]+:|libxtrain' "$tmp/out")" = 0 ]
}
refused '3x' "$tmp/mine.so" --val-every 3x
no_line
refused 'model.lrx' "$tmp/mine.so" --model.lrx 2
no_line
refused 'batch' mnist --batch 100000
no_line
refused 'no xt_model_checkpoint' "$tmp/mine.so" --ckpt best --max_epochs 1
refused 'did you mean model.lr' "$tmp/mine.so" --model.lrr 0.05
refused 'the program has no setting model.rate; it asks for model' "$tmp/mine.so" --model.rate 3
refused 'the program has no setting model.zzzzzzzz; it asks for model' "$tmp/mine.so" --model.zzzzzzzz 1
refused 'resume = nofile (--resume): a checkpoint, a folder with one, last or best is needed: ' "$tmp/mine.so" \
    --resume nofile
refused 'last or best is needed (did you mean last?): ' "$tmp/mine.so" --resume lsat
refused 'last or best is needed (did you mean best?): ' "$tmp/mine.so" --resume bset
refused 'last or best is needed: best: no ' "$tmp/mine.so" --runs_dir "$tmp/nothing" --resume best
refused 'cannot open' "$tmp/none.so"
echo 'int x;' >"$tmp/empty.c" && "${CC:-cc}" -shared -fPIC "$tmp/empty.c" -o "$tmp/empty.so"
refused 'has no variable xt_model' "$tmp/empty.so"

"$XTRAIN" fit --config "$tmp/runs/mine/version_0/config.json" --json >"$tmp/again" 2>"$tmp/out"
check "its own file repeats the run" [ "$(json "$tmp/again" loss_last)" = "$(json "$tmp/so" loss_last)" ]
echo '{"trainr": {"max_epochs": 1}}' >"$tmp/bad.json"
refused 'no section "trainr"' "$tmp/mine.so" --config "$tmp/bad.json"
check "it is said once" [ "$(grep -c 'no section' "$tmp/out")" = 1 ]

# --- pictures of a run
"$XTRAIN" plot mine --output "$tmp/curves.png" >"$tmp/out" 2>&1
check "a PNG of the losses" [ "$(head -c 4 "$tmp/curves.png" | tail -c 3)" = PNG ]
"$XTRAIN" plot "$tmp/runs/mine" --name val/loss >"$tmp/out" 2>&1
check "in the terminal" grep -q 'val/loss: 2 points' "$tmp/out"
"$XTRAIN" plot mine --name none >"$tmp/out" 2>&1
check "an unknown name lists the known" grep -q 'train/loss' "$tmp/out"
"$XTRAIN" plot mine --name val/los >"$tmp/out" 2>&1
check "and the nearest" grep -q 'did you mean val/loss?' "$tmp/out"
"$XTRAIN" plot nowhere >"$tmp/out" 2>&1
check "no such run" grep -q 'no metrics.csv' "$tmp/out"
check "the runs there are" grep -qE 'a run nowhere; in .* there are:.* mine' "$tmp/out"
"$XTRAIN" plot mnits >"$tmp/out" 2>&1
check "the nearest run" grep -q 'did you mean mnist?' "$tmp/out"
"$XTRAIN" plot mnist >"$tmp/out" 2>&1
check "one loss is drawn once" [ "$(grep -c '^loss:' "$tmp/out")" = 0 ]

(cd "$tmp" && cp mine.so mine && "$XTRAIN" plot mine --name val/loss) >"$tmp/out" 2>&1
check "a run comes before a program of its name" grep -q 'val/loss: ' "$tmp/out"
"$XTRAIN" plot "$tmp/mine.c" >"$tmp/out" 2>&1
check "a file that is none is named" grep -q 'mine.c is no metrics.csv' "$tmp/out"

mkdir -p "$tmp/runs/mine/version_99"
head -n 1 "$tmp/runs/mine/version_0/metrics.csv" >"$tmp/runs/mine/version_99/metrics.csv"
"$XTRAIN" plot mine --name val/loss >"$tmp/out" 2>&1
check "a version without values hides no other" grep -q 'val/loss: ' "$tmp/out"
check "which is said" grep -qE 'version_99 has no values; this is version_[0-9]+$' "$tmp/out"
rm -r "$tmp/runs/mine/version_99"

# --- ended by a signal: 128 + its number, as of a program of one's own
stopped() {
    # What an earlier run said is no sign that this one has begun: a signal to the shell that becomes it would be lost.
    rm -f "$tmp/out"
    "$XTRAIN" fit "$@" --trainer.run_name stopped >"$tmp/out" 2>&1 &
    local pid=$!
    while kill -0 $pid 2>/dev/null && ! grep -qs 'a row every' "$tmp/out"; do sleep 0.02; done
    kill -TERM $pid 2>/dev/null
    wait $pid
    check "SIGTERM to xtrain fit $1" [ $? = 143 ]
}
stopped mnist --epochs 1000 --no-pictures
stopped "$tmp/mine.so" --max_epochs 1000000

# --- a schedule has the same parts in a run too short for a warm-up
tiny() {
    "$XTRAIN" fit gpt2-tiny --layers 1 --width 16 --heads 2 --seq 8 --batch 2 --limit-batches 2 --limit-val 1 \
        --sample 0 "$@" >"$tmp/out" 2>&1
}
head -c 4000 /dev/zero | tr '\0' 'x' >"$tmp/text"
tiny --data "$tmp/text" --epochs 2 --trainer.run_name brief
check "4 steps along a cosine" [ $? = 0 ]
tiny --data "$tmp/text" --epochs 15 --trainer.run_name brief --resume last
check "go on to 30" [ "$?$(grep -c 'resuming from .*step 4' "$tmp/out")" = 01 ]

# --- slips of the fingers
refused 'no option --max_epochs; did you mean --epochs?' mnist --max_epochs 1
refused 'no option --limit-train-batches=2; did you mean --limit-batches?' mnist --limit-train-batches=2
refused 'mnits is no model; did you mean mnist?' mnits
refused 'no option --bacth; did you mean --batch?' mnist --bacth 3
refused "'0' is no value for --batch" mnist --batch 0
"$XTRAIN" fitt >"$tmp/out" 2>&1
check "the nearest command" grep -q 'did you mean fit?' "$tmp/out"
XT_PROGRESS=on "$XTRAIN" fit mnist --epochs 1 --limit-batches 3 --batch 8 \
    --no-pictures --json >"$tmp/short" 2>"$tmp/out"
check "a short run shows its loss" grep -qE 'epoch 1/1 .* loss [0-9.]+ val/loss' "$tmp/out"
XT_PROGRESS=on "$XTRAIN" fit mnist --epochs 3 --val-every 2epochs --limit-batches 3 --limit-val 1 --batch 8 \
    --no-pictures >"$tmp/out" 2>&1
check "an epoch with a validation shows its values" grep -qE 'epoch 2/3 .* loss [0-9.]+ val/loss' "$tmp/out"
check "one without has none of an epoch before" [ "$(grep -E '^epoch [13]/3 ' "$tmp/out" | grep -c 'val/loss')" = 0 ]
(cd "$tmp" && "$XTRAIN" fit mine.so --max_epochs 1 --json >"$tmp/bare" 2>"$tmp/out")
check "a shared object of this folder" [ $? = 0 ]
finish
