/* Plans of several cases: remedies for a program that does not fit, the largest batch, the best mesh. Each figure is a
 * compilation. */
#include "cli/plan.h"

#include <stdlib.h>
#include <string.h>

/* A row for the case as it is now: quick, and with the mesh's text in the row itself. */
static void add(plan_row *rows, int max, int *n, const plan_case *c, const char *name) {
    if (*n >= max) return;
    plan_row *r = &rows[(*n)++];
    *r = (plan_row){.c = *c, .batch = plan_case_batch(c)};
    r->c.quick = true;
    r->c.dump = NULL;
    snprintf(r->name, sizeof r->name, "%s", name);
    if (!c->mesh) return;
    snprintf(r->mesh, sizeof r->mesh, "%s", c->mesh);
    r->c.mesh = r->mesh;
}

/* --- remedies --- */
/* Without a mesh given: the same batch, parameters and state divided over all devices of the topology. */
static void add_sharding(const plan_case *base, plan_row *out, int max, int *n) {
    xt_topology t;
    char mesh[32], name[96];
    plan_case c = *base;
    xt_status s = xt_topology_find(base->topology, &t);
    bool divides = !s && t.devices > 1 && plan_case_batch(base) % t.devices == 0;
    xt_status_free(s);
    if (!divides) return;
    snprintf(mesh, sizeof mesh, "data=%d", t.devices);
    c.mesh = mesh;
    c.fsdp = true;
    c.batch = plan_case_batch(base) / t.devices;
    snprintf(name, sizeof name, "divided over %d devices (--mesh %s --fsdp --batch %lld)", t.devices, mesh,
             (long long)c.batch);
    add(out, max, n, &c, name);
}

/* Whether a shape's text, "8x12x1024x1024", ends in T x T: of these positions, or of any in the product of batches.
 * Three dims alone would be [B,T,C] of a model as wide as its samples are long. */
static bool is_square(const xt_plan_row *x, int64_t positions) {
    const char *last = strrchr(x->shape, 'x'), *before = last;
    int dims = 1;
    for (const char *c = x->shape; *c; c++) dims += *c == 'x';
    if (dims < 4 || x->kind != XT_PLAN_ACTIVATIONS) return false;
    while (before > x->shape && before[-1] != 'x') before--;
    int64_t t = strtoll(last + 1, NULL, 10);
    if (before == x->shape || strtoll(before, NULL, 10) != t || t < 2) return false;
    return positions ? t == positions : strcmp(x->op, "dot_general") == 0;
}

const xt_plan_row *plan_scores(const xt_plan_report *r, int64_t positions) {
    const xt_plan_row *best = NULL;
    for (int i = 0; i < r->n_rows; i++)
        if (is_square(&r->rows[i], positions) && (!best || r->rows[i].bytes > best->bytes)) best = &r->rows[i];
    return best;
}

int64_t plan_tile(int64_t positions) {
    for (int64_t tile = 128; tile > 1; tile--)
        if (tile < positions && positions % tile == 0) return tile;
    return 0;
}

/* Scores of all pairs of positions that lie in memory: fewer at a time. */
static void add_tiles(const plan_case *base, const xt_plan_report *r, plan_row *out, int max, int *n) {
    plan_case c = *base;
    char name[96];
    int64_t positions = plan_case_positions(base);
    if (!c.model->tiled || c.attention_tile || !plan_scores(r, positions)) return;
    c.attention_tile = plan_tile(positions);
    if (!c.attention_tile) {
        cli_fprintf(
            stderr,
            "xtrain plan: attention keeps scores of all pairs of %lld positions, which no tile divides: a --seq "
            "that is a multiple of 128 can be tiled (--attention-tile 128)\n",
            (long long)positions);
        return;
    }
    snprintf(name, sizeof name, "tiled attention (--attention-tile %lld)", (long long)c.attention_tile);
    add(out, max, n, &c, name);
}

int plan_remedies(const plan_case *base, const xt_plan_report *r, plan_row *out, int max) {
    plan_case c = *base;
    int n = 0;
    char name[96];
    if (!c.model) {
        c.donate = true;
        if (!base->donate) add(out, max, &n, &c, "donate inputs to results of their type");
        plan_rows_run(out, n, base->jobs);
        return n;
    }
    if (c.model->checkpointed && !c.checkpoint) {
        c.checkpoint = true;
        add(out, max, &n, &c, "activation checkpointing per block");
        c.checkpoint = base->checkpoint;
    }
    add_tiles(base, r, out, max, &n);
    for (int64_t k = 2; k <= 8; k *= 2) {
        if (base->accumulate >= k || plan_case_batch(base) % k) continue;
        c.accumulate = k;
        snprintf(name, sizeof name, "gradient accumulation %lld (micro-batch %lld)", (long long)k,
                 (long long)(plan_case_batch(base) / k));
        add(out, max, &n, &c, name);
    }
    c.accumulate = base->accumulate;
    if (!c.bf16) {
        c.bf16 = true;
        add(out, max, &n, &c, "bf16 autocast");
        if (c.model->checkpointed && !base->checkpoint) {
            c.checkpoint = true;
            add(out, max, &n, &c, "bf16 and checkpointing");
            c.checkpoint = base->checkpoint;
        }
        c.bf16 = base->bf16;
    }
    if (c.mesh && !c.fsdp && strstr(c.mesh, "data")) {
        c.fsdp = true;
        add(out, max, &n, &c, "parameters and optimizer state divided over data (--fsdp)");
        c.fsdp = base->fsdp;
    }
    if (!c.offload) {
        c.offload = true;
        add(out, max, &n, &c, "optimizer state in host memory (--offload)");
        c.offload = base->offload;
    }
    if (!c.mesh) add_sharding(base, out, max, &n);
    for (int64_t b = plan_case_batch(base) / 2, k = 0; b >= 1 && k < 2; b /= 2, k++) {
        c.batch = b;
        snprintf(name, sizeof name, "batch %lld", (long long)b);
        add(out, max, &n, &c, name);
    }
    plan_rows_run(out, n, base->jobs);
    return n;
}

