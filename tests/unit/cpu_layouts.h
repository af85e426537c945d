/* Runs a program once on the reference interpreter and then on the CPU compiler in each layout of images, and compares
 * every result. */
#ifndef XT_TESTS_CPU_LAYOUTS_H
#define XT_TESTS_CPU_LAYOUTS_H

#include "cpu_differential.h"

static const char *const image_layouts[] = {"blocked", "auto", "plain"};

typedef struct layout_terms {
    double tol;
    bool by_norm; /* results as a whole; else each element */
    size_t n_layouts; /* of image_layouts, the first */
    int threads;
    uint64_t draw; /* other inputs */
} layout_terms;

/* As far from the interpreter's result as rounding goes. An element: `tol` of the largest one, for sums of many
 * terms of both signs leave an error of that size in the small ones too. By norm: where values are rounded to bf16
 * on the way, one in a hundred masks falls the other way, which moves single elements by all they are and the
 * whole by a tenth. */
static inline bool results_agree(const char *name, size_t n, const array *want, const array *got,
                                 const layout_terms *c) {
    for (size_t j = 0; j < n; j++) {
        double most = 0, off = 0, all = 0, furthest = 0;
        int64_t worst = 0;
        for (int64_t i = 0; i < want[j].type->count; i++) {
            double w = array_get(&want[j], i), d = fabs(w - array_get(&got[j], i));
            bool same = w == array_get(&got[j], i) || (isnan(w) && isnan(array_get(&got[j], i)));
            if (isfinite(w)) most = fmax(most, fabs(w));
            if (isfinite(w)) all += w * w;
            if (same) continue;
            if (isnan(d)) d = INFINITY;
            if (d > furthest) worst = i;
            furthest = fmax(d, furthest);
            off += d * d;
        }
        double w = want[j].type->count ? array_get(&want[j], worst) : 0;
        double g = want[j].type->count ? array_get(&got[j], worst) : 0;
        bool near = w == g || (isnan(w) && isnan(g)) || fabs(w - g) <= c->tol * (1 + most);
        if (c->by_norm) near = sqrt(off) <= c->tol * (sqrt(all) + 0.1 * sqrt((double)want[j].type->count));
        if (near) continue;
        print_error("%s: result %zu element %lld: interpreter %.9g, compiler %.9g (%g of the whole)\n", name, j,
                    (long long)worst, w, g, sqrt(off / all));
        return false;
    }
    return true;
}

static inline bool layout_agrees(const char *name, const char *text, const array *in, size_t n_out, const array *want,
                                 const layout_terms *c) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array got[DIFF_MAX] = {0};
    int from[DIFF_MAX];
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    xt_status s = cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = c->threads}, &e);
    if (!s) s = cpu_device_new(c->threads, NULL, &d);
    if (!s) s = cpu_run(e, d, &a, in, NULL, got, from);
    bool same = !s && results_agree(name, n_out, want, got, c);
    if (s) print_error("%s: %s\n", name, xt_status_message(s));
    for (size_t j = 0; j < n_out && !s; j++) heap_free(&h, got[j].data, ir_type_bytes(got[j].type));
    xt_status_free(s);
    assert_int_equal(h.live, 0);
    cpu_device_free(d);
    cpu_exec_free(e);
    return same;
}

/* False, and said, where a layout gives something else than the interpreter. */
static inline bool layouts_agree(const char *name, const char *text, const layout_terms *c) {
    ir_module *m = NULL;
    array in[DIFF_MAX] = {0}, want[DIFF_MAX] = {0};
    bool same = true;
    expect_ok(ir_parse(text, strlen(text), name, &m), name);
    const ir_block *body = ir_func_find(m, "main")->body;
    size_t n_in = body->n_args, n_out = body->last->n_in;
    assert_true(n_in <= DIFF_MAX && n_out <= DIFF_MAX);
    for (size_t i = 0; i < n_in; i++) {
        expect_ok(array_new(body->args[i]->type, &in[i]), name);
        fill_random(&in[i], 100 + i + 1000 * c->draw);
    }
    expect_ok(interp_run(m, "main", NULL, n_in, in, n_out, want), name);
    for (size_t k = 0; k < c->n_layouts; k++) {
        str what = STR_INIT;
        str_printf(&what, "%s, XT_CPU_LAYOUT=%s", name, image_layouts[k]);
        setenv("XT_CPU_LAYOUT", image_layouts[k], 1);
        same = layout_agrees(str_cstr(&what), text, in, n_out, want, c) && same;
        str_free(&what);
    }
    unsetenv("XT_CPU_LAYOUT");
    for (size_t i = 0; i < n_in; i++) array_free(&in[i]);
    for (size_t j = 0; j < n_out; j++) array_free(&want[j]);
    ir_module_free(m);
    return same;
}

#endif
