/* Comparing with PyTorch: reads tests/parity/NAME.safetensors (made by NAME.py beside it; parity.py there says how the
 * tensors of a case are called) and runs a case: outputs, gradients of every float input and of every parameter, and
 * buffers, each within a tolerance.
 *
 *     static void plain(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) {
 *         y[0] = xt_linear(m, "", x[0], 3);
 *     }
 *     ...
 *     parity_file *f = parity_open("linear");
 *     parity_case(f, "plain", plain, NULL, 0, 0);     the module's names are PyTorch's: "weight", "bias"
 *     parity_close_file(f);
 *
 * Everything fails the running cmocka test itself, with case, index, value found and value wanted. */
#ifndef XT_TESTS_PARITY_H
#define XT_TESTS_PARITY_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/safetensors.h"
#include "ir/interp.h"
#include "lazy/core/ctx.h"
#include "nn/nn.h"
#include <xtrain/xtrain.h>

enum { PARITY_MOST = 20 }; /* inputs or outputs of a case */
static const double PARITY_RTOL = 1e-5;
static const double PARITY_OR_1 = -1; /* as atol: rtol counts of the largest magnitude, or of 1 where that is less */

typedef struct parity_tensor {
    char name[160];
    const ir_type *type;
    void *data; /* dense, row-major */
} parity_tensor;
typedef struct parity_file {
    char path[512];
    parity_tensor *tensors;
    size_t n;
} parity_file;

/* Meson gives PARITY_DIR to programs called test_parity_*. */
static inline parity_file *parity_open(const char *name) {
    parity_file *f = calloc(1, sizeof *f);
    assert_non_null(f);
    snprintf(f->path, sizeof f->path, "%s/%s.safetensors", PARITY_DIR, name);
    st_file *in;
    xt_status s = st_open(f->path, &in);
    if (s) fail_msg("%s", xt_status_message(s));
    f->n = st_count(in);
    f->tensors = calloc(f->n + 1, sizeof *f->tensors);
    assert_non_null(f->tensors);
    for (size_t i = 0; i < f->n; i++) {
        const st_entry *e = st_at(in, i);
        parity_tensor *t = &f->tensors[i];
        size_t bytes = (size_t)(e->end - e->begin);
        snprintf(t->name, sizeof t->name, "%s", e->name);
        t->type = ir_tensor(e->dtype, (size_t)e->rank, e->dims);
        t->data = malloc(bytes + 1);
        assert_non_null(t->data);
        if ((s = st_read(in, e, t->data, bytes))) fail_msg("%s", xt_status_message(s));
    }
    st_close(in);
    return f;
}

static inline void parity_close_file(parity_file *f) {
    for (size_t i = 0; i < f->n; i++) free(f->tensors[i].data);
    free(f->tensors);
    free(f);
}

/* "case/what" by printf's rules; NULL when absent. */
BASE_PRINTF(2, 3)
static inline const parity_tensor *parity_find(const parity_file *f, const char *fmt, ...) {
    char name[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(name, sizeof name, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->tensors[i].name, name) == 0) return &f->tensors[i];
    return NULL;
}

static inline const parity_tensor *parity_get(const parity_file *f, const char *name) {
    const parity_tensor *t = parity_find(f, "%s", name);
    if (!t) fail_msg("%s holds no tensor %s", f->path, name);
    return t;
}

static inline double parity_element(const parity_tensor *t, int64_t i) {
    return lazy_as_double((const char *)t->data + (size_t)i * xt_dtype_size(t->type->dtype), t->type->dtype);
}

/* A tensor of the file, for this step. */
static inline xt_tensor parity_input(const parity_file *f, const char *name) {
    const parity_tensor *t = parity_get(f, name);
    xt_tensor x = xt_from_data(t->data, t->type->dtype, (int)t->type->rank, t->type->dims);
    return x;
}

static inline void parity_no_error(const char *what) {
    if (xt_error()) fail_msg("%s: %s", what, xt_status_message(xt_error()));
}

