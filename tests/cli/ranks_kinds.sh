#!/bin/bash
# A name is one kind of value: a value and a metric, two metrics, or a metric with two arguments are an error with both
# lines that says which kinds they are. On two ranks, which merge them, in one process, plain loop and Trainer, and in
# two stages, whose rows have them under one name. And ranks
# of a loop that are not at the same rows, because one logs nothing or is in another mode.
set -u
. "$(dirname "$0")/../examples/lib.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export XT_SUMMARY=off XT_POSTMORTEM=off XT_TIMEOUT=100
cat >"$tmp/kinds.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <xtrain/xtrain.h>
static float a[64][4];
static int64_t y[64];
static const char *who, *kinds[2];
static int validates; /* 1 */
static double first_sum(const double *sums, int64_t n, double arg) { return n ? sums[0] * arg : 0; }
static double last_sum(const double *sums, int64_t n, double arg) { return n ? sums[n - 1] + arg : 0; }
static xt_metric metric(const char *kind, xt_tensor out, xt_tensor y) {
    if (strcmp(kind, "accuracy") == 0) return xt_accuracy(out, y);
    if (strcmp(kind, "but1") == 0) return xt_accuracy(out, y, .ignore_index = 1);
    if (strcmp(kind, "but-1") == 0) return xt_accuracy(out, y, .ignore_index = -1);
    if (strcmp(kind, "matrix but2") == 0) return xt_confusion_matrix(out, y, .ignore_index = 2);
    if (strcmp(kind, "weighted but0") == 0) return xt_f1_avg(out, y, XT_WEIGHTED, .ignore_index = 0);
    if (strcmp(kind, "top2") == 0) return xt_topk_accuracy(out, y, 2);
    if (strcmp(kind, "top1") == 0) return xt_topk_accuracy(out, y, 1);
    if (strcmp(kind, "class2") == 0) return xt_recall(out, y, 2);
    if (strcmp(kind, "macro") == 0) return xt_f1_avg(out, y, XT_MACRO);
    if (strcmp(kind, "weighted") == 0) return xt_f1_avg(out, y, XT_WEIGHTED);
    if (strcmp(kind, "matrix") == 0) return xt_confusion_matrix(out, y);
    if (strcmp(kind, "first") == 0) return (xt_metric){.sums = xt_sum_axis(out, 0), .finish = first_sum, .arg = 1};
    if (strcmp(kind, "last") == 0) return (xt_metric){.sums = xt_sum_axis(out, 0), .finish = last_sum, .arg = 1};
    xt_tensor sum = xt_sum(out);
    return (xt_metric){.numerator = sum, .denominator = xt_full(3, XT_F32)};
}
static xt_tensor step(xt_module *m, xt_batch b, void *user) {
    xt_tensor out = xt_forward(m, b.x), loss = user ? out : xt_cross_entropy(out, b.y);
    bool stages = strncmp(who, "stages", 6) == 0;
    const char *kind = kinds[stages ? validates : xt_world_size() > 1 ? xt_rank() : (int)(b.index % 2)];
    if (strcmp(kind, "nothing") == 0) return loss; /* nothing */
    xt_log("a", loss, .sync_dist = XT_ON); /* a */
    if (strcmp(kind, "value") == 0)
        xt_log("it", loss, .sync_dist = XT_ON); /* value */
    else if (strcmp(kind, "most") == 0)
        xt_log("it", loss, .sync_dist = XT_ON, .reduce = XT_MAX); /* most */
    else if (kind == kinds[0])
        xt_log_metric("it", metric(kind, out, b.y), .sync_dist = XT_ON); /* first */
    else
        xt_log_metric("it", metric(kind, out, b.y), .sync_dist = XT_ON); /* other */
    xt_log("z", loss, .sync_dist = XT_ON);
    return loss;
}
static xt_tensor net(xt_module *m, xt_tensor x, void *user) { return user ? x : xt_linear(m, "fc", x, 3); }
static void validate(xt_module *m, xt_batch b, void *user) {
    validates = 1;
    if (!strstr(who, "hook")) step(m, b, user);
    validates = 0;
}
static void ends(xt_module *m, int64_t epoch, void *user) {
    if (m && epoch == 0 && !user && strstr(who, "hook")) xt_log_value("it", 1); /* hook */
}
static xt_optimizer *sgd(xt_module *m, void *user) { return user ? NULL : xt_sgd(m, .lr = 0.01); }
static int go(int rank, void *user) {
    (void)user;
    for (int i = 0; i < 64; i++) a[i][i % 4] = (float)i / 64, y[i] = i % 3;
    xt_dataset *rows = xt_array_dataset(a, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64, {0}}, 64);
    xt_loader *l = xt_loader_new(rows, .batch = 4), *val = xt_loader_new(rows, .batch = 4);
    if (strstr(who, "trainer")) {
        xt_task task = {.net = net, .training_step = step, .configure_optimizers = sgd};
        task.on_validation_epoch_end = ends;
        if (strncmp(who, "stages", 6) == 0) task.validation_step = validate;
        return xt_fit(xt_trainer_new(.max_epochs = 1, .log_every_n_steps = 2, .checkpointing = XT_OFF), &task, l,
                      task.validation_step ? val : NULL);
    }
    xt_module *m = xt_module_new(net, NULL);
    xt_optimizer *o = xt_sgd(m, .lr = 0.01);
    xt_log_every_n_steps(2);
    for (int epoch = 0; epoch < (strcmp(who, "long") == 0 ? 500 : 1); epoch++)
        for (xt_batch b; xt_next(l, &b);) {
            xt_backward(step(m, b, NULL));
            xt_optimizer_step(o);
        }
    if (strcmp(who, "long") == 0) puts("all 500 epochs");
    if (strcmp(who, "stages") == 0) xt_eval(m);
    for (xt_batch b; strcmp(who, "stages") == 0 && xt_next(val, &b);) validate(m, b, NULL);
    if (strcmp(who, "modes") == 0 && rank == 0) xt_eval(m);
    for (xt_batch b; strcmp(who, "modes") == 0 && xt_next(l, &b);)
        xt_log("v", xt_mean(xt_forward(m, b.x)), .sync_dist = XT_ON, .on_epoch = XT_ON); /* v */
    return xt_finish();
}
int main(int argc, char **argv) {
    if (argc < 4) return 2;
    who = argv[1], kinds[0] = argv[2], kinds[1] = argv[3];
    return xt_launch(go, NULL);
}
C
# shellcheck disable=SC2086
cc -g ${ASAN_BUILD:+-fsanitize=address,undefined} -Wall -Wextra -Werror -I"$root/include" "$tmp/kinds.c" \
    -o "$tmp/kinds" -L"$BUILD" -lxtrain -Wl,-rpath,"$BUILD"
