/* Running a plan: memory for the results and one arena, then the thunks in order. On any failure everything allocated
 * here is given back and the arguments are as the thunks left them (only donated ones may have changed). */
#include "cpu/run/pending.h"
#include "cpu/run/plan.h"
#include "cpu/run/trace.h"
#include "cpu/run/zones.h"
#include "cpu/thread/openmp.h"
#include "cpu/vector/dnnl_util.h"
#include "ir/host_function.h"

#include <stdatomic.h>

typedef struct run_state {
    const cpu_exec *e;
    const cpu_alloc *a;
    const array *in;
    array *out;
    int *out_from;
    char *arena;
    char **at; /* per slot */
    uint32_t traced; /* number of this run in the trace; 0: none is taken */
    void **args; /* of the thunk that runs: inputs, then outputs */
} run_state;

static xt_status check_inputs(const cpu_exec *e, const array *in) {
    for (size_t i = 0; i < cpu_exec_inputs(e); i++) {
        const ir_type *want = cpu_exec_input_type(e, i);
        if (in[i].type == want) continue;
        str a = STR_INIT, b = STR_INIT;
        if (in[i].type) ir_type_print(in[i].type, &a);
        ir_type_print(want, &b);
        xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "argument %zu of %s is %s, the program was compiled for %s",
                                 i, e->name, str_cstr(&a), str_cstr(&b));
        str_free(&a);
        str_free(&b);
        return s;
    }
    return NULL;
}

static double mib(int64_t bytes) {
    return (double)bytes / 1048576;
}

/* Adds what was wanted, and what else is alive then, to an allocator's refusal. */
static xt_status explain_oom(const cpu_exec *e, xt_status s, size_t bytes, const char *what) {
    if (!s || status_code(s) != XT_RESOURCE_EXHAUSTED) return s;
    str live = STR_INIT;
    cpu_report_live(e, e->plan.peak_thunk, &live);
    char where[96] = "its start";
    if (e->plan.n_thunks) cpu_thunk_name(&e->plan.thunks[e->plan.peak_thunk], where, sizeof where);
    xt_status told = status_new(XT_RESOURCE_EXHAUSTED, status_where(s),
                                "%s: program %s wanted %.2f MiB for %s (arguments %.2f, results %.2f, temporaries %.2f "
                                "MiB); largest buffers at its peak, %s:%s",
                                status_text(s), e->name, mib((int64_t)bytes), what, mib(e->stats.argument_bytes),
                                mib(e->stats.output_bytes), mib(e->stats.temp_bytes), where, str_cstr(&live));
    xt_status_free(s);
    str_free(&live);
    return told;
}

static void place_temporaries(const cpu_plan *p, char *temps, void **at);
static xt_status get_memory(run_state *r, const bool *donated) {
    const cpu_plan *p = &r->e->plan;
    for (size_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        if (s->kind == CPU_SLOT_ARG)
            r->at[i] = r->in[s->index].data;
        else if (s->kind == CPU_SLOT_CONST)
            r->at[i] = (char *)(uintptr_t)s->data;
    }
    for (size_t j = 0; j < cpu_exec_outputs(r->e); j++) {
        const cpu_slot *s = &p->slots[p->out_slots[j]];
        void *mem = NULL;
        if (s->takes != CPU_NONE && donated && donated[s->takes]) {
            mem = r->in[s->takes].data;
            r->out_from[j] = (int)s->takes;
        } else {
            XT_TRY(explain_oom(r->e, r->a->alloc(r->a->user, s->bytes, &mem), s->bytes, "a result"));
            cpu_zones_fill(r->e, mem, s->bytes);
        }
        r->out[j].type = cpu_exec_output_type(r->e, j);
        r->out[j].data = r->at[p->out_slots[j]] = mem;
    }
    if (p->arena_bytes) {
        void *mem = NULL;
        XT_TRY(explain_oom(r->e, r->a->alloc(r->a->user, p->arena_bytes, &mem), p->arena_bytes, "temporaries"));
        r->arena = mem;
    }
    place_temporaries(p, r->arena, (void **)r->at);
    return NULL;
}