static inline char *parity_where(int64_t i, const ir_type *t, char *buf, size_t n) {
    size_t at = 0;
    int64_t left = t->count;
    buf[0] = 0;
    for (uint32_t k = 0; k < t->rank; k++) {
        left /= t->dims[k];
        at += (size_t)snprintf(buf + at, n - at, "%s%lld", k ? "," : "", (long long)(i / left % t->dims[k]));
    }
    return buf;
}

/* Compares `got` (read here: one program of its own unless it is kept from an ended step) with the file's tensor
 * `name`: same dtype and shape, and every element within rtol times the tensor's largest magnitude, plus atol. rtol 0
 * means PARITY_RTOL; integers and truth values must be equal. */
static inline void parity_close(const parity_file *f, const char *name, xt_tensor got, double rtol, double atol) {
    const parity_tensor *want = parity_get(f, name);
    parity_no_error(name);
    const ir_type *t = lazy_type(got);
    if (!t) fail_msg("%s: there is no tensor to compare", name);
    if (t != want->type) {
        str a = STR_INIT, b = STR_INIT;
        ir_type_print(t, &a);
        ir_type_print(want->type, &b);
        fail_msg("%s: it is %s, PyTorch's is %s", name, str_cstr(&a), str_cstr(&b));
    }
    size_t bytes = ir_type_bytes(t);
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    if (!xt_read(got, data, bytes)) fail_msg("%s: %s", name, xt_status_message(xt_error()));
    parity_tensor mine = {.type = t, .data = data};
    double largest = 0;
    for (int64_t i = 0; i < t->count; i++) largest = fmax(largest, fabs(parity_element(want, i)));
    double size = isfinite(largest) ? largest : 1;
    if (atol == PARITY_OR_1) size = fmax(size, 1), atol = 0;
    double bound = ir_dtype_is_float(t->dtype) ? (rtol > 0 ? rtol : PARITY_RTOL) * size + atol : 0;
    for (int64_t i = 0; i < t->count; i++) {
        double g = parity_element(&mine, i), w = parity_element(want, i);
        char at[128];
        if (!(fabs(g - w) <= bound) && g != w && !(isnan(g) && isnan(w)))
            fail_msg("%s [%s]: %.9g, PyTorch has %.9g (difference %.3g, bound %.3g)", name,
                     parity_where(i, t, at, sizeof at), g, w, g - w, bound);
    }
    free(data);
}

/* Hands every tensor "case/w/NAME" to m, which must not have run yet: its first pass takes them as if loaded from a
 * file. Gives their number. */
static inline int parity_weights(const parity_file *f, const char *name, xt_module *m) {
    char prefix[128];
    int n = 0;
    size_t len = (size_t)snprintf(prefix, sizeof prefix, "%s/w/", name);
    for (size_t i = 0; i < f->n; i++)
        if (strncmp(f->tensors[i].name, prefix, len) == 0) {
            const parity_tensor *t = &f->tensors[i];
            xt_status s = nn_preload(m->root, t->name + len, t->type, t->data);
            if (s) fail_msg("%s: %s", t->name, xt_status_message(s));
            n++;
        }
    return n;
}

/* How many tensors of the file begin with "case/group/". */
static inline int parity_count(const parity_file *f, const char *name, const char *group) {
    char prefix[128];
    int n = 0;
    size_t len = (size_t)snprintf(prefix, sizeof prefix, "%s/%s/", name, group);
    for (size_t i = 0; i < f->n; i++) n += strncmp(f->tensors[i].name, prefix, len) == 0;
    return n;
}

/* The loss of a case: sum of r_i * y_i over the outputs that have an r. */
static inline xt_tensor parity_loss(const parity_file *f, const char *name, const xt_tensor *y) {
    xt_tensor loss = {0};
    for (int i = 0; i < PARITY_MOST; i++) {
        char what[256];
        snprintf(what, sizeof what, "%s/r%d", name, i);
        if (!parity_find(f, "%s", what)) continue;
        xt_tensor part = xt_sum(xt_mul(y[i], parity_input(f, what)));
        loss = xt_is_none(loss) ? part : xt_add(loss, part);
    }
    return loss;
}

