/* Plans of several cases: remedies for a program that does not fit, the largest batch, the best mesh, tables over options. Each figure is a compilation. */
#include "cli/plan.h"

#include <stdlib.h>
#include <string.h>

/* --- remedies ----------------------------------------------------------------------------------------------------------------------------- */
static void try_case(const plan_case *c, const char *name, plan_remedy *out) {
    xt_plan *p = NULL;
    xt_status s = plan_case_run(c, &p);
    snprintf(out->name, sizeof out->name, "%s", name);
    fprintf(stderr, "xtrain plan: %s\n", name); /* each takes seconds to minutes */
    if (s) {
        out->failed = true;
        snprintf(out->why, sizeof out->why, "%s", xt_status_message(s));
        xt_status_free(s);
        return;
    }
    const xt_plan_report *r = xt_plan_get(p);
    out->peak_bytes = r->peak_bytes;
    out->step_ms = r->step_ms * (double)(c->accumulate > 1 ? c->accumulate : 1); /* the plan is of one micro-batch */
    out->fits = r->fits;
    xt_plan_free(p);
}

/* Without a mesh given: the same batch, parameters and state divided over all devices of the topology. */
static int try_sharding(const plan_case *base, plan_remedy *out) {
    xt_topology t;
    char mesh[32], name[96];
    plan_case c = *base;
    xt_status s = xt_topology_find(base->topology, &t);
    bool divides = !s && t.devices > 1 && plan_case_batch(base) % t.devices == 0;
    xt_status_free(s);
    if (!divides) return 0;
    snprintf(mesh, sizeof mesh, "data=%d", t.devices);
    c.mesh = mesh;
    c.fsdp = true;
    c.batch = plan_case_batch(base) / t.devices;
    c.quick = true;
    c.dump = NULL;
    snprintf(name, sizeof name, "divided over %d devices (--mesh %s --fsdp --batch %lld)", t.devices, mesh, (long long)c.batch);
    try_case(&c, name, out);
    return 1;
}

int plan_remedies(const plan_case *base, plan_remedy *out, int max) {
    plan_case c = *base;
    int n = 0;
    char name[96];
    c.quick = true;
    c.dump = NULL;
    if (!c.model) {
        c.donate = true;
        if (!base->donate && n < max) try_case(&c, "donate inputs to results of their type", &out[n++]);
        return n;
    }
    if (c.model->checkpointed && !c.checkpoint && n < max) {
        c.checkpoint = true;
        try_case(&c, "activation checkpointing per block", &out[n++]);
        c.checkpoint = base->checkpoint;
    }
    for (int64_t k = 2; k <= 8 && n < max; k *= 2) {
        if (base->accumulate >= k || plan_case_batch(base) % k) continue;
        c.accumulate = k;
        snprintf(name, sizeof name, "gradient accumulation %lld (micro-batch %lld)", (long long)k, (long long)(plan_case_batch(base) / k));
        try_case(&c, name, &out[n++]);
    }
    c.accumulate = base->accumulate;
    if (!c.bf16 && n < max) {
        c.bf16 = true;
        try_case(&c, "bf16 autocast", &out[n++]);
        if (c.model->checkpointed && !base->checkpoint && n < max) {
            c.checkpoint = true;
            try_case(&c, "bf16 and checkpointing", &out[n++]);
            c.checkpoint = base->checkpoint;
        }
        c.bf16 = base->bf16;
    }
    if (c.mesh && !c.fsdp && strstr(c.mesh, "data") && n < max) {
        c.fsdp = true;
        snprintf(name, sizeof name, "parameters and optimizer state divided over data (--fsdp)");
        try_case(&c, name, &out[n++]);
        c.fsdp = base->fsdp;
    }
    if (!c.offload && n < max) {
        c.offload = true;
        try_case(&c, "--offload: state on the host (time without transfers)", &out[n++]);
        c.offload = base->offload;
    }
    if (!c.mesh && n < max) n += try_sharding(base, &out[n]);
    for (int64_t b = plan_case_batch(base) / 2, k = 0; b >= 1 && k < 2 && n < max; b /= 2, k++) {
        c.batch = b;
        snprintf(name, sizeof name, "batch %lld", (long long)b);
        try_case(&c, name, &out[n++]);
    }
    return n;
}

