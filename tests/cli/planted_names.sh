#!/bin/bash
# Names that stand in files and other processes, with what a terminal or a page acts on: escape sequences, a carriage
# return, a bell, C1 controls, marks of direction, bytes that are no UTF-8, a script. Whatever shows them shows text.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_STATUS_DIR=$tmp/status XT_POSTMORTEM_DIR=$tmp XT_CACHE_DIR=$tmp/cache XT_PROGRESS=on
here=$tmp/here
mkdir "$here" && cd "$here" || exit 1
"$root/tests/cli/planted_names.py" make "$here" || exit 1
# shows WHAT COMMAND...: whatever its exit code is, what it prints is text, and not empty
shows() {
    local what=$1 bad
    shift
    "$@" >"$tmp/out" 2>&1 </dev/null
    bad=$("$root/tests/cli/planted_names.py" text "$tmp/out") || echo "    $bad"
    check "$what: text" [ -s "$tmp/out" -a -z "$bad" ]
}
files() { # files KIND WHAT FILE...: each is text; KIND json, jsonl or html: of that kind, too
    local kind=$1 what=$2 bad
    shift 2
    bad=$("$root/tests/cli/planted_names.py" "$kind" "$@" 2>&1) || echo "    $bad"
    check "$what: $kind" [ $# -gt 0 -a -e "$1" -a -z "$bad" ]
}
evil=$(cat "$here/name")

shows "a command that is none" "$XTRAIN" "$evil"
shows "an option that is none" "$XTRAIN" fit mnist "--$evil"
shows "a file that is not there" "$XTRAIN" run "$evil.mlir"
shows "a code that is none" "$XTRAIN" explain "$evil"
for form in pretty generic; do shows "a program, $form" "$XTRAIN" run program.mlir --print $form; done
shows "a program that runs" env XT_DEBUG=exec,compile "$XTRAIN" run program.mlir --args '[dense<1.0> : tensor<4xf32>]'
shows "and its dumps" "$XTRAIN" run program.mlir --args '[dense<1.0> : tensor<4xf32>]' --dump dumps
check "are in their folder" [ -n "$(ls dumps)" -a -z "$(ls "$tmp"/*.mlir "$tmp"/*.plan 2>/dev/null)" ]
ls dumps >names
files text "and have names" names
shows "a program that is wrong" "$XTRAIN" run wrong.mlir
shows "its plan" "$XTRAIN" plan program.mlir --html plan.html
"$XTRAIN" plan program.mlir --json 2>"$tmp/out" | tail -n 1 >plan.json
files json "its plan" plan.json
files html "its plan" plan.html
"$XTRAIN" run program.mlir --json --args '[dense<1.0> : tensor<4xf32>]' >run.json 2>"$tmp/out"
files json "its run" run.json
shows "an array's header" "$XTRAIN" run program.mlir --input odd.npy
shows "weights" "$XTRAIN" validate mnist --ckpt weights.safetensors
shows "weights in shards" "$XTRAIN" convert shards.safetensors.index.json there.safetensors
shows "their names changed" "$XTRAIN" convert weights.safetensors there.safetensors --rename "*=x"
shows "a configuration" "$XTRAIN" fit mnist --config config.json
shows "a model's configuration" "$XTRAIN" generate llama
shows "a run's values" "$XTRAIN" plot "$here/run" --name none
shows "a run's curve" "$XTRAIN" plot "$here/run" --name "$(cat metric)"
mkdir -p "$XT_RUNS_DIR/$evil"
shows "the runs there are" "$XTRAIN" plot none
mkdir -m 700 "$tmp/cache" && : >"$tmp/cache/$evil.xtc"
shows "files of a cache" "$XTRAIN" cache ls
"$XTRAIN" doctor --json >doctor.json 2>/dev/null
files json "the doctor" doctor.json

# A program of that name, which logs under such names, and is looked at while it runs.
cat >fits.c <<'C'
#include <stdio.h>
#include <unistd.h>
#include <xtrain/xtrain.h>
static const char *name, *value;
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { (void)user; return xt_linear(m, "fc", x, 2); }
static xt_tensor training_step(xt_module *m, xt_batch b, void *user) {
    xt_tensor out = {0};
    (void)user;
    xt_scope(name) { out = xt_mean(xt_forward(m, b.x)); }
    xt_log(name, out, .prog_bar = XT_ON);
    return out;
}
static xt_optimizer *sgd(xt_module *m, void *user) { (void)user; return xt_sgd(m, .lr = 0.1); }
static void begun(xt_module *m, void *user) { (void)m; (void)user; xt_log_text(name, name); }
static void over(xt_module *m, void *user) {
    (void)m; (void)user;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 3000; i++) usleep(10000);
}
int main(int argc, char **argv) {
    static float x[64];
    name = argv[1];
    value = argv[2];
    xt_trainer *t = xt_trainer_new(.max_epochs = 1, .log_every_n_steps = 4, .run_name = "fits",
                                   .loggers = "csv,jsonl,tensorboard");
    xt_trainer_text(t, "model.kind", value);
    xt_task task = {.net = net, .training_step = training_step, .configure_optimizers = sgd, .on_fit_start = begun,
                    .on_fit_end = argc > 3 ? over : NULL};
    return xt_fit(t, &task,
                  xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, NULL, (xt_spec){0}, 16), .batch = 2));
}
C
cc ${ASAN_BUILD:+-fsanitize=address,undefined} -O1 fits.c -I"$root/include" -o "./$evil" -L"$BUILD" -lxtrain \
    -Wl,-rpath,"$BUILD" || exit 1
shows "a program that fits" env XT_DEBUG=compile,exec,read XT_EVENTS=events.jsonl XT_METRICS=metrics.prom \
    XT_PROFILE=profile.json XT_PROFILE_STEPS=2-4 XT_SUMMARY=on "./$evil" "$evil" "$(cat metric)"
files jsonl "its events" events.jsonl
files json "its profile" profile.json
files text "its counters" metrics.prom
files text "its rows" "$XT_RUNS_DIR"/fits/version_*/metrics.csv
files jsonl "its rows" "$XT_RUNS_DIR"/fits/version_*/metrics.jsonl
files json "its settings" "$XT_RUNS_DIR"/fits/version_*/config.json
files event "its events for TensorBoard" "$XT_RUNS_DIR"/fits/version_*/events.out.*
shows "its curve" "$XTRAIN" plot fits --name none
"./$evil" "$evil" "$(cat metric)" wait >said 2>"$tmp/out" &
pid=$!
until grep -q ready said || ! kill -0 $pid; do sleep 0.02; done
shows "a program that runs" "$XTRAIN" top --once
check "is in the list" grep -q " $pid " "$tmp/out"
"$XTRAIN" top --json >top.json
files json "a program that runs" top.json
kill -KILL $pid
wait $pid 2>/dev/null
shows "a program that was killed" "$XTRAIN" postmortem
shows "its report" cat "$tmp"/xt-crash-*/report.txt
finish
