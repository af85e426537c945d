/* Which ops still run on the reference interpreter's code: every conformance program is compiled, regions of loops and
 * branches included, and the list of (op, element type) is held against the one below. Run by hand with LIST=1 it
 * prints what it found. */
#include <dirent.h>

#include "cpu/run/plan.h"
#include "cpu_differential.h"

#include "cpu/vector/blas.h"

/* Allowed, each with its reason. (Not met in these programs, and on that code too: regions that are not made of
 * elementwise ops on scalars, or whose types are wider than the operands'; ops of tuples, tokens and calls inside
 * control flow; LAPACK's calls where OpenBLAS is not installed.) */
static const char *const allowed[] = {
    "custom_call", /* where OpenBLAS is missing; with it nothing is allowed, see below */
};

static size_t programs, regions, thunks, interpreted;

static void look(const cpu_exec *e, const char *name) {
    for (size_t t = 0; t < e->plan.n_thunks; t++) {
        const cpu_thunk *th = &e->plan.thunks[t];
        cpu_exec *const *inside = NULL;
        size_t n = th->kernel->programs ? th->kernel->programs(th->state, &inside) : 0;
        for (size_t i = 0; i < n; i++) look(inside[i], name);
        regions += n;
        thunks++;
        if (strncmp(th->kernel->name, "interpret", 9) != 0) continue;
        interpreted++;
        const char *op = ir_op_infos[th->op->code].name;
        bool known = false;
        for (size_t i = 0; i < BASE_COUNT(allowed) && !known; i++) known = strcmp(allowed[i], op) == 0 && !blas_get();
        if (getenv("LIST"))
            print_message("%-28s %-22s %s\n", name, op,
                          th->op->n_out && th->op->out[0].type->kind == IR_TENSOR
                              ? ir_dtype_mlir(th->op->out[0].type->dtype)
                              : "");
        if (!known) fail_msg("%s: %s runs on the interpreter's code", name, op);
    }
}

static void programs_are_compiled(void **state) {
    (void)state;
    const char *root = "tests/conformance/programs";
    DIR *d = opendir(root);
    if (!d) skip();
    for (struct dirent *f; (f = readdir(d));) {
        char path[512], *text;
        size_t n;
        cpu_exec *e = NULL;
        snprintf(path, sizeof path, "%s/%.200s/prog.mlir", root, f->d_name);
        if (*f->d_name == '.' || !file_exists(path)) continue;
        expect_ok(file_read_all(path, &text, &n), path);
        xt_status s = cpu_compile(text, n, NULL, &e);
        base_free(text);
        if (s) { /* sizes known only when running are made static by others first */
            xt_status_free(s);
            continue;
        }
        programs++;
        look(e, f->d_name);
        cpu_exec_free(e);
    }
    closedir(d);
    print_message(
        "%zu programs, %zu regions of loops and branches, %zu thunks, %zu of them on the interpreter's code\n",
        programs, regions, thunks, interpreted);
    assert_true(programs > 50);
    assert_true(regions > 20);
    assert_true(interpreted * 20 < thunks);
}

/* A row UNARY_OP or BINARY_OP of ops.def without its instruction runs, slowly and in silence: each is compiled here, in
 * the first element type that its rule takes. */
static void elementwise_ops_are_instructions(void **state) {
    (void)state;
    static const char *const types[] = {"f32", "i32", "i1", "complex<f32>"};
    size_t seen = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        const ir_op_info *info = &ir_op_infos[op];
        size_t n = strlen(info->properties);
        if ((info->cls != IR_CLASS_UNARY && info->cls != IR_CLASS_BINARY) || (n && info->properties[n - 1] != '?'))
            continue; /* what needs an attribute */
        if (!(info->flags & IR_ELEMENTWISE) || strcmp(info->dialect, "stablehlo") != 0) continue;
        cpu_exec *e = NULL;
        bool two = info->cls == IR_CLASS_BINARY;
        for (size_t k = 0; k < BASE_COUNT(types) && !e; k++) {
            char text[1024];
            const char *t = types[k];
            /* result types are what the op's rule says: of a complex abs its part, of is_finite a truth value */
            static const char *const results[] = {"", "i1", "f32", "complex<f32>"};
            for (size_t r = 0; r < BASE_COUNT(results) && !e; r++) {
                const char *to = *results[r] ? results[r] : t;
                snprintf(text, sizeof text,
                         "func.func @main(%%x: tensor<37x%s>, %%y: tensor<37x%s>) -> tensor<37x%s> {\n"
                         "%%0 = \"%s.%s\"(%%x%s) : (tensor<37x%s>%s%s%s) -> tensor<37x%s>\nreturn %%0 : "
                         "tensor<37x%s>\n}\n",
                         t, t, to, info->dialect, info->name, two ? ", %y" : "", t, two ? ", tensor<37x" : "",
                         two ? t : "", two ? ">" : "", to, to);
                xt_status_free(cpu_compile(text, strlen(text), NULL, &e));
            }
        }
        if (!e) fail_msg("%s compiles in no element type", info->name);
        look(e, info->name);
        cpu_exec_free(e);
        seen++;
    }
    assert_true(seen > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_are_compiled),
                                       cmocka_unit_test(elementwise_ops_are_instructions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
