/* Metrics as functions of sums over several batches against plain loops on the host: scores over classes, confusion
 * matrices, areas under curves, R2, perplexity, running means; what they cost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <xtrain/xtrain.h>

#include "lazy/lazy.h"
#include "metrics/log.h"

#include "launched.h"

enum { BATCHES = 3, N = 40, C = 5, ALL = BATCHES * N };
static float scores[ALL][C], probability[ALL], target[ALL];
static int64_t label[ALL], binary[ALL];

static void fill(void) {
    uint32_t seed = 12345;
    for (int i = 0; i < ALL; i++) {
        for (int k = 0; k < C; k++) {
            seed = seed * 1664525 + 1013904223;
            scores[i][k] = (float)(seed >> 8) / (1 << 24);
        }
        label[i] = (int64_t)(seed >> 9) % (C - 1); /* the last class is never labelled */
        if (i % 3) scores[i][label[i]] += 0.6f;
        seed = seed * 1664525 + 1013904223;
        probability[i] = (float)(seed >> 8) / (1 << 24);
        binary[i] = probability[i] + (float)(seed % 97) / 97 > 1;
        target[i] = probability[i] * 3 + 0.2f * scores[i][0];
    }
}

static int predicted(int i) {
    int best = 0;
    for (int k = 1; k < C; k++)
        if (scores[i][k] > scores[i][best]) best = k;
    return best;
}

typedef struct counts {
    double hits[C], predicted[C], actual[C], matrix[C][C];
} counts;
static counts count(void) {
    counts c = {0};
    for (int i = 0; i < ALL; i++) {
        int p = predicted(i);
        c.predicted[p]++;
        c.actual[label[i]]++;
        c.hits[p] += p == label[i];
        c.matrix[label[i]][p]++;
    }
    return c;
}

static double expected(const counts *c, xt_class_score score, xt_average average) {
    double sum = 0, weight = 0, tp = 0, fp = 0, fn = 0, tn = 0;
    for (int k = 0; k < C; k++) {
        double a = c->hits[k], b = c->predicted[k] - a, m = c->actual[k] - a, r = ALL - a - b - m;
        double v = score == XT_SCORE_PRECISION     ? (a + b > 0 ? a / (a + b) : 0)
                   : score == XT_SCORE_F1          ? (2 * a + b + m > 0 ? 2 * a / (2 * a + b + m) : 0)
                   : score == XT_SCORE_SPECIFICITY ? (r + b > 0 ? r / (r + b) : 0)
                                                   : (a + m > 0 ? a / (a + m) : 0);
        double w = average == XT_WEIGHTED ? a + m : score == XT_SCORE_BALANCED_ACCURACY ? a + m > 0 : a + b + m > 0;
        sum += w * v;
        weight += w;
        tp += a;
        fp += b;
        fn += m;
        tn += r;
    }
    if (average != XT_MICRO) return sum / weight;
    return score == XT_SCORE_PRECISION     ? tp / (tp + fp)
           : score == XT_SCORE_F1          ? 2 * tp / (2 * tp + fp + fn)
           : score == XT_SCORE_SPECIFICITY ? tn / (tn + fp)
                                           : tp / (tp + fn);
}

/* Logs what `log` says of each batch as one validation. */
static void run(void (*log)(int batch)) {
    log_set_manual(true);
    log_set_stage(LOG_VALIDATE);
    log_epoch_begin(LOG_VALIDATE);
    for (int b = 0; b < BATCHES; b++) {
        log(b);
        assert_true(xt_mark_step());
    }
    log_emit(LOG_VALIDATE, true, 1);
    log_drain();
    log_set_stage(LOG_TRAIN);
    if (xt_error()) fail_msg("%s", xt_status_message(xt_error()));
}

static xt_tensor out_of(int b) {
    return xt_from_array(scores[b * N], XT_F32, N, C);
}
static xt_tensor labels_of(int b) {
    return xt_from_array(label + b * N, XT_I64, N);
}