void cpu_note_time(const cpu_exec *e, size_t thunk, int64_t ns) {
    _Atomic int64_t *profile = &e->profile[2 * thunk];
    atomic_fetch_add_explicit(&profile[0], ns, memory_order_relaxed);
    int64_t best = atomic_load_explicit(&profile[1], memory_order_relaxed);
    /* a lost update costs a report's digit */
    if (best == 0 || ns < best) atomic_store_explicit(&profile[1], ns, memory_order_relaxed);
}

xt_status cpu_name_thunk(const cpu_exec *e, const cpu_thunk *th, xt_status s) {
    char name[96];
    cpu_thunk_name(th, name, sizeof name);
    return status_context(s, "program %s, op %s", e->name, name);
}

/* Collectives are started by their thunks and finished when somebody reads their results, or at the end; between thunks
 * they go on by themselves as far as the other ranks have come. */
static xt_status run_list(run_state *r, cpu_device *d) {
    const cpu_plan *p = &r->e->plan;
    for (size_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        bool starts = d->running == r->e && d->n_pending > d->n_finished;
        if (starts && th->waits > d->n_finished) {
            xt_status s = cpu_pending_finish(d, th->waits);
            if (s) return status_context(s, "program %s", r->e->name);
        } else if (starts)
            XT_TRY(status_context(cpu_pending_poll(d), "program %s", r->e->name));
        void **in = r->args, **out = r->args + th->n_in;
        for (uint32_t i = 0; i < th->n_in; i++) in[i] = r->at[th->in[i].slot] + th->in[i].offset;
        for (uint32_t i = 0; i < th->n_out; i++) out[i] = r->at[th->out[i].slot] + th->out[i].offset;
        cpu_call c = {r->e, th, d, in, out, th->scratch == CPU_NONE ? cpu_no_scratch() : r->at[th->scratch]};
        int64_t begin = r->e->profile || r->traced ? clock_ns() : 0;
        xt_status s = cpu_zones_before(&c);
        if (!s) s = th->kernel->run(&c);
        if (!s) s = cpu_zones_after(&c);
        if (r->traced) cpu_trace_thunk(r->traced, th, begin, clock_ns());
        if (r->e->profile) cpu_note_time(r->e, t, clock_ns() - begin);
        if (s) return cpu_name_thunk(r->e, th, s);
    }
    return NULL;
}

static xt_status run_thunks(run_state *r, cpu_device *d) {
    cpu_zones_begin(r->e, r->arena);
    xt_status s = run_list(r, d);
    if (d->running == r->e) {
        /* also after a failure: they work in memory that is given back */
        xt_status late = cpu_pending_finish(d, UINT32_MAX);
        if (s)
            xt_status_free(late);
        else
            s = late;
    }
    return cpu_zones_end(r->e, r->arena, s);
}

static void undo_results(run_state *r) {
    for (size_t j = 0; j < cpu_exec_outputs(r->e); j++) {
        if (r->out[j].data && r->out_from[j] < 0)
            r->a->free(r->a->user, r->out[j].data, r->e->plan.slots[r->e->plan.out_slots[j]].bytes);
        r->out[j].data = NULL;
    }
}

/* Temporaries: in the arena, or where the result is that goes on in their memory. */
static void place_temporaries(const cpu_plan *p, char *temps, void **at) {
    for (size_t i = 0; i < p->n_slots; i++) {
        if (p->slots[i].kind != CPU_SLOT_TEMP) continue;
        size_t root = i;
        while (p->slots[root].same_as != CPU_NONE) root = p->slots[root].same_as;
        at[i] = p->slots[root].kind == CPU_SLOT_OUT ? at[root] : temps + p->slots[root].offset;
    }
}

size_t cpu_sub_slots(const cpu_exec *e) {
    return e->plan.n_slots + e->most_args + 1;
}

