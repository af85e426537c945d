/* What the files of `xtrain bench` share. */
#ifndef XTRAIN_CLI_BENCH_H
#define XTRAIN_CLI_BENCH_H

#include "cli/cli.h"
#include "cli/roofline.h"
#include "models/models.h"

typedef struct bench_options {
    const char *model, *precision, *device, *sweep;
    int64_t batch, steps, hottest;
    bool json, loader, roofline;
    cli_diag diag;
    model_options of_model;
} bench_options;

typedef struct bench_result {
    double median_ms, p99_ms, min_ms, first_ms, compile_ms, loss_first, loss_last, rss_mib, before_ms;
    int64_t compiles, batch, tokens, steps;
} bench_result;

/* One thunk of the compiled step, by its fastest run. */
typedef struct bench_thunk {
    double us, share, gbs, gflops, percent; /* share: of the sum of all fastest runs; percent: of the roofline */
    char kernel[32], op[48], what[160];
} bench_thunk;
typedef struct bench_thunks {
    bench_thunk rows[24];
    int n;
    double total_ms; /* the fastest run of every thunk added up */
    int64_t thunks;
} bench_thunks;

/* bench_sweep.c. Runs the command again for each batch size of o->sweep; 0, or the exit code after a message. */
int bench_sweep(int argc, char **argv, const bench_options *o);

/* bench_hot.c. Runs this program again with the same arguments and the plugin's profile switched on, reads the profile,
 * and sets each thunk against the roofline. 0, or the exit code after a message. */
int bench_hottest(int argc, char **argv, const roofline *roof, bool bf16, bench_thunks *out);
void bench_hot_print(const bench_thunks *t, int64_t most);
void bench_hot_print_json(const bench_thunks *t, int64_t most); /* an array */

#endif