/* --- the largest batch --- */
static xt_status fits(plan_case *c, int64_t batch, bool *out_fits, int64_t *out_peak) {
    xt_plan *p = NULL;
    char a[32];
    c->batch = batch;
    xt_status s = plan_case_run(c, &p);
    if (s) return s;
    *out_fits = xt_plan_get(p)->fits;
    *out_peak = xt_plan_get(p)->peak_bytes;
    cli_fprintf(stderr, "xtrain plan: batch %lld: %s, %s\n", (long long)batch, plan_bytes(*out_peak, a, sizeof a),
                *out_fits ? "fits" : "does not fit");
    xt_plan_free(p);
    return NULL;
}

int plan_max_batch(const plan_case *base, bool json) {
    plan_case c = *base;
    int64_t unit = c.accumulate > 1 ? c.accumulate : 1, good = 0, bad = 0, peak = 0, good_peak = 0;
    bool ok = false;
    c.quick = true;
    c.dump = NULL;
    for (int64_t b = unit; b <= unit << 20; b *= 2) { /* doubling, then halving the gap */
        xt_status s = fits(&c, b, &ok, &peak);
        if (s) return cli_fail_status("plan", s);
        if (!ok) {
            bad = b;
            break;
        }
        good = b;
        good_peak = peak;
    }
    while (bad && bad - good > unit && bad - good > good / 32) {
        int64_t mid = (good + (bad - good) / 2) / unit * unit;
        if (mid <= good || mid >= bad) break;
        xt_status s = fits(&c, mid, &ok, &peak);
        if (s) return cli_fail_status("plan", s);
        if (ok)
            good = mid, good_peak = peak;
        else
            bad = mid;
    }
    char a[32];
    if (json)
        cli_printf("{\"max_batch\": %lld, \"peak_bytes\": %lld, \"first_that_does_not_fit\": %lld}\n", (long long)good,
                   (long long)good_peak, (long long)bad);
    else if (good)
        cli_printf("the largest batch of %s that fits %s: %lld (%s); %lld does not\n", c.model->name, c.topology,
                   (long long)good, plan_bytes(good_peak, a, sizeof a), (long long)bad);
    else
        cli_printf("not even a batch of %lld fits %s\n", (long long)unit, c.topology);
    return 0;
}

/* --- meshes --- */
static int better(const void *a, const void *b) { /* what fits first, then the faster, then the smaller */
    const plan_row *x = a, *y = b;
    if (x->failed != y->failed) return x->failed - y->failed;
    if (x->fits != y->fits) return y->fits - x->fits;
    if (x->step_ms != y->step_ms) return x->step_ms < y->step_ms ? -1 : 1;
    return x->peak_bytes < y->peak_bytes ? -1 : x->peak_bytes > y->peak_bytes;
}

int plan_mesh_auto(const plan_case *base, bool json) {
    plan_case c = *base;
    xt_topology t;
    plan_row *rows = calloc(PLAN_MOST_ROWS, sizeof *rows);
    int n = 0;
    xt_status s = rows ? xt_topology_find(c.topology, &t) : NULL;
    if (!rows || s) {
        free(rows);
        return s ? cli_fail_status("plan", s) : cli_fail("plan", "out of memory");
    }
    int64_t global = plan_case_batch(base); /* the whole batch, the same for all meshes */
    bool tensor = c.model->tokens;
    for (int m = 1; m <= t.devices; m *= 2) {
        if (t.devices % m || (m > 1 && !tensor) || global % (t.devices / m)) continue;
        for (int f = 0; f < 2; f++) {
            char mesh[64], name[128];
            int d = t.devices / m;
            if (f && d == 1) continue;
            if (m == 1)
                snprintf(mesh, sizeof mesh, "data=%d", d);
            else if (d == 1)
                snprintf(mesh, sizeof mesh, "model=%d", m);
            else
                snprintf(mesh, sizeof mesh, "data=%d,model=%d", d, m);
            c.mesh = mesh;
            c.fsdp = f;
            c.batch = global / d;
            snprintf(name, sizeof name, "--mesh %s%s --batch %lld", mesh, f ? " --fsdp" : "", (long long)c.batch);
            add(rows, PLAN_MOST_ROWS, &n, &c, name);
        }
    }
    plan_rows_run(rows, n, base->jobs);
    qsort(rows, (size_t)n, sizeof *rows, better);
    if (n) plan_print_rows("meshes", rows, n, json);
    int code =
        n ? 0
          : cli_fail("plan", "no mesh of the %d devices of %s divides a batch of %lld; give --batch a multiple of %d",
                     t.devices, c.topology, (long long)global, t.devices);
    free(rows);
    return code;
}
