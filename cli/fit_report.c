/* After a fit on digits: accuracy by digit, what was mistaken for what, and a picture of the mistakes. */
#include "cli/fit.h"

#include <xtrain/plot.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 200, SHOWN = 40, PIXELS = 28 * 28 };

typedef struct tally {
    int64_t seen[10], right[10], taken_for[10][10];
    float *pictures; /* SHOWN misclassified digits */
    char labels[SHOWN][16];
    int shown;
} tally;

static void count(tally *t, xt_dataset *ds, int64_t i, int64_t label, int64_t guess) {
    t->seen[label]++;
    t->taken_for[label][guess]++;
    if (label == guess) {
        t->right[label]++;
        return;
    }
    if (t->shown == SHOWN) return;
    float *dst = t->pictures + (size_t)t->shown * PIXELS;
    int64_t y;
    xt_status s = xt_dataset_get(ds, i, dst, &y);
    if (s) {
        xt_status_free(s);
        return;
    }
    for (int k = 0; k < PIXELS; k++) dst[k] = dst[k] * 0.3081f + 0.1307f;
    snprintf(t->labels[t->shown++], sizeof t->labels[0], "%d as %d", (int)label, (int)guess);
}

/* One batch of pictures through the network: guesses[n]. */
static bool guess(xt_module *net, const float *x, int64_t n, int64_t *guesses) {
    xt_tensor out = xt_keep(xt_argmax(xt_forward(net, xt_from_array(x, XT_F32, n, 1, 28, 28)), 1));
    bool ok = xt_mark_step() && xt_read(out, guesses, (size_t)n * sizeof *guesses);
    xt_drop(out);
    return ok;
}

static bool run_all(xt_module *net, xt_dataset *ds, tally *t) {
    float *x = malloc(sizeof(float) * BATCH * PIXELS);
    int64_t y[BATCH], guesses[BATCH], n = xt_dataset_count(ds);
    bool ok = x != NULL;
    for (int64_t first = 0; first < n && ok; first += BATCH) {
        int64_t size = n - first < BATCH ? n - first : BATCH;
        for (int64_t k = 0; k < size && ok; k++) {
            xt_status s = xt_dataset_get(ds, first + k, x + k * PIXELS, &y[k]);
            ok = s == NULL;
            xt_status_free(s);
        }
        /* the last batch is padded: one program */
        for (int64_t k = size; k < BATCH; k++) memset(x + k * PIXELS, 0, sizeof(float) * PIXELS);
        ok = ok && guess(net, x, BATCH, guesses);
        for (int64_t k = 0; k < size && ok; k++) count(t, ds, first + k, y[k], guesses[k]);
    }
    free(x);
    return ok;
}

static void print_table(const tally *t, double accuracy) {
    cli_printf("\ndigit   right      of   accuracy   mostly taken for\n");
    for (int d = 0; d < 10; d++) {
        int worst = d ? 0 : 1;
        for (int g = 0; g < 10; g++)
            if (g != d && t->taken_for[d][g] > t->taken_for[d][worst]) worst = g;
        cli_printf("    %d  %6lld  %6lld    %6.2f %%", d, (long long)t->right[d], (long long)t->seen[d],
                   t->seen[d] ? 100.0 * (double)t->right[d] / (double)t->seen[d] : 0);
        if (t->taken_for[d][worst]) cli_printf("   %d (%lld)", worst, (long long)t->taken_for[d][worst]);
        cli_printf("\n");
    }
    cli_printf("  all test accuracy   %6.2f %%\n", 100 * accuracy);
}

double fit_report_digits(xt_module *net, xt_dataset *test, const char *dir, bool quiet) {
    tally t = {.pictures = malloc(sizeof(float) * SHOWN * PIXELS)};
    if (!t.pictures) return -1;
    xt_eval_begin(net);
    xt_no_grad_begin();
    bool ok = run_all(net, test, &t);
    xt_no_grad_end();
    xt_eval_end(net);
    int64_t seen = 0, right = 0;
    for (int d = 0; d < 10; d++) {
        seen += t.seen[d];
        right += t.right[d];
    }
    double accuracy = ok && seen ? (double)right / (double)seen : -1;
    if (ok && !quiet) print_table(&t, accuracy);
    if (ok && dir && t.shown) {
        char path[1024];
        const char *labels[SHOWN];
        for (int k = 0; k < t.shown; k++) labels[k] = t.labels[k];
        snprintf(path, sizeof path, "%s/misclassified.png", dir);
        xt_status s = xt_plot_images(path, "misclassified test digits", t.shown, 28, 28, t.pictures, labels);
        if (s)
            cli_fail("fit", "%s", xt_status_message(s));
        else if (!quiet)
            cli_printf("pictures: %s/loss.png, %s\n", dir, path);
        xt_status_free(s);
    }
    free(t.pictures);
    return accuracy;
}