void cpu_sub_places(const cpu_exec *e, void *const *in, void *const *out, void *temps, void **at) {
    const cpu_plan *p = &e->plan;
    for (size_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        if (s->kind == CPU_SLOT_ARG) at[i] = in[s->index];
        if (s->kind == CPU_SLOT_CONST) at[i] = (void *)(uintptr_t)s->data;
    }
    for (size_t j = 0; j < e->main->n_results; j++) at[p->out_slots[j]] = out[j];
    place_temporaries(p, temps, at);
}

xt_status cpu_run_sub(const cpu_exec *e, cpu_device *d, void *const *in, void *const *out, void *temps, void **at) {
    run_state r = {.e = e, .arena = temps, .at = (char **)at, .args = at + e->plan.n_slots};
    cpu_sub_places(e, in, out, temps, at);
    return run_thunks(&r, d);
}

/* A loop or branch whose programs are tiny, where what it takes is known. */
static bool is_tiny_control(const cpu_thunk *t) {
    cpu_exec *const *subs = NULL;
    size_t n = t->kernel->programs ? t->kernel->programs(t->state, &subs) : 0;
    for (size_t i = 0; i < n; i++)
        if (!subs[i]->tiny) return false;
    if (t->op->code == OP_while) return n > 0 && ir_trip_count(t->op) >= 0;
    return n > 0 && (t->op->code == OP_if || t->op->code == OP_case);
}

/* About ten microseconds of one thread. */
static bool is_tiny(const cpu_exec *e) {
    enum { MOST_THUNKS = 32, MOST_WORK = 1 << 15, MOST_ARENA = 1 << 20 };
    double work = 0;
    for (size_t t = 0; t < e->plan.n_thunks; t++) {
        const cpu_thunk *th = &e->plan.thunks[t];
        if (!th->kernel->anywhere && !is_tiny_control(th)) return false;
        work += th->flops + th->bytes + 20 * th->transcendentals;
    }
    return e->plan.n_thunks <= MOST_THUNKS && work <= MOST_WORK && e->plan.arena_bytes <= MOST_ARENA;
}

/* Which thunks only start a collective, and what has to be done before each thunk. A result that nobody reads has no
 * memory of its own afterwards. */
static void number_starts(cpu_exec *e) {
    cpu_plan *p = &e->plan;
    uint32_t *start_of = base_calloc(p->n_slots + 1, sizeof *start_of);
    e->n_starts = 0;
    for (size_t t = 0; start_of && t < p->n_thunks; t++) { /* without memory all finish at once */
        cpu_thunk *th = &p->thunks[t];
        bool starts = cpu_can_start(e, th);
        for (uint32_t i = 0; i < th->n_out && starts; i++) {
            const cpu_slot *s = &p->slots[th->out[i].slot];
            starts = s->kind == CPU_SLOT_OUT || (s->last != CPU_NONE && s->last > t);
        }
        th->waits = 0;
        for (uint32_t i = 0; i < th->n_in; i++)
            if (start_of[th->in[i].slot] > th->waits) th->waits = start_of[th->in[i].slot];
        th->start = starts ? ++e->n_starts : 0;
        for (uint32_t i = 0; i < th->n_out && starts; i++) start_of[th->out[i].slot] = th->start;
    }
    base_free(start_of);
}

/* Needs no team of libgomp's: neither does what a loop or branch runs. */
static bool runs_in_pool(const cpu_thunk *t) {
    cpu_exec *const *subs = NULL;
    size_t n = t->kernel->programs ? t->kernel->programs(t->state, &subs) : 0;
    for (size_t i = 0; i < n; i++)
        if (!subs[i]->own_team) return false;
    return !t->kernel->onednn || openmp_is_ours();
}

static bool calls_host(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        if (host_function_is_callback(op)) return true;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (calls_host(op->regions[r].block)) return true;
    }
    return false;
}

static bool any_calls_host(const ir_module *m) {
    for (const ir_func *f = m->funcs; f; f = f->next)
        if (calls_host(f->body)) return true;
    return false;
}