/* Compares the gradients of m's parameters with "case/g/NAME" and its buffers with "case/b/NAME", none missing on
 * either side. After the step. */
static inline void parity_module(const parity_file *f, const char *name, const xt_module *m, double rtol, double atol) {
    int grads = 0, buffers = 0;
    for (int i = 0; i < xt_module_tensors(m); i++) {
        bool param = xt_module_tensor_is_param(m, i);
        char what[256];
        snprintf(what, sizeof what, "%s/%s/%s", name, param ? "g" : "b", xt_module_tensor_name(m, i));
        xt_tensor t = param ? xt_grad(xt_module_tensor(m, i)) : xt_module_tensor(m, i);
        if (param && xt_is_none(t) && !parity_find(f, "%s", what)) continue;
        if (xt_is_none(t)) fail_msg("%s: there is no gradient, PyTorch has one", what);
        parity_close(f, what, t, rtol, atol);
        grads += param;
        buffers += !param;
    }
    if (grads != parity_count(f, name, "g") || buffers != parity_count(f, name, "b"))
        fail_msg("%s: %d gradients and %d buffers, PyTorch has %d and %d", name, grads, buffers,
                 parity_count(f, name, "g"), parity_count(f, name, "b"));
}

typedef void (*parity_fn)(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user);
typedef struct parity_call {
    parity_fn fn;
    const xt_tensor *x;
    xt_tensor *y;
    void *user;
} parity_call;
static inline xt_tensor parity_forward(xt_module *m, xt_tensor x, void *user) {
    (void)x;
    parity_call *c = user;
    c->fn(m, c->x, c->y, c->user);
    return c->y[0];
}

/* A case of f64 is f64 throughout: where its inputs are, and the file's outputs are floats, nothing that it and its
 * derivative record is f32, which would leave 1e-8 of 1e-16. Not of modules, whose parameters are f32. */
static inline void parity_stays_f64(const parity_file *f, const char *name, parity_fn fn, void *user) {
    xt_tensor x[PARITY_MOST] = {{0}}, y[PARITY_MOST] = {{0}}, loss = {0};
    int floats = 0;
    for (int i = 0; i < PARITY_MOST; i++) {
        const parity_tensor *t = parity_find(f, "%s/x%d", name, i), *out = parity_find(f, "%s/y%d", name, i);
        if (out && !ir_dtype_is_float(out->type->dtype)) return;
        if (!t) continue;
        bool is_float = t->type->dtype == XT_F32;
        double *v = calloc((size_t)t->type->count + 1, sizeof *v);
        assert_non_null(v);
        for (int64_t k = 0; k < t->type->count; k++) v[k] = parity_element(t, k);
        x[i] = is_float ? xt_from_data(v, XT_F64, (int)t->type->rank, t->type->dims)
                        : xt_from_data(t->data, t->type->dtype, (int)t->type->rank, t->type->dims);
        x[i] = xt_keep(x[i]);
        if (is_float && parity_find(f, "%s/dx%d", name, i)) xt_requires_grad(x[i], true);
        floats += is_float;
        free(v);
    }
    if (!floats) return;
    if (!xt_mark_step()) fail_msg("%s in f64: %s", name, xt_status_message(xt_error()));
    parity_call call = {fn, x, y, user};
    xt_module *m = xt_module_new(parity_forward, &call);
    const parity_tensor *train = parity_find(f, "%s/train", name);
    if (train && parity_element(train, 0) == 0) xt_eval(m);
    xt_forward(m, x[0]);
    for (int i = 0; i < PARITY_MOST; i++)
        if (!xt_is_none(y[i]) && parity_find(f, "%s/r%d", name, i))
            loss = xt_is_none(loss) ? xt_sum(y[i]) : xt_add(loss, xt_sum(y[i]));
    if (!xt_is_none(loss)) xt_backward(loss);
    parity_no_error(name);
    const lazy_ctx *c = lazy_ctx_get();
    for (const ir_op *op = c->b.block->first; op; op = op->next)
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].type->dtype == XT_F32)
                fail_msg("%s of f64 records an f32: %s at %s:%d", name, ir_op_infos[op->code].name,
                         src_get(op->src)->file, src_get(op->src)->line);
}