/* --- the largest batch ---------------------------------------------------------------------------------------------------------------------- */
static xt_status fits(plan_case *c, int64_t batch, bool *out_fits, int64_t *out_peak) {
    xt_plan *p = NULL;
    char a[32];
    c->batch = batch;
    xt_status s = plan_case_run(c, &p);
    if (s) return s;
    *out_fits = xt_plan_get(p)->fits;
    *out_peak = xt_plan_get(p)->peak_bytes;
    fprintf(stderr, "xtrain plan: batch %lld: %s, %s\n", (long long)batch, plan_bytes(*out_peak, a, sizeof a), *out_fits ? "fits" : "does not fit");
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
        if (ok) good = mid, good_peak = peak;
        else bad = mid;
    }
    char a[32];
    if (json) printf("{\"max_batch\": %lld, \"peak_bytes\": %lld, \"first_that_does_not_fit\": %lld}\n", (long long)good, (long long)good_peak, (long long)bad);
    else if (good) printf("the largest batch of %s that fits %s: %lld (%s); %lld does not\n", c.model->name, c.topology, (long long)good, plan_bytes(good_peak, a, sizeof a), (long long)bad);
    else printf("not even a batch of %lld fits %s\n", (long long)unit, c.topology);
    return 0;
}

/* --- tables ------------------------------------------------------------------------------------------------------------------------------------ */
typedef struct line {
    char name[256];
    bool fits, failed;
    int64_t peak, moved;
    double step_ms;
    int64_t batch;
    char why[200];
} line;

static void run_line(const plan_case *c, const char *name, line *l) {
    xt_plan *p = NULL;
    xt_status s = plan_case_run(c, &p);
    snprintf(l->name, sizeof l->name, "%s", name);
    fprintf(stderr, "xtrain plan: %s\n", name);
    l->batch = plan_case_batch(c);
    if (s) {
        l->failed = true;
        snprintf(l->why, sizeof l->why, "%s", xt_status_message(s));
        xt_status_free(s);
        return;
    }
    const xt_plan_report *r = xt_plan_get(p);
    l->fits = r->fits;
    l->peak = r->peak_bytes;
    l->step_ms = r->step_ms * (double)(c->accumulate > 1 ? c->accumulate : 1);
    for (int i = 0; i < r->n_collectives; i++) l->moved += r->collectives[i].bytes;
    xt_plan_free(p);
}

static void print_lines(const char *title, const line *l, int n, bool json) {
    char a[32], b[32];
    if (json) {
        printf("{\"%s\": [", title);
        for (int i = 0; i < n; i++) {
            printf("%s{\"name\": ", i ? ", " : "");
            plan_json_string(stdout, l[i].name);
            if (l[i].failed) {
                printf(", \"error\": ");
                plan_json_string(stdout, l[i].why);
                printf("}");
            } else
                printf(", \"batch\": %lld, \"peak_bytes\": %lld, \"fits\": %s, \"step_ms_estimate\": %.6g, \"collective_bytes\": %lld}", (long long)l[i].batch, (long long)l[i].peak, l[i].fits ? "true" : "false", l[i].step_ms, (long long)l[i].moved);
        }
        printf("]}\n");
        return;
    }
    printf("%-52s %12s %14s %14s  %s\n", title, "peak", "step estimate", "collectives", "fits");
    for (int i = 0; i < n; i++) {
        if (l[i].failed) printf("%-52s %s\n", l[i].name, l[i].why);
        else printf("%-52s %12s %11.4g ms %14s  %s\n", l[i].name, plan_bytes(l[i].peak, a, sizeof a), l[i].step_ms, plan_bytes(l[i].moved, b, sizeof b), l[i].fits ? "yes" : "no");
    }
}

static int better(const void *a, const void *b) { /* what fits first, then the faster, then the smaller */
    const line *x = a, *y = b;
    if (x->failed != y->failed) return x->failed - y->failed;
    if (x->fits != y->fits) return y->fits - x->fits;
    if (x->step_ms != y->step_ms) return x->step_ms < y->step_ms ? -1 : 1;
    return x->peak < y->peak ? -1 : x->peak > y->peak;
}

enum { MOST_LINES = 64 };

