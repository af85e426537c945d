/* The formulas, and nothing that measures. */
#include "bench/scale_sim/model.h"

#include <math.h>
#include <stdio.h>

static double log2_up(int n) {
    return n > 1 ? ceil(log2(n)) : 0;
}

/* --- between n hosts, S bytes on each --- */
static double ring(const scale_costs *c, int n, double s) {
    return 2 * (n - 1) * c->latency + 2.0 * (n - 1) / n * s * c->per_byte;
}

static double doubling(const scale_costs *c, int n, double s) {
    return log2_up(n) * (c->latency + s * c->per_byte);
}

/* Rabenseifner's: halving for the reduce-scatter, doubling for the all-gather. */
static double halving(const scale_costs *c, int n, double s) {
    return 2 * log2_up(n) * c->latency + 2.0 * (n - 1) / n * s * c->per_byte;
}

static double best(const scale_costs *c, int n, double s) {
    return fmin(doubling(c, n, s), fmin(ring(c, n, s), halving(c, n, s)));
}

/* A half of it: of S bytes in all each host gets its part, or all the parts of all. */
static double half(const scale_costs *c, int n, double s) {
    return fmin(n - 1, log2_up(n)) * c->latency + (double)(n - 1) / n * s * c->per_byte;
}

/* --- inside a host: what k ranks do with S bytes. Two ranks fold half of them each and take the other half. --- */
static double inside(const scale_costs *c, int k, double s) {
    return k < 2 ? 0 : log2_up(k) * c->local_step + 2.0 * (k - 1) / k * s * c->reduced_byte;
}

static double by_hosts(const scale_costs *c, const scale_case *at, double s) {
    return inside(c, at->local_ranks, s) + best(c, at->hosts, s);
}

static double parts_by_hosts(const scale_costs *c, const scale_case *at, double s) {
    return inside(c, at->local_ranks, s) / 2 + half(c, at->hosts, s);
}

/* --- one machine plays all hosts --- */

/* The work of all ranks on few cores: every message costs a core on either side, and so do its bytes; inside hosts
 * every rank adds up its part. Not less than with a core for each. */
static double shared(const scale_costs *c, const scale_case *at, int cores, double s) {
    double ranks = (double)at->hosts * at->local_ranks, share = fmax(1, ranks / cores);
    double hosts_share = fmax(1, (double)at->hosts / cores);
    return inside(c, at->local_ranks, s) * share + best(c, at->hosts, s) * hosts_share;
}

void scale_compare(const scale_costs *c, const scale_case *at, int cores, double measured, size_t bytes, bool first) {
    double told = shared(c, at, cores, (double)bytes);
    if (first)
        printf("\nall-reduce of %.0f MB on hosts that share %d cores: the model beside what was measured\n"
               " hosts  ranks     model ms  measured ms    error\n",
               (double)bytes / 1048576, cores);
    printf("%6d %6d %12.3f %12.3f   %+5.0f %%\n", at->hosts, at->hosts * at->local_ranks, told * 1e3, measured * 1e3,
           (told / measured - 1) * 100);
}

/* --- training --- */
typedef struct job {
    const char *name;
    double parameters; /* numbers of 4 bytes */
    int layers;
    double compute; /* seconds of a step on one rank */
} job;

/* gpt2-mini (6 layers of 384, 256 bytes) and GPT-2 of 124 million, at compute times that are round: the share of the
 * network is what the model is asked for. */
static const job jobs[] = {
    {"gpt2-mini, 100 ms", 10.8e6, 6, 0.1},
    {"GPT-2 124M, 100 ms", 124.4e6, 12, 0.1},
    {"GPT-2 124M, 1 s", 124.4e6, 12, 1},
};

/* Gradients start as they are complete, in a bucket a layer, over the two thirds of a step that go backward; the last
 * bucket has nothing to hide behind. */
static double ddp(const scale_costs *c, const scale_case *at, const job *j) {
    double bucket = by_hosts(c, at, j->parameters * 4 / j->layers), back = j->compute * 2 / 3;
    return j->compute - back + fmax(back, (j->layers - 1) * bucket) + bucket;
}

/* Each layer's parameters are gathered before it is used, forward and backward, and its gradients summed into parts:
 * all but the first gather and the last sum beside another layer's work. */
static double fsdp(const scale_costs *c, const scale_case *at, const job *j) {
    double layer = parts_by_hosts(c, at, j->parameters * 4 / j->layers), back = j->compute * 2 / 3;
    double ahead = fmax(j->compute - back, (j->layers - 1) * layer), behind = fmax(back, (2 * j->layers - 1) * layer);
    return layer + ahead + behind + layer;
}

void scale_print(const scale_costs *c, const scale_case *at) {
    static const double sizes[] = {4, 65536, 1048576, 64 << 20};
    int n = at->hosts;
    printf("\n%d hosts of %d ranks; alpha %.1f us, beta %.3g ns a byte (%.2f GB/s), inside a host %.1f us a step and "
           "%.3g ns a byte\n",
           n, at->local_ranks, c->latency * 1e6, c->per_byte * 1e9, 1e-9 / c->per_byte, c->local_step * 1e6,
           c->reduced_byte * 1e9);
    printf("%12s  %10s  %10s  %10s  %12s  %14s  %10s\n", "bytes, ms", "ring", "doubling", "halving", "hierarchical",
           "reduce-scatter", "all-gather");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        double s = sizes[i], part = parts_by_hosts(c, at, s) * 1e3;
        printf("%12.0f  %10.3f  %10.3f  %10.3f  %12.3f  %14.3f  %10.3f\n", s, ring(c, n, s) * 1e3,
               doubling(c, n, s) * 1e3, halving(c, n, s) * 1e3, by_hosts(c, at, s) * 1e3, part, part);
    }
    printf("%24s  %10s  %10s\n", "a step, ms", "ddp", "fsdp");
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++)
        printf("%24s  %10.1f  %10.1f\n", jobs[i].name, ddp(c, at, &jobs[i]) * 1e3, fsdp(c, at, &jobs[i]) * 1e3);
}