check "the program builds" [ $? = 0 ]
cd "$tmp" || exit 1

line() { grep -n "/\* $1 \*/" kinds.c | cut -d: -f1; }
at() { case $1 in value | most) line "$1" ;; *) line "$2" ;; esac }
# refused FIRST OTHER FIRST_TEXT OTHER_TEXT
refused() {
    local who first other
    first=kinds.c:$(at "$1" first) other=kinds.c:$(at "$2" other)
    for who in plain trainer; do
        CPU_NUM_DEVICES=2 timeout 150 ./kinds "$who" "$1" "$2" >out 2>&1 </dev/null
        check "2 ranks, $who: $1 and $2 are refused" [ $? = 1 ]
        check "with both lines and kinds" grep -qE "\"it\".*rank 0 [^,]*$first as $3, rank 1 [^,]*$other as $4\." out
        timeout 150 ./kinds "$who" "$1" "$2" >out 2>&1 </dev/null
        check "1 rank, $who: $1 and $2 are refused" [ $? = 1 ]
        check "with both lines and kinds" grep -qE "$other: .*\"it\": logged at [^,]*$first as $3, here as $4;" out
    done
}
refused accuracy value xt_accuracy 'a value with XT_MEAN'
refused value matrix 'a value with XT_MEAN' 'xt_confusion_matrix of 3 classes'
refused accuracy matrix xt_accuracy 'xt_confusion_matrix of 3 classes'
refused accuracy own xt_accuracy 'a numerator over a denominator of its own'
refused accuracy class2 xt_accuracy 'xt_recall of class 2'
refused top1 top2 'xt_topk_accuracy with k = 1' 'xt_topk_accuracy with k = 2'
refused macro weighted 'xt_f1_avg with XT_MACRO over 3 classes' 'xt_f1_avg with XT_WEIGHTED over 3 classes'
refused accuracy but1 xt_accuracy 'xt_accuracy without label 1'
refused but-1 but1 'xt_accuracy without label -1' 'xt_accuracy without label 1'
refused matrix 'matrix but2' 'xt_confusion_matrix of 3 classes' 'xt_confusion_matrix of 3 classes without label 2'
refused weighted 'weighted but0' 'xt_f1_avg with XT_WEIGHTED over 3 classes' \
    'xt_f1_avg with XT_WEIGHTED over 3 classes without label 0'
