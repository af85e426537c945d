/* Random compositions that JAX lowered to StableHLO: our gradients of the forward text against those of jax.grad, through the reference interpreter.
 * The files are made by tests/peers/grad_random.py; a few are kept in tests/grad_jax (found from the root of the tree, where tests run). Another folder: XT_GRAD_JAX=DIR, one file: an argument. */
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
    array in[NUMERIC_MAX_IN], out[NUMERIC_MAX_IN + 1];
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

static void differentiate(example *e) {
    xt_status s = ir_parse(e->text, e->bytes, e->path, &e->m);
    if (s) fail_msg("%s: %s", e->path, xt_status_message(s));
    ir_func *f = ir_func_find(e->m, "main");
    assert_non_null(f);
    ir_op *ret = ir_block_return(f->body);
    ir_value *y = ret->in[0], *out[NUMERIC_MAX_IN + 1];
    ir_erase(ret);
    f->result_types = NULL;
    e->n = f->body->n_args;
    assert_true(e->n <= NUMERIC_MAX_IN);
    for (size_t i = 0; i < e->n; i++) f->body->args[i]->user = 1;
    mark_dependence(f->body);
    ir_builder b = ir_at_end(e->m, f->body);
    s = grad_reverse(&b, y, NULL, e->n, f->body->args, depends, NULL, out + 1);
    if (s) fail_msg("%s: %s", e->path, xt_status_message(s));
    out[0] = y;
    for (size_t i = 0; i < e->n; i++)
        if (!out[1 + i]) out[1 + i] = ir_splat(&b, f->body->args[i]->type, 0);
    ir_return(&b, e->n + 1, out);
    ok(b.status);
    ok(pass_lower_chlo(e->m));
    ok(ir_verify(e->m));
    f->n_result_attrs = NULL;
    f->result_attrs = NULL;
}

static void compare(example *e) {
    ir_func *f = ir_func_find(e->m, "main");
    for (size_t i = 0; i < e->n; i++) {
        ok(array_new(f->body->args[i]->type, &e->in[i]));
        if (!listed(e, "input", i, &e->in[i])) fail_msg("%s: input %zu is not listed", e->path, i);
    }
    xt_status s = interp_run(e->m, "main", NULL, e->n, e->in, e->n + 1, e->out);
    if (s) fail_msg("%s: %s", e->path, xt_status_message(s));
    for (size_t k = 0; k < e->n; k++) {
        array want;
        ok(array_new(f->body->args[k]->type, &want));
        if (!listed(e, "grad", k, &want)) fail_msg("%s: gradient %zu is not listed", e->path, k);
        for (int64_t i = 0; i < want.type->count; i++) {
            double a = array_get(&want, i), b = array_get(&e->out[1 + k], i);
            /* Both are exact formulas in f64; special functions are approximated by different polynomials. */
            if (!(fabs(a - b) <= 1e-7 * (1 + fabs(a)))) fail_msg("%s: gradient %zu element %lld is %.12g, JAX says %.12g", e->path, k, (long long)i, b, a);
        }
        array_free(&want);
    }
    for (size_t i = 0; i < e->n; i++) array_free(&e->in[i]);
    for (size_t i = 0; i <= e->n; i++) array_free(&e->out[i]);
}

static void check_file(void **state) {
    example e = {.path = *state};
    ok(file_read_all(e.path, &e.text, &e.bytes));
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
