/* Numeric derivatives: a program's gradients, appended by grad_reverse, against central differences in f64 through the
 * reference interpreter. The scalar that is differentiated is sum(f * w) with fixed, irregular weights w, so that every
 * element counts differently; second derivatives are those of the same kind of scalar over the first gradients. */
#ifndef XT_TESTS_GRAD_NUMERIC_H
#define XT_TESTS_GRAD_NUMERIC_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "grad/grad.h"
#include "ir/interp.h"

enum { NUMERIC_MAX_IN = 6 };

static inline double noise(uint64_t i) { /* irregular, in (0, 1) */
    i = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    i = (i ^ (i >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return ((double)(i >> 40) + 0.5) / (double)(1 << 24);
}

static inline void ok(xt_status s) {
    if (s) print_error("%s\n", xt_status_message(s));
    assert_null(s);
}

/* sum(v * w), with w in [0.5, 1.5]; of what is no f64 its value as f64. */
static inline ir_value *weighted(ir_builder *b, ir_value *v, uint64_t seed) {
    if (!v) return NULL;
    if (ir_dtype_is_complex(v->type->dtype)) {
        ir_value *re = ir_real(b, v), *im = ir_imag(b, v);
        v = ir_add(b, re, ir_multiply(b, im, ir_splat(b, im->type, 0.7)));
    }
    v = ir_convert(b, v, XT_F64);
    double *w = base_malloc(((size_t)v->type->count + 1) * sizeof *w);
    assert_non_null(w);
    for (int64_t i = 0; i < v->type->count; i++) w[i] = 0.5 + noise(seed * 1000 + (uint64_t)i);
    ir_value *p = ir_multiply(b, v, ir_constant(b, v->type, w));
    base_free(w);
    int64_t all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    return !p || v->type->rank == 0 ? p : ir_reduce(b, OP_add, p, v->type->rank, all);
}

static inline bool depends(const ir_value *v, void *user) {
    (void)user;
    return v->user != 0;
}

static inline bool reads_dependent(const ir_block *b) {
    for (const ir_op *op = b ? b->first : NULL; op; op = op->next) {
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i]->user) return true;
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (reads_dependent(op->regions[r].block)) return true;
    }
    return false;
}

static inline void mark_dependence(ir_block *block) {
    for (ir_op *op = block->first; op; op = op->next) {
        bool any = false;
        for (uint32_t i = 0; i < op->n_in; i++) any |= op->in[i]->user != 0;
        for (uint32_t r = 0; r < op->n_regions; r++) any |= reads_dependent(op->regions[r].block);
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].user = any;
    }
}

/* Ends the program of b with (scalar, gradients by x[0..n)): the scalar is `loss`, or with `second` made of
 * its gradients. */
static inline void finish_program(ir_builder *b, size_t n, ir_value *const *x, ir_value *loss, bool second) {
    ir_value *out[NUMERIC_MAX_IN + 1] = {0};
    for (size_t i = 0; i < n; i++) x[i]->user = 1;
    for (int round = 0; round < 1 + second; round++) {
        ok(b->status);
        if (round) {
            loss = NULL;
            for (size_t i = 0; i < n; i++) {
                ir_value *part = weighted(b, out[1 + i], 2 + i);
                loss = part && loss ? ir_add(b, loss, part) : part ? part : loss;
            }
            if (!loss) loss = ir_splat(b, ir_scalar(XT_F64), 0); /* flat */
        }
        mark_dependence(b->block);
        ok(grad_reverse(b, loss, NULL, n, x, depends, NULL, out + 1));
    }
    out[0] = loss;
    for (size_t i = 0; i < n; i++)
        if (!out[1 + i]) out[1 + i] = ir_splat(b, x[i]->type, 0);
    ir_return(b, n + 1, out);
    ok(b->status);
    ok(ir_verify(b->m));
}

/* A program under test: `processes` copies run side by side (1: @main itself; else @world over them), and the
 * losses are added. */
typedef struct numeric {
    const char *name;
    const ir_module *m;
    const char *entry;
    size_t processes, n; /* inputs of one process */
    const interp_hooks *hooks;
} numeric;

static inline double total_loss(const numeric *p, const array *x) {
    array out[4 * (NUMERIC_MAX_IN + 1)] = {0};
    size_t n_out = p->processes * (p->n + 1);
    double sum = 0;
    ok(interp_run(p->m, p->entry, p->hooks, p->processes * p->n, x, n_out, out));
    for (size_t k = 0; k < p->processes; k++) sum += array_get(&out[k * (p->n + 1)], 0);
    for (size_t i = 0; i < n_out; i++) array_free(&out[i]);
    return sum;
}

static inline void compare_numeric(const numeric *p, array *x, const char *which) {
    array out[4 * (NUMERIC_MAX_IN + 1)] = {0};
    size_t n_out = p->processes * (p->n + 1);
    ok(interp_run(p->m, p->entry, p->hooks, p->processes * p->n, x, n_out, out));
    const double h = 1e-5;
    for (size_t k = 0; k < p->processes * p->n; k++) {
        const array *g = &out[k / p->n * (p->n + 1) + 1 + k % p->n];
        for (int64_t i = 0; i < x[k].type->count; i++) {
            double at = array_get(&x[k], i), got = array_get(g, i);
            array_set(&x[k], i, at + h);
            double up = total_loss(p, x);
            array_set(&x[k], i, at - h);
            double down = total_loss(p, x);
            array_set(&x[k], i, at);
            double want = (up - down) / (2 * h);
            /* Truncation is about h^2 times the third derivative, rounding 1e-16 / h times the value. */
            if (!(fabs(got - want) <= 2e-7 + 2e-6 * fabs(want)))
                fail_msg("%s: %s derivative by input %zu element %lld is %.10g, differences give %.10g", p->name, which,
                         k, (long long)i, got, want);
        }
    }
    for (size_t i = 0; i < n_out; i++) array_free(&out[i]);
}

static inline void fill_inputs(size_t n, const ir_type *const *types, double lo, double hi, array *x) {
    for (size_t k = 0; k < n; k++) {
        ok(array_new(types[k], &x[k]));
        for (int64_t i = 0; i < x[k].type->count; i++)
            array_set(&x[k], i, lo + (hi - lo) * noise(77 + 100 * k + (uint64_t)i));
    }
}

#endif
