/* The metric types against torchmetrics: three batches logged as one validation, by one process and by two ranks that share them (one has two batches, the
 * other one), which must give the same numbers. Tolerance: sums are of f32, so 1e-5 relative, as everywhere in the parity tests. */
#include "launched.h"
#include "parity.h"

#include "metrics/log.h"

enum { BATCHES = 3, N = 40, C = 5 };
static parity_file *f;
static xt_running *running;

/* Batch b of an input: its first dim is the batches'. */
static xt_tensor part(const char *name, int b) {
    const parity_tensor *t = parity_get(f, name);
    int64_t dims[XT_MAX_RANK + 1] = {0};
    size_t bytes = ir_type_bytes(t->type) / BATCHES;
    for (uint32_t i = 1; i < t->type->rank; i++) dims[i - 1] = t->type->dims[i];
    return xt_from_array_at(XT_HERE, (const char *)t->data + (size_t)b * bytes, t->type->dtype, dims);
}

static void log_classes(xt_tensor out, xt_tensor y) {
    static const char *const words[] = {"precision", "recall", "f1", "specificity"};
    static const xt_class_score scores[] = {XT_SCORE_PRECISION, XT_SCORE_RECALL, XT_SCORE_F1, XT_SCORE_SPECIFICITY};
    static const char *const averages[] = {[XT_MACRO] = "macro", [XT_MICRO] = "micro", [XT_WEIGHTED] = "weighted"};
    char name[64];
    for (int s = 0; s < 4; s++)
        for (int a = XT_MACRO; a <= XT_WEIGHTED; a++) {
            snprintf(name, sizeof name, "%s_%s", words[s], averages[a]);
            xt_log_metric(name, xt_class_score_at(XT_HERE, out, y, scores[s], (xt_average)a), .sync_dist = XT_ON);
        }
    for (int c = 0; c < C; c++)
        for (int s = 0; s < 3; s++) {
            snprintf(name, sizeof name, "%s_each/%d", words[s], c);
            xt_log_metric(name, s == 0 ? xt_precision(out, y, c) : s == 1 ? xt_recall(out, y, c) : xt_f1(out, y, c), .sync_dist = XT_ON);
        }
    xt_log_metric("accuracy", xt_accuracy(out, y), .sync_dist = XT_ON);
    xt_log_metric("top2", xt_topk_accuracy(out, y, 2), .sync_dist = XT_ON);
    xt_log_metric("top3", xt_topk_accuracy(out, y, 3), .sync_dist = XT_ON);
    xt_log_metric("confusion", xt_confusion_matrix(out, y), .sync_dist = XT_ON);
    xt_log_metric("perplexity", xt_perplexity(xt_mul_scalar(out, 4), y), .sync_dist = XT_ON);
}

static void log_batch(int b) {
    const parity_tensor *weights = parity_get(f, "weights");
    xt_tensor p = part("probability", b), binary = part("binary", b), target = part("target", b), y = part("label", b), value = part("values", b);
    int64_t weight = (int64_t)parity_element(weights, b);
    log_classes(part("scores", b), y);
    xt_log_metric("auroc", xt_auroc(p, binary), .sync_dist = XT_ON);
    xt_log_metric("auroc30", xt_auroc(p, binary, .thresholds = 30), .sync_dist = XT_ON);
    xt_log_metric("auroc_classes", xt_auroc(part("chance", b), y, .thresholds = 50), .sync_dist = XT_ON);
    xt_log_metric("mse", xt_mse(p, target), .sync_dist = XT_ON);
    xt_log_metric("mae", xt_mae(p, target), .sync_dist = XT_ON);
    xt_log_metric("r2", xt_r2(p, target), .sync_dist = XT_ON);
    xt_log("mean", value, .batch_size = weight, .sync_dist = XT_ON);
    xt_log("sum", value, .reduce = XT_SUM, .sync_dist = XT_ON, .batch_size = weight); /* a sum never looks at the batch's size */
    xt_log("min", value, .reduce = XT_MIN, .sync_dist = XT_ON);
    xt_log("max", value, .reduce = XT_MAX, .sync_dist = XT_ON);
    if (running) xt_log("running", xt_running_mean(running, value), .reduce = XT_LAST);
}

/* Logs batches first, first + step, ...; the rows are there afterwards. */
static bool log_pass(int first, int step) {
    log_set_manual(true);
    log_set_stage(LOG_VALIDATE);
    log_epoch_begin(LOG_VALIDATE);
    for (int b = first; b < BATCHES; b += step) {
        log_window_begin();
        log_batch(b);
        if (!xt_mark_step()) return false;
    }
    log_emit(LOG_VALIDATE, true, 1);
    log_drain();
    log_set_stage(LOG_TRAIN);
    return !xt_error();
}

static bool near(const char *name, double got, double want) {
    bool same = fabs(got - want) <= PARITY_RTOL * fmax(1, fabs(want));
    if (!same) fprintf(stderr, "%s: %.9g, torchmetrics has %.9g\n", name, got, want);
    return same;
}

static bool all_agree(void) {
    bool good = true;
    char name[96];
    for (size_t i = 0; i < f->n; i++) {
        const parity_tensor *t = &f->tensors[i];
        size_t n = strlen(t->name);
        if (n < 3 || strcmp(t->name + n - 2, "/y") != 0 || strncmp(t->name, "auroc_exact", 11) == 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - 2), t->name);
        if (strcmp(name, "running") == 0 && !running) continue;
        if (strcmp(name, "confusion") == 0) {
            double matrix[C * C];
            good = xt_logged_sums(name, matrix, C * C) == C * C && good;
            for (int k = 0; k < C * C; k++) good = near(name, matrix[k], parity_element(t, k)) && good;
        } else if (t->type->rank == 0)
            good = near(name, log_latest(name), parity_element(t, 0)) && good;
        else
            for (int k = 0; k < C; k++) {
                char each[128];
                snprintf(each, sizeof each, "%s/%d", name, k);
                good = near(each, log_latest(each), parity_element(t, k)) && good;
            }
    }
    return good;
}

static void torchmetrics(void **state) {
    (void)state;
    running = xt_running_new(2);
    assert_true(log_pass(0, 1));
    assert_true(all_agree());
    running = NULL; /* xt_finish frees it */
    const parity_tensor *p = parity_get(f, "probability"), *y = parity_get(f, "binary");
    assert_true(near("auroc_exact", xt_auroc_exact(p->data, y->data, BATCHES * N), parity_element(parity_get(f, "auroc_exact/y"), 0)));
    assert_int_equal(xt_finish(), 0);
}

static int of_rank(int rank, void *arg) {
    (void)arg;
    bool good = log_pass(rank, 2) && all_agree();
    return xt_finish() || !good;
}

static void merged_over_ranks(void **state) {
    (void)state;
    if (getenv("ASAN_BUILD")) skip(); /* LeakSanitizer's own tracer crashes at the end of a process that has forked */
    if (getenv("XT_DEVICE") && strcmp(getenv("XT_DEVICE"), "CPU") != 0) skip(); /* two processes on one device */
    assert_int_equal(launched(2, of_rank, NULL), 0);
    unsetenv("CPU_NUM_DEVICES");
}

int main(void) {
    f = parity_open("metrics");
    const struct CMUnitTest tests[] = {cmocka_unit_test(merged_over_ranks), cmocka_unit_test(torchmetrics)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    parity_close_file(f);
    return failed;
}
