#include "cpu/run/zones.h"

#include "cpu/vector/access.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

#define UNCHECKED __attribute__((no_sanitize("address"), noinline))
static const uint16_t pattern = 0x7ffd;

static size_t whole_lines(size_t bytes) {
    return (bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
}

static bool has_place(const cpu_slot *s) {
    return s->kind == CPU_SLOT_TEMP && s->same_as == CPU_NONE && s->first != CPU_NONE && s->bytes;
}

xt_status cpu_zones_offsets(cpu_plan *p) {
    size_t at = CPU_ZONE;
    for (size_t i = 0; i < p->n_slots; i++) {
        cpu_slot *s = &p->slots[i];
        if (!has_place(s)) continue;
        size_t bytes;
        if (!size_add(s->bytes, CPU_ALIGN + CPU_ZONE, &bytes) || !size_add(at, bytes, &bytes))
            return status_new(XT_RESOURCE_EXHAUSTED, NULL, "a temporary of %zu bytes is too large", s->bytes);
        s->offset = at;
        at += whole_lines(s->bytes) + CPU_ZONE;
    }
    p->arena_bytes = at > CPU_ZONE ? at : 0;
    return NULL;
}

/* --- the pattern --- */
UNCHECKED static bool is_pattern(const void *p, size_t n) {
    const unsigned char *b = p, *want = (const unsigned char *)&pattern;
    for (size_t i = 0; i < n; i++)
        if (b[i] != want[((uintptr_t)b + i) % 2]) return false;
    return true;
}

void cpu_zones_fill(const cpu_exec *e, void *place, size_t bytes) {
    if (!e->plan.zoned) return;
    unsigned char *b = place;
    const unsigned char *fill = (const unsigned char *)&pattern;
    for (size_t i = 0; i < bytes; i++) b[i] = fill[((uintptr_t)b + i) % 2];
}

/* --- the zones of a place --- */
typedef struct zone {
    char *begin, *end;
} zone;
static zone zone_before(char *place) {
    return (zone){place - CPU_ZONE, place};
}
static zone zone_behind(char *place, size_t bytes) {
    return (zone){place + bytes, place + whole_lines(bytes) + CPU_ZONE};
}

/* ASan knows the last bytes of a place only in steps of eight. */
static void poison(zone z, bool on) {
    char *begin = (char *)(((uintptr_t)z.begin + 7) / 8 * 8);
    if (on)
        ASAN_POISON_MEMORY_REGION(begin, (size_t)(z.end - begin));
    else
        ASAN_UNPOISON_MEMORY_REGION(begin, (size_t)(z.end - begin));
}

static const cpu_slot *root_of(const cpu_plan *p, uint32_t s) {
    while (p->slots[s].same_as != CPU_NONE) s = p->slots[s].same_as;
    return &p->slots[s];
}

static void poison_all(const cpu_plan *p, char *temps, bool on) {
    for (size_t i = 0; i < p->n_slots; i++) {
        const cpu_slot *s = &p->slots[i];
        if (!has_place(s)) continue;
        poison(zone_before(temps + s->offset), on);
        poison(zone_behind(temps + s->offset, s->bytes), on);
    }
}

void cpu_zones_begin(const cpu_exec *e, void *temps) {
    const cpu_plan *p = &e->plan;
    if (!p->zoned || !p->arena_bytes) return;
    poison_all(p, temps, false);
    cpu_zones_fill(e, temps, p->arena_bytes);
    poison_all(p, temps, true);
}

/* Whose value, for messages: the op that writes it. */
static const char *slot_name(const cpu_exec *e, const cpu_slot *s, char *buf, size_t n) {
    for (size_t t = 0; t < e->plan.n_thunks; t++)
        if (s->op && e->plan.thunks[t].op == s->op) {
            cpu_thunk_name(&e->plan.thunks[t], buf, n);
            return buf;
        }
    if (s->kind == CPU_SLOT_ARG)
        snprintf(buf, n, "argument %u", s->index);
    else
        snprintf(buf, n, s->op ? "%s" : "scratch memory", s->op ? ir_op_infos[s->op->code].name : "");
    return buf;
}

static xt_status check_zones(const cpu_exec *e, const cpu_slot *root, char *place, const char *when) {
    const zone zones[2] = {zone_before(place), zone_behind(place, root->bytes)};
    for (int k = 0; k < 2; k++) {
        size_t n = (size_t)(zones[k].end - zones[k].begin), first = 0, last = n;
        if (is_pattern(zones[k].begin, n)) continue;
        while (is_pattern(zones[k].begin, first + 1)) first++;
        while (is_pattern(zones[k].begin + last - 1, 1)) last--;
        char name[96];
        return status_new(XT_INTERNAL, NULL, "writes %zu to %zu bytes %s a place of %zu bytes, of %s%s",
                          k ? first : n - last + 1, k ? last - 1 : n - first, k ? "behind the end of" : "before",
                          root->bytes, slot_name(e, root, name, sizeof name), when);
    }
    return NULL;
}

/* --- what is read --- */
typedef struct search {
    const char *place;
    size_t bytes, elem, found;
    bool is_float;
} search;

static void look_at(search *s, int64_t at) {
    if (at < 0 || ((size_t)at + 1) * s->elem > s->bytes) return; /* verify_reads.c has said so */
    const char *p = s->place + (size_t)at * s->elem;
    s->found += is_pattern(p, s->elem);
}

static void look_at_view(search *s, const view *v) {
    int64_t index[VIEW_MAX] = {0}, at = v->offset;
    if (view_count(v) == 0) return;
    for (;;) {
        look_at(s, at);
        int d = v->n - 1;
        for (; d >= 0; d--) {
            at += v->strides[d];
            if (++index[d] < v->dims[d]) break;
            at -= index[d] * v->strides[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

/* Elements of the pattern among those of input `i` that the thunk reads. Whole numbers of one or two bytes may be as
 * the pattern is. */
static search unwritten(const cpu_call *c, uint32_t i) {
    const cpu_thunk *th = c->thunk;
    const cpu_slot *s = &c->exec->plan.slots[th->in[i].slot];
    const ir_value *v = th->reads[i];
    search found = {.place = c->in[i], .bytes = s->bytes - th->in[i].offset};
    if (!v || v->type->kind != IR_TENSOR || v->type->count <= 0) return found;
    found.elem = xt_dtype_size(v->type->dtype);
    if (found.elem < 2 || (found.elem == 2 && !ir_dtype_is_float(v->type->dtype))) return found;
    bool viewed = false;
    cpu_access a;
    for (uint32_t k = 0; th->kernel->access && th->kernel->access(th, k, &a); k++) {
        if (a.arg != i) continue;
        viewed = true;
        if (!a.counts && a.elem == found.elem && a.value) look_at_view(&found, &a.at);
    }
    for (int64_t k = 0; k < v->type->count && !viewed; k++) look_at(&found, k);
    return found;
}

xt_status cpu_zones_look_before(const cpu_call *c) {
    const cpu_exec *e = c->exec;
    for (uint32_t i = 0; i < c->thunk->n_in; i++) {
        const cpu_slot *s = &e->plan.slots[c->thunk->in[i].slot];
        if (s->kind == CPU_SLOT_ARG || s->kind == CPU_SLOT_CONST) continue;
        search found = unwritten(c, i);
        char name[96];
        if (found.found)
            return status_new(XT_INTERNAL, NULL, "input %u, of %s, has %zu elements that nobody has written", i,
                              slot_name(e, s, name, sizeof name), found.found);
    }
    return NULL;
}

xt_status cpu_zones_look_after(const cpu_call *c) {
    const cpu_plan *p = &c->exec->plan;
    const cpu_thunk *th = c->thunk;
    for (uint32_t i = 0; i < th->n_out + 1 + th->n_in; i++) { /* places that are neighbours share a zone */
        const cpu_ref scratch = {th->scratch, 0};
        const uint32_t n_out = th->n_out;
        bool out = i < n_out;
        bool in = i > n_out;
        uint32_t k = in ? i - n_out - 1 : i;
        const cpu_ref *r = in ? &th->in[k] : out ? &th->out[k] : &scratch;
        if (r->slot == CPU_NONE) continue;
        const cpu_slot *root = root_of(p, r->slot);
        char *place = in ? c->in[k] : out ? c->out[k] : c->scratch;
        if (has_place(root)) XT_TRY(check_zones(c->exec, root, place - r->offset, ""));
    }
    return NULL;
}

xt_status cpu_zones_end(const cpu_exec *e, void *temps, xt_status s) {
    const cpu_plan *p = &e->plan;
    if (!p->zoned || !p->arena_bytes) return s;
    poison_all(p, temps, false);
    for (size_t i = 0; i < p->n_slots && !s; i++)
        if (has_place(&p->slots[i]))
            s = check_zones(e, &p->slots[i], (char *)temps + p->slots[i].offset, " (some op of this program)");
    return s;
}

xt_status cpu_zones_result(const cpu_exec *e, size_t j, const void *data) {
    const ir_type *t = cpu_exec_output_type(e, j);
    search found = {.place = data, .bytes = ir_type_bytes(t), .elem = xt_dtype_size(t->dtype)};
    if (!e->plan.zoned || found.elem < 2 || (found.elem == 2 && !ir_dtype_is_float(t->dtype))) return NULL;
    for (int64_t k = 0; k < t->count; k++) look_at(&found, k);
    if (!found.found) return NULL;
    return status_new(XT_INTERNAL, NULL, "program %s: result %zu has %zu elements that nobody has written", e->name, j,
                      found.found);
}
