/* Runs a program on the reference interpreter and on the CPU compiler with the same random inputs and compares
 * every result. */
#ifndef XT_TESTS_CPU_DIFFERENTIAL_H
#define XT_TESTS_CPU_DIFFERENTIAL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cpu/cpu.h"

typedef struct heap { /* an allocator with a limit that counts what is alive */
    int64_t live, limit, calls, fail_at;
} heap;
static inline xt_status heap_alloc(void *user, size_t n, void **out) {
    heap *h = user;
    h->calls++;
    if (h->fail_at == h->calls || (h->limit > 0 && h->live + (int64_t)n > h->limit))
        return status_new(XT_RESOURCE_EXHAUSTED, NULL, "%zu bytes over the limit", n);
    *out = base_aligned(64, n ? n : 1);
    if (!*out) return status_oom(n, "a test");
    memset(*out, 0x7f, n); /* a kernel that relies on zeros shows itself */
    h->live += (int64_t)n;
    return NULL;
}
static inline void heap_free(void *user, void *p, size_t n) {
    heap *h = user;
    h->live -= (int64_t)n;
    base_free(p);
}

static inline void expect_ok(xt_status s, const char *what) {
    if (!s) return;
    print_error("%s: %s\n", what, xt_status_message(s));
    xt_status_free(s);
    fail();
}

/* Small values; ints 0..4 (they may be indices), floats in [-2, 2) with ties now and then. */
static inline void fill_random(array *a, uint64_t seed) {
    for (int64_t i = 0; i < a->type->count; i++) {
        uint64_t r = rng_bits(seed, 1, (uint64_t)i);
        double v = ir_dtype_is_int(a->type->dtype) ? (double)(r % 5)
                   : a->type->dtype == XT_BOOL     ? (double)(r & 1)
                   : (r & 7) == 0                  ? 0.5
                                                   : (double)(r >> 40) / 4194304.0 - 2.0;
        array_set(a, i, v);
    }
}

static inline bool close_enough(double want, double got, double tol) {
    if (want == got || (isnan(want) && isnan(got))) return true;
    return fabs(want - got) <= tol * (1.0 + fabs(want));
}

enum { DIFF_MAX = 64 };
static inline void compare_results(const char *name, size_t n_out, const array *want, const array *got, double tol) {
    for (size_t j = 0; j < n_out; j++) {
        assert_ptr_equal(want[j].type, got[j].type);
        for (int64_t i = 0; i < want[j].type->count; i++) {
            double w = array_get(&want[j], i), g = array_get(&got[j], i);
            if (close_enough(w, g, tol)) continue;
            print_error("%s: result %zu element %lld: interpreter %.9g, compiler %.9g\n", name, j, (long long)i, w, g);
            fail();
        }
    }
}

/* `donate`: all arguments that an output may take over are given away. */
static inline void differ(const char *name, const char *text, double tol, int threads, bool donate) {
    ir_module *m = NULL;
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in[DIFF_MAX] = {0}, mine[DIFF_MAX] = {0}, want[DIFF_MAX] = {0}, got[DIFF_MAX] = {0};
    bool donated[DIFF_MAX] = {0};
    int from[DIFF_MAX];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(ir_parse(text, strlen(text), name, &m), name);
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &e), name);
    expect_ok(cpu_device_new(threads, NULL, &d), name);
    size_t n_in = cpu_exec_inputs(e), n_out = cpu_exec_outputs(e);
    for (size_t i = 0; i < n_in; i++) {
        expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), name);
        fill_random(&in[i], 100 + i);
        void *p = NULL;
        expect_ok(heap_alloc(&h, ir_type_bytes(in[i].type), &p), name);
        mine[i] = (array){in[i].type, p};
        memcpy(p, in[i].data, ir_type_bytes(in[i].type));
        donated[i] = donate && cpu_exec_alias(e, i) >= 0;
    }
    expect_ok(interp_run(m, "main", NULL, n_in, in, n_out, want), name);
    for (int round = 0; round < 2; round++) { /* a second run with the results of the first still alive */
        expect_ok(cpu_run(e, d, &a, mine, donated, got, from), name);
        compare_results(name, n_out, want, got, tol);
        for (size_t j = 0; j < n_out; j++) {
            if (from[j] >= 0) {
                assert_true(donated[from[j]]);
                assert_ptr_equal(mine[from[j]].data, got[j].data);
            } else {
                for (size_t i = 0; i < n_in; i++) assert_ptr_not_equal(got[j].data, mine[i].data);
                heap_free(&h, got[j].data, ir_type_bytes(got[j].type));
            }
        }
        for (size_t i = 0; i < n_in; i++) {
            if (!donated[i]) assert_memory_equal(mine[i].data, in[i].data, ir_type_bytes(in[i].type));
            memcpy(mine[i].data, in[i].data, ir_type_bytes(in[i].type));
        }
    }
    for (size_t i = 0; i < n_in; i++) {
        heap_free(&h, mine[i].data, ir_type_bytes(in[i].type));
        array_free(&in[i]);
    }
    for (size_t j = 0; j < n_out; j++) array_free(&want[j]);
    assert_int_equal(h.live, 0);
    cpu_device_free(d);
    cpu_exec_free(e);
    ir_module_free(m);
}

#endif