static void log_classes(int b) {
    static const char *const scores_of[] = {"precision", "recall", "f1", "specificity", "balanced"};
    xt_tensor out = out_of(b), y = labels_of(b);
    for (int s = 0; s <= XT_SCORE_BALANCED_ACCURACY; s++)
        for (int a = 0; a <= XT_WEIGHTED; a++) {
            char name[64];
            snprintf(name, sizeof name, "%s/%d", scores_of[s], a);
            xt_log_metric(
                name, xt_class_score_at(XT_HERE, out, y, (xt_class_score)s, (xt_average)a, XT_OPTS(xt_metric_opts, )));
        }
    xt_log_metric("confusion", xt_confusion_matrix(out, y));
    xt_log_metric("accuracy", xt_accuracy(out, y));
    xt_log_metric("balanced", xt_balanced_accuracy(out, y));
    xt_log_metric("macro f1", xt_f1_avg(out, y, XT_MACRO));
}

static void classes(void **state) {
    (void)state;
    static const char *const scores_of[] = {"precision", "recall", "f1", "specificity", "balanced"};
    fill();
    counts c = count();
    int64_t compiles = xt_counter("compiles"), reads = xt_counter("host_reads");
    run(log_classes);
    assert_int_equal(xt_counter("compiles") - compiles, 1);
    assert_int_equal(xt_counter("host_reads") - reads, 1); /* all of it in one transfer */
    for (int s = 0; s <= XT_SCORE_BALANCED_ACCURACY; s++)
        for (int a = 0; a <= XT_WEIGHTED; a++) {
            char name[64];
            snprintf(name, sizeof name, "%s/%d", scores_of[s], a);
            double want = expected(&c, (xt_class_score)s, (xt_average)a);
            if (fabs(log_latest(name) - want) > 1e-9) fail_msg("%s: %.9g, expected %.9g", name, log_latest(name), want);
        }
    double matrix[C * C], hits = 0;
    assert_int_equal(xt_logged_sums("confusion", matrix, C * C), C * C);
    for (int i = 0; i < C * C; i++) assert_true(matrix[i] == c.matrix[i / C][i % C]);
    for (int k = 0; k < C; k++) hits += c.hits[k];
    assert_float_equal(log_latest("confusion"), hits / ALL, 1e-12);
    assert_float_equal(log_latest("accuracy"), hits / ALL, 1e-6);
    assert_float_equal(log_latest("balanced"), expected(&c, XT_SCORE_BALANCED_ACCURACY, XT_MACRO), 1e-9);
    assert_int_equal(xt_logged_sums("accuracy", matrix, C), 0);
    assert_int_equal(xt_finish(), 0);
}

/* Two ranks with different batches write one row of sums over both. */
static void log_synced(int b) {
    xt_log_metric("f1", xt_f1_avg(out_of(b), labels_of(b), XT_MACRO), .sync_dist = XT_ON);
    xt_log_metric("confusion", xt_confusion_matrix(out_of(b), labels_of(b)), .sync_dist = XT_ON);
    xt_log_metric("own", xt_confusion_matrix(out_of(b), labels_of(b)));
}
static int of_rank(int rank, void *arg) {
    (void)arg;
    double matrix[C * C], own[C * C];
    fill();
    log_set_manual(true);
    log_set_stage(LOG_VALIDATE);
    log_epoch_begin(LOG_VALIDATE);
    for (int b = rank; b < BATCHES; b += 2) { /* one rank has two batches, the other one */
        log_synced(b);
        if (!xt_mark_step()) return 1;
    }
    log_emit(LOG_VALIDATE, true, 1);
    log_drain();
    counts c = count();
    bool ok = fabs(log_latest("f1") - expected(&c, XT_SCORE_F1, XT_MACRO)) < 1e-9 &&
              xt_logged_sums("confusion", matrix, C * C) == C * C && xt_logged_sums("own", own, C * C) == C * C;
    double total = 0, mine = 0;
    for (int i = 0; ok && i < C * C; i++) {
        ok = matrix[i] == c.matrix[i / C][i % C];
        total += matrix[i];
        mine += own[i];
    }
    ok = ok && total == ALL && mine == (rank ? 1 : 2) * N;
    return xt_finish() || !ok;
}
static void merged(void **state) {
    (void)state;
    /* LeakSanitizer's own tracer crashes at the end of this process once it has forked */
    if (getenv("ASAN_BUILD")) skip();
    if (getenv("XT_DEVICE") && strcmp(getenv("XT_DEVICE"), "CPU") != 0) skip(); /* two processes on one device */
    assert_int_equal(launched(2, of_rank, NULL), 0);
    unsetenv("CPU_NUM_DEVICES");
}