int plan_mesh_auto(const plan_case *base, bool json) {
    plan_case c = *base;
    xt_topology t;
    line *l = calloc(MOST_LINES, sizeof *l);
    int n = 0;
    xt_status s = l ? xt_topology_find(c.topology, &t) : NULL;
    if (!l || s) {
        free(l);
        return s ? cli_fail_status("plan", s) : cli_fail("plan", "out of memory");
    }
    int64_t global = plan_case_batch(base); /* the whole batch, the same for all meshes */
    bool tensor = c.model->tokens;
    c.quick = true;
    c.dump = NULL;
    for (int m = 1; m <= t.devices && n + 2 <= MOST_LINES; m *= 2) {
        if (t.devices % m || (m > 1 && !tensor) || global % (t.devices / m)) continue;
        for (int f = 0; f < 2; f++) {
            char mesh[64], name[128];
            int d = t.devices / m;
            if (f && d == 1) continue;
            if (m == 1) snprintf(mesh, sizeof mesh, "data=%d", d);
            else if (d == 1) snprintf(mesh, sizeof mesh, "model=%d", m);
            else snprintf(mesh, sizeof mesh, "data=%d,model=%d", d, m);
            c.mesh = mesh;
            c.fsdp = f;
            c.batch = global / d;
            snprintf(name, sizeof name, "--mesh %s%s --batch %lld", mesh, f ? " --fsdp" : "", (long long)c.batch);
            run_line(&c, name, &l[n++]);
        }
    }
    qsort(l, (size_t)n, sizeof *l, better);
    if (n) print_lines("meshes", l, n, json);
    int code = n ? 0 : cli_fail("plan", "no mesh of the %d devices of %s divides a batch of %lld; give --batch a multiple of %d", t.devices, c.topology, (long long)global, t.devices);
    free(l);
    return code;
}

/* "batch=8:64,topology=v4:2x2x1,v4:2x2x2,precision=fp32,bf16": a word with '=' begins a key, the others are more values of it; A:B doubles from A to B. */
typedef struct sweep_key {
    const char *name, *values[32];
    int n;
} sweep_key;

static int64_t range_end(const char *v, int64_t *from) {
    char *end;
    *from = strtoll(v, &end, 10);
    if (*end != ':' || end == v) return 0;
    int64_t to = strtoll(end + 1, &end, 10);
    return *end ? 0 : to;
}

static bool set_key(plan_case *c, const char *key, const char *v) {
    static const char *const keys[] = {"batch", "topology", "precision", "seq", "accumulate", "mesh"};
    int k = 0;
    while (k < 6 && strcmp(keys[k], key) != 0) k++;
    switch (k) {
    case 0: return (c->batch = strtoll(v, NULL, 10)) > 0;
    case 1: c->topology = v; return true;
    case 2: c->bf16 = strcmp(v, "bf16") == 0; return c->bf16 || strcmp(v, "fp32") == 0;
    case 3: return (c->seq = strtoll(v, NULL, 10)) > 0;
    case 4: return (c->accumulate = strtoll(v, NULL, 10)) > 0;
    default: return false;
    }
}

static int sweep(const plan_case *c, const sweep_key *keys, int n_keys, const char *name, line *l, int n) {
    if (n_keys == 0) {
        if (n < MOST_LINES) run_line(c, name, &l[n++]);
        return n;
    }
    for (int i = 0; i < keys->n; i++) {
        int64_t from, to = range_end(keys->values[i], &from);
        bool range = to > 0 && from > 0;
        for (int64_t v = from; range ? v <= to : v == from; v *= 2) {
            plan_case next = *c;
            char value[64], longer[256];
            if (range) snprintf(value, sizeof value, "%lld", (long long)v);
            else snprintf(value, sizeof value, "%s", keys->values[i]);
            if (!set_key(&next, keys->name, range ? value : keys->values[i])) return -1;
            snprintf(longer, sizeof longer, "%.150s%s%s=%s", name, *name ? ", " : "", keys->name, value);
            if ((n = sweep(&next, keys + 1, n_keys - 1, longer, l, n)) < 0) return n;
            if (!range) break;
        }
    }
    return n;
}

int plan_sweep(const plan_case *base, const char *spec, bool json) {
    sweep_key keys[6] = {{0}};
    int n_keys = 0;
    char *text = strdup(spec), *save = NULL;
    line *l = calloc(MOST_LINES, sizeof *l);
    bool ok = text && l;
    for (char *t = ok ? strtok_r(text, ",", &save) : NULL; t && ok; t = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(t, '=');
        if (eq && (ok = n_keys < 6)) {
            *eq = 0;
            keys[n_keys].name = t;
            keys[n_keys++].values[0] = eq + 1;
            keys[n_keys - 1].n = 1;
        } else if ((ok = n_keys > 0 && keys[n_keys - 1].n < 32))
            keys[n_keys - 1].values[keys[n_keys - 1].n++] = t;
    }
    plan_case c = *base;
    c.quick = true;
    c.dump = NULL;
    int n = ok && n_keys ? sweep(&c, keys, n_keys, "", l, 0) : -1;
    if (n > 0) print_lines("sweep", l, n, json);
    else fprintf(stderr, "xtrain plan: --sweep %s: lists of batch, seq, topology, precision or accumulate are expected, as batch=8:64,topology=v4:2x2x1,v5e:2x2\n", spec);
    free(l);
    free(text);
    return n > 0 ? 0 : 2;
}