own='a metric with a function of its own \(kinds\+0x[0-9a-f]+\), 3 sums and arg 1'
refused first last "$own" "$own"
for kind in value accuracy top2 but1 weighted matrix "weighted but0" own first; do # alike, each is written
    for who in plain trainer; do
        CPU_NUM_DEVICES=2 timeout 150 ./kinds "$who" "$kind" "$kind" >out 2>&1 </dev/null
        check "2 ranks, $who: $kind on both" [ $? = 0 ]
    done
done
# refused_in_stages FIRST OTHER FIRST_TEXT OTHER_TEXT: in the training and in the validation
refused_in_stages() {
    local who ranks one other
    one=kinds.c:$(at "$1" first) other=kinds.c:$(at "$2" other)
    for who in stages stages-trainer; do
        for ranks in 1 2; do
            if [ $ranks = 2 ]; then export CPU_NUM_DEVICES=2; fi
            timeout 150 ./kinds "$who" "$1" "$2" >out 2>&1 </dev/null
            check "$who, $ranks ranks: $1 and $2 are refused" [ $? = 1 ]
            check "with both lines and kinds" grep -qE "$other: .*\"it\": logged at [^,]*$one as $3, here as $4;" out
            unset CPU_NUM_DEVICES
        done
    done
}
refused_in_stages accuracy value xt_accuracy 'a value with XT_MEAN'
refused_in_stages value most 'a value with XT_MEAN' 'a value with XT_MAX'
refused_in_stages top1 top2 'xt_topk_accuracy with k = 1' 'xt_topk_accuracy with k = 2'
timeout 150 ./kinds stages-trainer-hook accuracy accuracy >out 2>&1 </dev/null
check "in a validation's hook, too" [ $? = 1 ]
check "with both lines and kinds" \
    grep -qE "kinds.c:$(line hook): .*\"it\": logged at [^,]*kinds.c:$(line first) as xt_accuracy, here as a value" out
for who in stages stages-trainer; do
    timeout 150 ./kinds $who accuracy accuracy >out 2>&1 </dev/null
    check "$who: accuracy in both" [ $? = 0 ]
done
# not_the_same WHO FIRST OTHER: on two ranks of a plain loop
not_the_same() {
    CPU_NUM_DEVICES=2 timeout 150 ./kinds "$1" "$2" "$3" >out 2>&1 </dev/null
    check "$1: $2 beside $3 is refused" [ $? = 1 ]
    [ "$1" = modes ] || check "while it goes on" [ "$(grep -c 'all 500 epochs' out)" = 0 ]
}
logs="logs \"a\" \([^,]*kinds.c:$(line a)\), .* and rank"
not_the_same long value nothing
check "with the lines of both" \
    grep -qE "rank 0 $logs 1 does not: it has gone on \([^,]*kinds.c:[0-9]+, in step [0-9]+\) without" out
not_the_same long nothing value
check "the other way round" grep -qE "rank 1 $logs 0 does not: it has gone on" out
not_the_same modes value value # rank 1 has forgotten xt_eval
places="rank 0 at that of an epoch of a validation \(\"v\" \([^,]*kinds.c:$(line v)\)\), rank 1 at that of"
check "with the stages of both" grep -qE "$places an epoch of the training .*xt_eval" out
finish