void cpu_exec_settle(cpu_exec *e) {
    number_starts(e);
    e->tiny = is_tiny(e);
    e->calls_host = any_calls_host(e->module);
    e->own_team = true;
    e->most_args = 1;
    for (size_t t = 0; t < e->plan.n_thunks; t++) {
        size_t n = e->plan.thunks[t].n_in + e->plan.thunks[t].n_out;
        if (n > e->most_args) e->most_args = n;
        e->own_team = e->own_team && runs_in_pool(&e->plan.thunks[t]);
    }
}

bool cpu_exec_calls_host(const cpu_exec *e) {
    return e->calls_host;
}

bool cpu_exec_tiny(const cpu_exec *e) {
    return e->tiny;
}

int64_t cpu_exec_usual_ns(const cpu_exec *e) {
    bool anywhere = e->own_team && !e->calls_host && e->opts.num_replicas <= 1 && e->opts.num_partitions <= 1;
    return anywhere ? atomic_load_explicit(&e->usual_ns, memory_order_relaxed) : 0;
}

/* The fastest run, and a quarter more after each that took longer: one during which the core was taken away changes
 * little, and a loop that goes round more often from now on is found out. */
static void note_run(cpu_exec *e, int64_t ns) {
    int64_t was = atomic_load_explicit(&e->usual_ns, memory_order_relaxed), more = was + was / 4 + 1;
    if (ns < 1) ns = 1;
    atomic_store_explicit(&e->usual_ns, was && ns > more ? more : ns, memory_order_relaxed);
}

xt_status cpu_run(cpu_exec *e, cpu_device *d, const cpu_alloc *a, const array *in, const bool *donated, array *out,
                  int *out_from) {
    const cpu_plan *p = &e->plan;
    run_state r = {.e = e, .a = a, .in = in, .out = out, .out_from = out_from};
    xt_status s = NULL;
    cpu_device alone = {.team = {.threads = 1}};
    if (!d) d = &alone;
    for (size_t j = 0; j < cpu_exec_outputs(e); j++) {
        out[j] = (array){NULL, NULL};
        out_from[j] = -1;
    }
    XT_TRY(check_inputs(e, in));
    r.at = base_calloc(p->n_slots + e->most_args + 1, sizeof *r.at);
    r.args = (void **)(r.at + p->n_slots);
    if (!r.at) s = status_oom(p->n_slots * sizeof *r.at, "running a program");
    if (!s) s = get_memory(&r, donated);
    if (!s) {
        /* Scratch memory was planned for so many threads; a larger team leaves the others idle. */
        int threads = d->team.threads;
        if (e->threads < threads) d->team.threads = e->threads;
        d->replicas = e->opts.num_replicas > 0 ? e->opts.num_replicas : 1;
        d->partitions = e->opts.num_partitions > 0 ? e->opts.num_partitions : 1;
        if (d->group) coll_set_tag(d->group, e->coll_tag);
        team_enter(&d->team, e->own_team);
        r.traced = cpu_trace_on() ? cpu_trace_run() : 0;
        int64_t began = clock_ns();
        s = cpu_pending_room(d, e);
        if (!s) s = run_thunks(&r, d);
        for (size_t j = 0; j < cpu_exec_outputs(e) && !s; j++)
            if (out_from[j] < 0) s = cpu_zones_result(e, j, out[j].data);
        d->running = NULL;
        int64_t ended = clock_ns();
        if (r.traced) cpu_trace_program(r.traced, e, began, ended);
        if (!s) note_run(e, ended - began);
        team_leave(&d->team);
        d->team.threads = threads;
        if (d == &alone) {
            dnnl_stream_close(&d->stream);
            cpu_pending_free(d);
        }
    }
    atomic_fetch_add_explicit(&e->runs, 1, memory_order_relaxed);
    if (r.arena) a->free(a->user, r.arena, p->arena_bytes);
    if (s) undo_results(&r);
    base_free(r.at);
    return s;
}