static double binned(int k, int thresholds) { /* k < 0: the binary problem */
    double area = 0, x = 0, y = 0, p = 0, q = 0;
    for (int i = 0; i < ALL; i++) *((k < 0 ? binary[i] != 0 : label[i] == k) ? &p : &q) += 1;
    for (int t = thresholds; t-- > 0;) {
        float at = (float)t * (1.0f / (float)(thresholds - 1));
        double tp = 0, fp = 0;
        for (int i = 0; i < ALL; i++)
            if ((k < 0 ? probability[i] : scores[i][k] / 2) >= at)
                *((k < 0 ? binary[i] != 0 : label[i] == k) ? &tp : &fp) += 1;
        if (t < thresholds - 1) area += (fp / q - x) * (tp / p + y) / 2;
        x = fp / q;
        y = tp / p;
    }
    return area;
}

static void log_curves(int b) {
    xt_log_metric("auroc",
                  xt_auroc(xt_from_array(probability + b * N, XT_F32, N), xt_from_array(binary + b * N, XT_I64, N)));
    xt_log_metric("auroc/30", xt_auroc(xt_from_array(probability + b * N, XT_F32, N),
                                       xt_from_array(binary + b * N, XT_I64, N), .thresholds = 30));
    xt_log_metric("auroc/classes", xt_auroc(xt_mul_scalar(out_of(b), 0.5), labels_of(b), .thresholds = 50));
}

static void curves(void **state) {
    (void)state;
    fill();
    run(log_curves);
    double pairs = 0, wins = 0, macro = 0;
    for (int i = 0; i < ALL; i++)
        for (int k = 0; k < ALL; k++)
            if (binary[i] && !binary[k]) {
                pairs++;
                wins += probability[i] > probability[k] ? 1 : probability[i] == probability[k] ? 0.5 : 0;
            }
    for (int k = 0; k < C - 1; k++) macro += binned(k, 50) / (C - 1);
    assert_float_equal(xt_auroc_exact(probability, binary, ALL), wins / pairs, 1e-12);
    assert_float_equal(log_latest("auroc"), wins / pairs, 5e-3);
    assert_float_equal(log_latest("auroc"), binned(-1, 200), 1e-9);
    assert_float_equal(log_latest("auroc/30"), binned(-1, 30), 1e-9);
    assert_float_equal(log_latest("auroc/classes"), macro, 1e-9);
    float tied[] = {0.5f, 0.5f, 0.2f, 0.9f};
    int64_t kinds[] = {1, 0, 0, 1}, same[] = {1, 1, 1, 1};
    assert_float_equal(xt_auroc_exact(tied, kinds, 4), 3.5 / 4, 1e-12);
    assert_true(isnan(xt_auroc_exact(tied, same, 4)));
    assert_int_equal(xt_finish(), 0);
}

static void log_fits(int b) {
    int64_t y[N];
    for (int i = 0; i < N; i++) y[i] = i % 7 ? label[b * N + i] : -100;
    xt_log_metric("r2", xt_r2(xt_mul_scalar(xt_from_array(probability + b * N, XT_F32, N), 3),
                              xt_from_array(target + b * N, XT_F32, N)));
    xt_log_metric("perplexity", xt_perplexity(out_of(b), xt_from_array(y, XT_I64, N)));
    xt_log_metric("perplexity/weighted",
                  xt_perplexity(out_of(b), xt_from_array(y, XT_I64, N), .weight = xt_arange(1, C + 1, 1, XT_F32)));
}

static void fits(void **state) {
    (void)state;
    fill();
    run(log_fits);
    double sum = 0, squares = 0, error = 0, nll = 0, n = 0, heavy = 0, weights = 0;
    for (int i = 0; i < ALL; i++) {
        double d = 3 * probability[i] - target[i], exps = 0;
        sum += target[i];
        squares += (double)target[i] * target[i];
        error += d * d;
        if (i % N % 7 == 0) continue;
        for (int k = 0; k < C; k++) exps += exp(scores[i][k]);
        nll += log(exps) - scores[i][label[i]];
        heavy += (double)(label[i] + 1) * (log(exps) - scores[i][label[i]]);
        weights += (double)(label[i] + 1);
        n++;
    }
    assert_float_equal(log_latest("perplexity/weighted"), exp(heavy / weights), 1e-5);
    assert_float_equal(log_latest("r2"), 1 - error / (squares - sum * sum / ALL), 1e-4);
    assert_float_equal(log_latest("perplexity"), exp(nll / n), 1e-5);
    assert_int_equal(xt_finish(), 0);
}

