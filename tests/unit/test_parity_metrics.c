/* The metric types against torchmetrics: nine batches of unequal sizes logged as one validation, by one process and by
 * four ranks that share them unevenly, which must give the same numbers. Tolerance: sums are of f32, so 1e-5 relative,
 * as everywhere in the parity tests. tests/parity/metrics.py made the numbers. */
#include "launched.h"
#include "parity.h"

#include "metrics/log.h"

enum { BATCHES = 9, C = 5, RANKS = 4 };
static const int first_of[RANKS + 1] = {0, 3, 5, 7, BATCHES}; /* batches of each rank */
static parity_file *f;
static xt_running *running;
static const char *running_name; /* which of the two numbers is the one to expect */

/* Batch b of an input: rows of its first dim, or, of what has one number a batch, that. */
static xt_tensor part(const char *name, int b) {
    const parity_tensor *t = parity_get(f, name), *cuts = parity_get(f, "cuts");
    int64_t all = t->type->dims[0], from = b, to = b + 1, dims[XT_MAX_RANK + 1] = {0};
    size_t row = ir_type_bytes(t->type) / (size_t)all;
    if (all != BATCHES) from = (int64_t)parity_element(cuts, b), to = (int64_t)parity_element(cuts, b + 1);
    for (uint32_t i = 0; i < t->type->rank; i++) dims[i] = i ? t->type->dims[i] : to - from;
    return xt_from_array_at(XT_HERE, (const char *)t->data + (size_t)from * row, t->type->dtype, dims);
}

static const char *named(const char *prefix, const char *word, const char *rest) {
    static char name[96];
    snprintf(name, sizeof name, "%s%s%s", prefix, word, rest);
    return name;
}

static void log_classes(const char *prefix, xt_tensor out, xt_tensor chance, xt_tensor y, int64_t ignore) {
    static const char *const words[] = {"precision", "recall", "f1", "specificity"};
    static const xt_class_score scores[] = {XT_SCORE_PRECISION, XT_SCORE_RECALL, XT_SCORE_F1, XT_SCORE_SPECIFICITY};
    static const char *const averages[] = {[XT_MACRO] = "_macro", [XT_MICRO] = "_micro", [XT_WEIGHTED] = "_weighted"};
    xt_metric_opts o = XT_OPTS(xt_metric_opts, .ignore_index = ignore);
    for (int s = 0; s < 4; s++)
        for (int a = XT_MACRO; a <= XT_WEIGHTED; a++)
            xt_log_metric(named(prefix, words[s], averages[a]),
                          xt_class_score_at(XT_HERE, out, y, scores[s], (xt_average)a, o), .sync_dist = XT_ON);
    for (int c = 0; c < C; c++)
        for (int s = 0; s < 3; s++) {
            char each[16];
            snprintf(each, sizeof each, "_each/%d", c);
            xt_log_metric(named(prefix, words[s], each),
                          s == 0   ? xt_precision(out, y, c, .ignore_index = ignore)
                          : s == 1 ? xt_recall(out, y, c, .ignore_index = ignore)
                                   : xt_f1(out, y, c, .ignore_index = ignore),
                          .sync_dist = XT_ON);
        }
    xt_log_metric(named(prefix, "accuracy", ""), xt_accuracy(out, y, .ignore_index = ignore), .sync_dist = XT_ON);
    xt_log_metric(named(prefix, "top2", ""), xt_topk_accuracy(out, y, 2, .ignore_index = ignore), .sync_dist = XT_ON);
    xt_log_metric(named(prefix, "top3", ""), xt_topk_accuracy(out, y, 3, .ignore_index = ignore), .sync_dist = XT_ON);
    xt_log_metric(named(prefix, "confusion", ""), xt_confusion_matrix(out, y, .ignore_index = ignore),
                  .sync_dist = XT_ON);
    xt_log_metric(named(prefix, "perplexity", ""), xt_perplexity(xt_mul_scalar(out, 4), y, .ignore_index = ignore),
                  .sync_dist = XT_ON);
    xt_log_metric(named(prefix, "auroc_classes", ""), xt_auroc(chance, y, .thresholds = 50, .ignore_index = ignore),
                  .sync_dist = XT_ON);
}

static void log_batch(int b) {
    const parity_tensor *weights = parity_get(f, "weights");
    xt_tensor p = part("probability", b), binary = part("binary", b), target = part("target", b),
              value = part("values", b);
    xt_tensor out = part("scores", b), chance = part("chance", b), y = part("label", b);
    int64_t weight = (int64_t)parity_element(weights, b);
    log_classes("", out, chance, y, -100);
    log_classes("padded_", out, chance, part("padded", b), -100);
    log_classes("without1_", out, chance, y, 1);
    log_classes("without0_", out, chance, y, 0);
    xt_log_metric("auroc", xt_auroc(p, binary), .sync_dist = XT_ON);
    xt_log_metric("auroc30", xt_auroc(p, binary, .thresholds = 30), .sync_dist = XT_ON);
    xt_log_metric("padded_auroc", xt_auroc(p, part("padded_binary", b), .ignore_index = -1), .sync_dist = XT_ON);
    xt_log_metric("mse", xt_mse(p, target), .sync_dist = XT_ON);
    xt_log_metric("mae", xt_mae(p, target), .sync_dist = XT_ON);
    xt_log_metric("r2", xt_r2(p, target), .sync_dist = XT_ON);
    xt_log("mean", value, .batch_size = weight, .sync_dist = XT_ON);
    /* a sum never looks at the batch's size */
    xt_log("sum", value, .reduce = XT_SUM, .sync_dist = XT_ON, .batch_size = weight);
    xt_log("min", value, .reduce = XT_MIN, .sync_dist = XT_ON);
    xt_log("max", value, .reduce = XT_MAX, .sync_dist = XT_ON);
    xt_log(running_name, xt_running_mean(running, value), .reduce = XT_LAST, .sync_dist = XT_ON);
}

