/* Random compositions that JAX lowered to StableHLO: our gradients of the forward text, and their products with the
 * Hessian, against those of jax.grad, through the reference interpreter. The files are made by
 * tests/peers/grad_random.py; a few are kept in tests/grad_jax (found from the root of the tree, where tests run).
 * Another folder: XT_GRAD_JAX=DIR, one file: an argument. */
#include "grad_numeric.h"
#include "pass/pass.h"

#include <dirent.h>
#include <stdlib.h>

typedef struct example {
    char *text;
    size_t bytes;
    const char *path;
    ir_module *m;
    size_t n;
    array in[NUMERIC_MAX_IN], out[2 * NUMERIC_MAX_IN];
    size_t second; /* 1: the file has products with the Hessian too */
} example;

/* The numbers after `// what k: ` at the head of the file. */
static bool listed(const example *e, const char *what, size_t k, array *out) {
    char key[40];
    snprintf(key, sizeof key, "// %s %zu: ", what, k);
    const char *p = strstr(e->text, key);
    if (!p) return false;
    p += strlen(key);
    for (int64_t i = 0; i < out->type->count; i++) {
        char *end;
        array_set(out, i, strtod(p, &end));
        if (end == p) return false;
        p = end;
    }
    return *p == '\n';
}

/* sum over the gradients of g . cos(0, 1, 2, ...), what grad_random.py calls a slope. */
static ir_value *slope(ir_builder *b, size_t n, ir_value *const *g) {
    ir_value *sum = ir_splat(b, ir_scalar(XT_F64), 0);
    for (size_t k = 0; k < n; k++) {
        if (!g[k]) continue;
        int64_t count = g[k]->type->count;
        const int64_t all = 0;
        ir_value *v = ir_cosine(b, ir_iota(b, ir_tensor(XT_F64, 1, &count), 0));
        sum = ir_add(b, sum, ir_reduce(b, OP_add, ir_multiply(b, ir_reshape(b, g[k], 1, &count), v), 1, &all));
    }
    return sum;
}

static void differentiate(example *e) {
    xt_status s = ir_parse(e->text, e->bytes, e->path, &e->m);
    if (s) fail_msg("%s: %s", e->path, xt_status_message(s));
    ir_func *f = ir_func_find(e->m, "main");
    assert_non_null(f);
    ir_op *ret = ir_block_return(f->body);
    ir_value *y = ret->in[0], *out[2 * NUMERIC_MAX_IN];
    ir_erase(ret);
    f->result_types = NULL;
    f->result_attrs = NULL;
    f->n_result_attrs = NULL;
    e->n = f->body->n_args;
    assert_true(e->n <= NUMERIC_MAX_IN);
    for (size_t i = 0; i < e->n; i++) f->body->args[i]->user = 1;
    ir_builder b = ir_at_end(e->m, f->body);
    for (size_t round = 0; round < 1 + e->second; round++) {
        ir_value **g = out + round * e->n;
        if (round) y = slope(&b, e->n, out);
        mark_dependence(f->body);
        s = grad_reverse(&b, y, NULL, e->n, f->body->args, depends, NULL, g);
        if (s) fail_msg("%s: %s", e->path, xt_status_message(s));
    }
    for (size_t i = 0; i < (1 + e->second) * e->n; i++)
        if (!out[i]) out[i] = ir_splat(&b, f->body->args[i % e->n]->type, 0);
    ir_return(&b, (1 + e->second) * e->n, out);
    ok(b.status);
    ok(pass_expand_chlo(e->m));
    ok(ir_verify(e->m));
}

static void compare(example *e) {
    static const char *const what[] = {"grad", "hvp"};
    ir_func *f = ir_func_find(e->m, "main");
    size_t n_out = (1 + e->second) * e->n;
    for (size_t i = 0; i < e->n; i++) {
        ok(array_new(f->body->args[i]->type, &e->in[i]));
        if (!listed(e, "input", i, &e->in[i])) fail_msg("%s: input %zu is not listed", e->path, i);
    }
    xt_status s = interp_run(e->m, "main", NULL, e->n, e->in, n_out, e->out);
    if (s) fail_msg("%s: %s", e->path, xt_status_message(s));
    for (size_t k = 0; k < n_out; k++) {
        array want;
        ok(array_new(f->body->args[k % e->n]->type, &want));
        if (!listed(e, what[k / e->n], k % e->n, &want))
            fail_msg("%s: %s %zu is not listed", e->path, what[k / e->n], k % e->n);
        for (int64_t i = 0; i < want.type->count; i++) {
            double a = array_get(&want, i), b = array_get(&e->out[k], i);
            /* Both are exact formulas in f64; special functions are approximated by different polynomials. */
            if (!(fabs(a - b) <= 1e-7 * (1 + fabs(a))))
                fail_msg("%s: %s %zu element %lld is %.12g, JAX says %.12g", e->path, what[k / e->n], k % e->n,
                         (long long)i, b, a);
        }
        array_free(&want);
    }
    for (size_t i = 0; i < e->n; i++) array_free(&e->in[i]);
    for (size_t i = 0; i < n_out; i++) array_free(&e->out[i]);
}

static void check_file(void **state) {
    example e = {.path = *state};
    ok(file_read_all(e.path, &e.text, &e.bytes));
    e.second = strstr(e.text, "// hvp 0: ") != NULL;
    differentiate(&e);
    compare(&e);
    ir_module_free(e.m);
    base_free(e.text);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int main(int argc, char **argv) {
    const char *dir = getenv("XT_GRAD_JAX");
    struct CMUnitTest *tests = NULL;
    size_t n = 0, cap = 0;
    if (!dir) dir = "tests/grad_jax";
    if (argc > 1) {
        struct CMUnitTest t = {.name = argv[1], .test_func = check_file, .initial_state = argv[1]};
        if (!VEC_PUSH(tests, n, cap, t)) return 1;
    }
    DIR *d = argc > 1 ? NULL : opendir(dir);
    for (struct dirent *at; d && (at = readdir(d));) {
        char *path = strstr(at->d_name, ".mlir") ? path_join(dir, at->d_name) : NULL;
        struct CMUnitTest t = {.name = path, .test_func = check_file, .initial_state = path};
        if (path && !VEC_PUSH(tests, n, cap, t)) return 1;
    }
    if (d) closedir(d);
    if (!n) {
        fprintf(stderr, "no programs in %s\n", dir);
        return 1;
    }
    qsort(tests, n, sizeof *tests, by_name);
    int failed = _cmocka_run_group_tests("grad_jax", tests, n, NULL, NULL);
    for (size_t i = 0; i < n && argc < 2; i++) base_free((char *)(uintptr_t)tests[i].name);
    base_free(tests);
    return failed;
}
