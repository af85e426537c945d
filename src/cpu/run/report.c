/* What a plan says about itself: thunk lines for dumps, live buffers for out-of-memory messages. */
#include "cpu/run/plan.h"

#include <stdlib.h>

void cpu_thunk_name(const cpu_thunk *t, char *buf, size_t n) {
    const ir_op_info *i = &ir_op_infos[t->op->code];
    /* The text's own names are the caller's ordinals or module paths; positions are only ours. */
    if (t->op->path)
        snprintf(buf, n, "%s (%s.%s)", intern_text(t->op->path), i->dialect, i->name);
    else if (t->ordinal == CPU_NONE)
        snprintf(buf, n, "%s.%s", i->dialect, i->name);
    else
        snprintf(buf, n, "n%u (%s.%s)", t->ordinal, i->dialect, i->name);
}

static const cpu_thunk *writer_of(const cpu_exec *e, uint32_t slot) {
    for (size_t t = 0; t < e->plan.n_thunks; t++) {
        const cpu_thunk *th = &e->plan.thunks[t];
        if (th->scratch == slot) return th;
        for (uint32_t i = 0; i < th->n_out; i++)
            if (th->out[i].slot == slot) return th;
    }
    return NULL;
}

typedef struct live_slot {
    size_t bytes;
    uint32_t slot;
} live_slot;
static int larger_first(const void *a, const void *b) {
    const live_slot *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

void cpu_report_live(const cpu_exec *e, uint32_t thunk, str *out) {
    const cpu_plan *p = &e->plan;
    live_slot *live = base_malloc((p->n_slots + 1) * sizeof *live);
    size_t n = 0;
    if (!live) return; /* the report is best effort: the failure itself is told anyway */
    for (uint32_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        bool always = s->kind == CPU_SLOT_ARG || (s->kind == CPU_SLOT_OUT && s->takes == CPU_NONE);
        bool now = s->kind == CPU_SLOT_TEMP && s->same_as == CPU_NONE && s->first != CPU_NONE && s->first <= thunk &&
                   s->last >= thunk;
        if ((always || now) && s->bytes) live[n++] = (live_slot){s->bytes, i};
    }
    qsort(live, n, sizeof *live, larger_first);
    for (size_t k = 0; k < n && k < 10; k++) {
        const cpu_slot *s = &p->slots[live[k].slot];
        str type = STR_INIT;
        char name[96] = "";
        const cpu_thunk *w = writer_of(e, live[k].slot);
        if (s->type)
            ir_type_print(s->type, &type);
        else
            str_append(&type, "scratch");
        if (s->kind == CPU_SLOT_ARG)
            snprintf(name, sizeof name, "argument %u", s->index);
        else if (w)
            cpu_thunk_name(w, name, sizeof name);
        str_printf(out, "\n  %10.2f MiB  %s  %s%s", (double)s->bytes / 1048576, str_cstr(&type), name,
                   s->kind == CPU_SLOT_OUT ? "  (result)" : "");
        str_free(&type);
    }
    if (n > 10) str_printf(out, "\n  and %zu smaller ones", n - 10);
    base_free(live);
}

static void print_place(const cpu_plan *p, cpu_ref r, str *out) {
    const cpu_slot *s = &p->slots[r.slot];
    static const char *const letters[] = {"arg", "out", "t", "c"};
    str_printf(out, " %s%u", letters[s->kind], s->kind == CPU_SLOT_ARG || s->kind == CPU_SLOT_OUT ? s->index : r.slot);
    if (r.offset) str_printf(out, "+%zu", r.offset);
    if (s->kind == CPU_SLOT_OUT && s->takes != CPU_NONE) str_printf(out, "=arg%u", s->takes);
}

void cpu_plan_print(const cpu_exec *e, str *out) {
    const cpu_plan *p = &e->plan;
    str_printf(out, "plan of %s: %zu thunks, arena %zu bytes, constants %zu bytes\n", e->name, p->n_thunks,
               p->arena_bytes, p->const_bytes);
    for (size_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        char name[96];
        cpu_thunk_name(th, name, sizeof name);
        str_printf(out, "%4zu %-14s %s  (", t, th->kernel->name, name);
        for (uint32_t i = 0; i < th->n_in; i++) print_place(p, th->in[i], out);
        str_append(out, " ) ->");
        for (uint32_t i = 0; i < th->n_out; i++) {
            print_place(p, th->out[i], out);
            const cpu_slot *s = &p->slots[th->out[i].slot];
            if (s->same_as != CPU_NONE) str_printf(out, "~t%u", s->same_as);
            if (s->type) {
                str_append(out, ":");
                ir_type_print(s->type, out);
            }
        }
        str_printf(out, "  %.0f bytes, %.0f flops", th->bytes, th->flops);
        if (th->n_ops > 1) {
            str_append(out, "  covers");
            for (uint32_t i = 0; i < th->n_ops; i++) str_printf(out, " %s", ir_op_infos[th->ops[i]->code].name);
        }
        str_append(out, "\n");
    }
}

typedef struct cost {
    int64_t ns;
    uint32_t thunk;
} cost;
static int dearer_first(const void *a, const void *b) {
    const cost *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return x->thunk < y->thunk ? -1 : x->thunk > y->thunk;
}

/* Totals of the fastest runs by kernel, dearest first: hundreds of small thunks may outweigh the ones
 * that are listed. */
static void profile_by_kernel(const cpu_plan *p, const cost *costs, int64_t total, str *out) {
    enum { MOST_KERNELS = 32 };
    struct {
        const char *name;
        size_t n;
    } kinds[MOST_KERNELS];
    cost sums[MOST_KERNELS];
    uint32_t n = 0;
    for (size_t k = 0; k < p->n_thunks; k++) {
        const char *name = p->thunks[costs[k].thunk].kernel->name;
        uint32_t i = 0;
        while (i < n && strcmp(kinds[i].name, name)) i++;
        if (i == MOST_KERNELS) continue;
        if (i == n) {
            kinds[n].name = name;
            kinds[n].n = 0;
            sums[n] = (cost){0, n};
            n++;
        }
        kinds[i].n++;
        sums[i].ns += costs[k].ns;
    }
    qsort(sums, n, sizeof *sums, dearer_first);
    str_append(out, "by kernel:\n");
    for (uint32_t i = 0; i < n; i++)
        str_printf(out, "%9.3f ms %5.1f%%  %-20s %zu thunks\n", (double)sums[i].ns / 1e6,
                   total ? 100.0 * (double)sums[i].ns / (double)total : 0, kinds[sums[i].thunk].name,
                   kinds[sums[i].thunk].n);
}

/* The first result's type, and what was fused: "tensor<128x50xf32> of dot_general add maximum". `xtrain bench
 * --hottest` reads these lines. */
static void print_covered(const cpu_exec *e, const cpu_thunk *th, str *out) {
    const ir_type *t = th->n_out ? e->plan.slots[th->out[0].slot].type : NULL;
    str_append(out, "  ");
    if (t) ir_type_print(t, out);
    for (uint32_t i = 0; th->n_ops > 1 && i < th->n_ops && i < 8; i++)
        str_printf(out, "%s %s", i ? "" : " of", ir_op_infos[th->ops[i]->code].name);
    if (th->n_ops > 8) str_printf(out, " and %u more", th->n_ops - 8);
    if (th->kernel->report) {
        str_append(out, "; ");
        th->kernel->report(th->state, out);
    }
    str_append(out, "\n");
}

void cpu_report_profile(const cpu_exec *e) {
    const cpu_plan *p = &e->plan;
    int64_t runs = e->runs, total = 0;
    cost *costs = base_malloc((p->n_thunks + 1) * sizeof *costs);
    if (!costs || runs == 0) {
        base_free(costs);
        return;
    }
    for (uint32_t t = 0; t < p->n_thunks; t++) {
        costs[t] = (cost){e->profile[2 * t + 1], t};
        total += costs[t].ns;
    }
    qsort(costs, p->n_thunks, sizeof *costs, dearer_first);
    str s = STR_INIT;
    int64_t all = 0;
    for (uint32_t t = 0; t < p->n_thunks; t++) all += e->profile[2 * t];
    str_printf(&s, "%s: %lld runs of %zu thunks, %.3f ms each; the fastest run of each thunk adds up to %.3f ms:\n",
               e->name, (long long)runs, p->n_thunks, (double)all / 1e6 / (double)runs, (double)total / 1e6);
    for (size_t k = 0; k < p->n_thunks && k < 24; k++) {
        const cpu_thunk *th = &p->thunks[costs[k].thunk];
        char name[96];
        double us = (double)costs[k].ns / 1e3;
        cpu_thunk_name(th, name, sizeof name);
        str_printf(&s, "%9.1f us %5.1f%%  %-20s %-40s %7.1f GB/s %7.1f GFLOP/s", us,
                   total ? 100.0 * (double)costs[k].ns / (double)total : 0, th->kernel->name, name,
                   us > 0 ? th->bytes / us / 1e3 : 0, us > 0 ? th->flops / us / 1e3 : 0);
        print_covered(e, th, &s);
    }
    profile_by_kernel(p, costs, total, &s);
    log_raw(XT_SEV_INFO, str_cstr(&s), s.len);
    str_free(&s);
    base_free(costs);
}