/* Logs some batches as a whole validation; the rows are there afterwards. */
static bool log_pass(int first, int end) {
    running = xt_running_new(2); /* xt_finish frees it */
    log_set_manual(true);
    log_set_stage(LOG_VALIDATE);
    log_epoch_begin(LOG_VALIDATE);
    for (int b = first; b < end; b++) {
        log_window_begin();
        log_batch(b);
        if (!xt_mark_step()) return false;
    }
    log_emit(LOG_VALIDATE, true, 1);
    log_drain();
    log_set_stage(LOG_TRAIN);
    return !xt_error();
}

/* The recall of a class that no sample is: there is none, where torchmetrics has 0. */
static bool without_samples(const char *name) {
    return strcmp(name, "without0_recall_each/0") == 0 || strcmp(name, "without1_recall_each/1") == 0;
}

static bool near(const char *name, double got, double want) {
    bool same = without_samples(name) ? isnan(got) && want == 0 : fabs(got - want) <= PARITY_RTOL * fmax(1, fabs(want));
    if (!same) fprintf(stderr, "%s: %.9g, torchmetrics has %.9g\n", name, got, want);
    return same;
}

/* "confusion_true" is "confusion" read as shares of the labels. */
static bool matrix_agrees(char *name, const parity_tensor *t) {
    static const char *const ends[] = {
        [XT_NORMALIZE_TRUE] = "_true", [XT_NORMALIZE_PRED] = "_pred", [XT_NORMALIZE_ALL] = "_all"};
    xt_normalize how = XT_NORMALIZE_NONE;
    double matrix[C * C], sums[C * C];
    for (int k = XT_NORMALIZE_TRUE; k <= XT_NORMALIZE_ALL; k++) {
        char *end = strstr(name, ends[k]);
        if (!end) continue;
        how = (xt_normalize)k;
        *end = 0;
    }
    bool good =
        xt_logged_confusion(name, how, matrix, C * C) == C && xt_logged_confusion(name, how, sums, C * C - 1) == 0;
    for (int k = 0; k < C * C; k++) good = near(name, matrix[k], parity_element(t, k)) && good;
    if (how == XT_NORMALIZE_NONE)
        good = xt_logged_sums(name, sums, C * C) == C * C && memcmp(sums, matrix, sizeof sums) == 0 && good;
    return good;
}

static bool all_agree(void) {
    int compared = 0;
    bool good = true;
    char name[96];
    for (size_t i = 0; i < f->n; i++) {
        const parity_tensor *t = &f->tensors[i];
        size_t n = strlen(t->name);
        if (n < 3 || strcmp(t->name + n - 2, "/y") != 0 || strncmp(t->name, "auroc_exact", 11) == 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - 2), t->name);
        if (strncmp(name, "running", 7) == 0 && strcmp(name, running_name) != 0) continue;
        compared++;
        if (strstr(name, "confusion")) {
            good = matrix_agrees(name, t) && good;
        } else if (t->type->rank == 0)
            good = near(name, log_latest(name), parity_element(t, 0)) && good;
        else
            for (int k = 0; k < C; k++) {
                char each[128];
                snprintf(each, sizeof each, "%s/%d", name, k);
                good = near(each, log_latest(each), parity_element(t, k)) && good;
            }
    }
    return good && compared == 4 * 24 + 11;
}

static void torchmetrics(void **state) {
    (void)state;
    running_name = "running";
    assert_true(log_pass(0, BATCHES));
    assert_true(all_agree());
    const parity_tensor *p = parity_get(f, "probability"), *y = parity_get(f, "binary");
    assert_true(near("auroc_exact", xt_auroc_exact(p->data, y->data, (size_t)p->type->count),
                     parity_element(parity_get(f, "auroc_exact/y"), 0)));
    assert_int_equal(xt_finish(), 0);
}

static int of_rank(int rank, void *arg) {
    (void)arg;
    running_name = "running_ranks";
    bool good = log_pass(first_of[rank], first_of[rank + 1]) && all_agree();
    return xt_finish() || !good;
}

static void merged_over_ranks(void **state) {
    (void)state;
    if (getenv("ASAN_BUILD")) skip(); /* LeakSanitizer's own tracer crashes at the end of a process that has forked */
    if (getenv("XT_DEVICE") && strcmp(getenv("XT_DEVICE"), "CPU") != 0) skip(); /* several processes on one device */
    assert_int_equal(launched(RANKS, of_rank, NULL), 0);
    unsetenv("CPU_NUM_DEVICES");
}

int main(void) {
    f = parity_open("metrics");
    const struct CMUnitTest tests[] = {cmocka_unit_test(merged_over_ranks), cmocka_unit_test(torchmetrics)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    parity_close_file(f);
    return failed;
}
