/* A planned program inside a thunk that runs again and again in the same places: each call of a kernel is made once,
 * with its pointers, and a run is the kernels one after the other. */
#include "cpu/run/plan.h"
#include "cpu/run/zones.h"

static size_t count_places(const cpu_exec *e) {
    size_t n = e->plan.n_slots;
    for (size_t t = 0; t < e->plan.n_thunks; t++) n += e->plan.thunks[t].n_in + e->plan.thunks[t].n_out;
    return n;
}

static size_t room_bytes(const cpu_thunk *t) {
    return t->kernel->bound_bytes ? t->kernel->bound_bytes(t->state) : 0;
}

size_t cpu_bound_bytes(const cpu_exec *e) {
    size_t bytes = e->plan.n_thunks * (sizeof(cpu_call) + sizeof(void *)) + (count_places(e) + 1) * sizeof(void *);
    for (size_t t = 0; t < e->plan.n_thunks; t++) bytes += room_bytes(&e->plan.thunks[t]);
    return bytes;
}

void cpu_bind(const cpu_exec *e, cpu_device *d, void *const *in, void *const *out, void *temps, void *room,
              cpu_bound *b) {
    const cpu_plan *p = &e->plan;
    cpu_call *calls = room;
    void **rooms = (void **)(calls + p->n_thunks), **at = rooms + p->n_thunks, **next = at + p->n_slots;
    char *rest = (char *)(at + count_places(e));
    cpu_sub_places(e, in, out, temps, at);
    for (size_t t = 0; t < p->n_thunks; t++) {
        const cpu_thunk *th = &p->thunks[t];
        calls[t] =
            (cpu_call){e, th, d, next, next + th->n_in, th->scratch == CPU_NONE ? cpu_no_scratch() : at[th->scratch]};
        for (uint32_t i = 0; i < th->n_in; i++) *next++ = (char *)at[th->in[i].slot] + th->in[i].offset;
        for (uint32_t i = 0; i < th->n_out; i++) *next++ = (char *)at[th->out[i].slot] + th->out[i].offset;
        rooms[t] = room_bytes(th) ? rest : NULL;
        if (rooms[t]) th->kernel->bind(&calls[t], rest);
        rest += room_bytes(th);
    }
    *b = (cpu_bound){e, calls, rooms, temps};
}

xt_status cpu_run_bound(const cpu_bound *b) {
    const cpu_exec *e = b->exec;
    xt_status s = NULL;
    cpu_zones_begin(e, b->temps);
    for (size_t t = 0; t < e->plan.n_thunks && !s; t++) {
        const cpu_call *c = &b->calls[t];
        int64_t begin = e->profile ? clock_ns() : 0;
        s = cpu_zones_before(c);
        if (!s && b->rooms[t])
            c->thunk->kernel->run_bound(c, b->rooms[t]);
        else if (!s)
            s = c->thunk->kernel->run(c);
        if (!s) s = cpu_zones_after(c);
        if (e->profile) cpu_note_time(e, t, clock_ns() - begin);
        if (s) s = cpu_name_thunk(e, c->thunk, s);
    }
    return cpu_zones_end(e, b->temps, s);
}