/* Scores of few values, so that nearly all samples have equal ones; three outputs, of which one has a constant target
 * that is missed, and one a constant that is met. */
static float coarse[ALL][C], outs[ALL][4], targets[ALL][4];
static void log_ties(int b) {
    xt_tensor out = xt_from_array(coarse + b * N, XT_F32, N, C);
    xt_log_metric("top1", xt_topk_accuracy(out, labels_of(b), 1));
    xt_log_metric("top3", xt_topk_accuracy(out, labels_of(b), 3));
    xt_log_metric("acc", xt_accuracy(out, labels_of(b)));
    xt_log_metric("r2/outputs",
                  xt_r2(xt_from_array(outs + b * N, XT_F32, N, 4), xt_from_array(targets + b * N, XT_F32, N, 4)));
}
static void ties_and_outputs(void **state) {
    (void)state;
    fill();
    double first = 0, third = 0, mean = 0;
    for (int i = 0; i < ALL; i++) {
        int before = 0;
        for (int k = 0; k < C; k++) coarse[i][k] = floorf(2 * scores[i][k]);
        for (int k = 0; k < C; k++)
            before += coarse[i][k] > coarse[i][label[i]] || (coarse[i][k] == coarse[i][label[i]] && k < label[i]);
        first += before < 1;
        third += before < 3;
        for (int k = 0; k < 4; k++)
            outs[i][k] = (targets[i][k] = k < 2 ? scores[i][k] * 3 : 7) + (k == 3 ? 0 : 0.1f * scores[i][4]);
    }
    run(log_ties);
    for (int k = 0; k < 2; k++) {
        double sum = 0, squares = 0, error = 0;
        for (int i = 0; i < ALL; i++) {
            sum += targets[i][k];
            squares += (double)targets[i][k] * targets[i][k];
            error += pow((double)outs[i][k] - targets[i][k], 2);
        }
        mean += (1 - error / (squares - sum * sum / ALL)) / 4;
    }
    assert_float_equal(log_latest("top1"), first / ALL, 1e-6);
    assert_float_equal(log_latest("top1"), log_latest("acc"), 1e-9);
    assert_float_equal(log_latest("top3"), third / ALL, 1e-6);
    assert_float_equal(log_latest("r2/outputs"), mean + 0.25, 1e-4); /* 0 for the missed constant, 1 for the other */
    assert_int_equal(xt_finish(), 0);
}

static void running(void **state) {
    (void)state;
    xt_running *r = xt_running_new(4);
    int64_t compiles = xt_counter("compiles");
    xt_tensor seen[11];
    for (int i = 0; i < 11; i++) {
        float v = (float)(i * i);
        seen[i] = xt_keep(xt_running_mean(r, xt_from_array(&v, XT_F32, 1)));
        assert_true(xt_mark_step());
    }
    assert_int_equal(xt_counter("compiles") - compiles, 1);
    for (int i = 0; i < 11; i++) {
        double want = 0;
        int from = i < 3 ? 0 : i - 3;
        for (int k = from; k <= i; k++) want += k * k / (double)(i - from + 1);
        assert_float_equal(xt_item(seen[i]), want, 1e-4);
        xt_drop(seen[i]);
    }
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("metric"), 0);
}

static void refused(const char *part) {
    const char *message = xt_status_message(xt_error());
    if (!strstr(message, part)) fail_msg("\"%s\" does not hold \"%s\"", message, part);
    xt_clear_error();
    xt_mark_step();
    xt_clear_error();
}

static void refusals(void **state) {
    (void)state;
    fill();
    xt_log_metric("a", xt_confusion_matrix(out_of(0), xt_from_array(probability, XT_F32, N)));
    refused("xt_confusion_matrix: out has 2 dims");
    xt_log_metric("a", xt_auroc(out_of(0), labels_of(0), .thresholds = 1));
    refused("xt_auroc.thresholds = 1 is out of range");
    xt_log_metric("a", xt_confusion_matrix(out_of(0), labels_of(0)));
    xt_log_metric("a", xt_f1_avg(out_of(0), labels_of(0), XT_MICRO));
    refused("logged at");
    assert_null(xt_running_new(0));
    refused("a window of 0 values");
    assert_int_equal(xt_finish(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(merged),           cmocka_unit_test(classes),
                                       cmocka_unit_test(curves),           cmocka_unit_test(fits),
                                       cmocka_unit_test(ties_and_outputs), cmocka_unit_test(running),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