/* Runs one case whole: x0, x1, ... in, y0, y1, ... out, backward, and every comparison the file has tensors for.
 * Functions without parameters run the same way and leave m alone. */
static inline void parity_case(const parity_file *f, const char *name, parity_fn fn, void *user, double rtol,
                               double atol) {
    xt_tensor x[PARITY_MOST] = {{0}}, y[PARITY_MOST] = {{0}};
    char what[256];
    parity_call call = {fn, x, y, user};
    xt_module *m = xt_module_new(parity_forward, &call);
    assert_non_null(m);
    int loaded = parity_weights(f, name, m);
    const parity_tensor *train = parity_find(f, "%s/train", name);
    if (train && parity_element(train, 0) == 0) xt_eval(m);
    for (int i = 0; i < PARITY_MOST; i++) {
        snprintf(what, sizeof what, "%s/x%d", name, i);
        if (!parity_find(f, "%s", what)) continue;
        x[i] = xt_keep(parity_input(f, what));
        if (parity_find(f, "%s/dx%d", name, i)) xt_requires_grad(x[i], true);
    }
    xt_forward(m, x[0]);
    parity_no_error(name);
    if (xt_module_tensors(m) != loaded)
        fail_msg("%s: the module has %d tensors, the file has %d", name, xt_module_tensors(m), loaded);
    xt_tensor loss = parity_loss(f, name, y);
    if (!xt_is_none(loss)) xt_backward(loss);
    for (int i = 0; i < PARITY_MOST; i++)
        if (!xt_is_none(y[i])) y[i] = xt_keep(y[i]);
    parity_no_error(name);
    if (!xt_mark_step()) fail_msg("%s: %s", name, xt_status_message(xt_error()));
    for (int i = 0; i < PARITY_MOST; i++) {
        snprintf(what, sizeof what, "%s/y%d", name, i);
        if (xt_is_none(y[i]) != !parity_find(f, "%s", what))
            fail_msg("%s: the outputs here and there differ in number", what);
        if (!xt_is_none(y[i])) parity_close(f, what, y[i], rtol, atol);
        snprintf(what, sizeof what, "%s/dx%d", name, i);
        if (parity_find(f, "%s", what)) parity_close(f, what, xt_grad(x[i]), rtol, atol);
    }
    parity_module(f, name, m, rtol, atol);
    for (int i = 0; i < PARITY_MOST; i++) {
        bool passed = y[i].slot == x[i].slot; /* a layer that does nothing gives its input back */
        if (!xt_is_none(x[i])) xt_drop(x[i]);
        if (!xt_is_none(y[i]) && !passed) xt_drop(y[i]);
    }
    xt_module_free(m);
}

/* A program that is one table of cases at the usual tolerance. */
typedef struct parity_row {
    const char *name;
    parity_fn fn;
} parity_row;
static inline void parity_cases(const char *file, const parity_row *rows, size_t n) {
    parity_file *f = parity_open(file);
    for (size_t i = 0; i < n; i++) {
        parity_case(f, rows[i].name, rows[i].fn, NULL, 0, 0);
        lazy_reset_thread();
        if (!parity_count(f, rows[i].name, "w")) parity_stays_f64(f, rows[i].name, rows[i].fn, NULL);
        lazy_reset_thread();
    }
    parity_close_file(f);
    assert_int_equal(xt_finish(), 0);
}
#define PARITY_MAIN(file, rows)                                      \
    static void cases(void **state) {                                \
        (void)state;                                                 \
        parity_cases(file, rows, BASE_COUNT(rows));                  \
    }                                                                \
    int main(void) {                                                 \
        const struct CMUnitTest tests[] = {cmocka_unit_test(cases)}; \
        return cmocka_run_group_tests(tests, NULL, NULL);            \
    }

#endif
