/* check(): interpreter against compiler, the same bits on one thread and on two, and a kernel of its own: nothing may
 * fall to the interpreter's code. */
#ifndef XT_TESTS_CPU_CHECK_H
#define XT_TESTS_CPU_CHECK_H

#include "cpu/run/plan.h"
#include "cpu_differential.h"

/* The most bytes of temporary values that are alive at once: what scratch a kernel takes besides is the
 * processor's affair. */
static inline size_t peak_of_values(const cpu_plan *p) {
    size_t peak = 0;
    for (size_t t = 0; t < p->n_thunks; t++) {
        size_t alive = 0;
        for (size_t i = 0; i < p->n_slots; i++) {
            const cpu_slot *s = &p->slots[i];
            if (s->kind == CPU_SLOT_TEMP && s->value && s->same_as == CPU_NONE && s->first <= t && t <= s->last)
                alive += s->bytes;
        }
        if (alive > peak) peak = alive;
    }
    return peak;
}

/* Runs on `threads` threads and gives the results, packed; *out_bytes of them. */
static inline char *bits_on(const char *name, const char *text, int threads, size_t *out_bytes) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[8] = {0}, out[8] = {0};
    int from[8];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), name);
    expect_ok(cpu_device_new(threads, NULL, &d), name);
    for (size_t t = 0; t < e->plan.n_thunks; t++)
        if (!strcmp(e->plan.thunks[t].kernel->name, "interpreter"))
            fail_msg("%s: stablehlo.%s runs on the interpreter's code", name,
                     ir_op_infos[e->plan.thunks[t].op->code].name);
    size_t n_in = cpu_exec_inputs(e), n_out = cpu_exec_outputs(e), bytes = 0;
    for (size_t i = 0; i < n_in; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), name);
        fill_random(&in[i], 100 + i);
    }
    expect_ok(cpu_run(e, d, &a, in, NULL, out, from), name);
    for (size_t j = 0; j < n_out; j++) bytes += ir_type_bytes(out[j].type);
    char *all = base_malloc(bytes + 1), *p = all;
    assert_non_null(all);
    for (size_t j = 0; j < n_out; j++) {
        memcpy(p, out[j].data, ir_type_bytes(out[j].type));
        p += ir_type_bytes(out[j].type);
        heap_free(&h, out[j].data, ir_type_bytes(out[j].type));
    }
    for (size_t i = 0; i < n_in; i++) array_free(&in[i]);
    cpu_device_free(d);
    cpu_exec_free(e);
    *out_bytes = bytes;
    return all;
}

static inline void check(const char *name, const char *text, double tol) {
    size_t n, m;
    char *one = bits_on(name, text, 1, &n), *two = bits_on(name, text, 2, &m);
    assert_int_equal(n, m);
    if (memcmp(one, two, n) != 0) fail_msg("%s: other bits on two threads than on one", name);
    base_free(one);
    base_free(two);
    differ(name, text, tol, 2, false);
}

#endif
