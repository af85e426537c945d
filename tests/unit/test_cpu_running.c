/* Running folds by any region: interpreter against compiler over shapes, directions and element types, that they are
 * steps and no windows, and that what is in the padding counts where it changes a fold. */
#include "cpu/run/plan.h"
#include "cpu_differential.h"

typedef struct region {
    const char *name, *type[2], *init[2]; /* of the one or two operands */
    const char *body; /* from %x0_, %y0_ (%x1_, %y1_) to %r0_ (%r1_) */
    double tol;
} region;
static const region regions[] = {
    {"log of sums of exponentials",
     {"f32"},
     {"0xFF800000"},
     "%m_ = stablehlo.maximum %x0_, %y0_ : tensor<f32>\n%d_ = stablehlo.subtract %x0_, %y0_ : tensor<f32>\n"
     "%n_ = stablehlo.compare NE, %d_, %d_, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
     "%s_ = stablehlo.add %x0_, %y0_ : tensor<f32>\n%a_ = stablehlo.abs %d_ : tensor<f32>\n"
     "%g_ = stablehlo.negate %a_ : tensor<f32>\n%e_ = stablehlo.exponential %g_ : tensor<f32>\n"
     "%l_ = stablehlo.log_plus_one %e_ : tensor<f32>\n%t_ = stablehlo.add %m_, %l_ : tensor<f32>\n"
     "%r0_ = stablehlo.select %n_, %s_, %t_ : tensor<i1>, tensor<f32>\n",
     1e-5},
    {"affine maps, one behind the other",
     {"f32", "f32"},
     {"1.0", "0.0"},
     "%r0_ = stablehlo.multiply %x0_, %y0_ : tensor<f32>\n%p_ = stablehlo.multiply %x1_, %y0_ : tensor<f32>\n"
     "%r1_ = stablehlo.add %p_, %y1_ : tensor<f32>\n",
     1e-4},
    {"the largest and where it was",
     {"f32", "i32"},
     {"0xFF800000", "0"},
     "%g_ = stablehlo.compare GE, %x0_, %y0_ : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
     "%r0_ = stablehlo.select %g_, %x0_, %y0_ : tensor<i1>, tensor<f32>\n"
     "%r1_ = stablehlo.select %g_, %x1_, %y1_ : tensor<i1>, tensor<i32>\n",
     0},
    {"sums of bf16",
     {"bf16"},
     {"0.0"},
     "%r0_ = stablehlo.add %x0_, %y0_ : tensor<bf16>\n",
     0.1}, /* backwards it is another order of up to 64 sums, each rounded to 8 bits */
    {"bits", {"i16"}, {"0"}, "%r0_ = stablehlo.xor %x0_, %y0_ : tensor<i16>\n", 0},
    {"products of bytes", {"ui8"}, {"1"}, "%r0_ = stablehlo.multiply %x0_, %y0_ : tensor<ui8>\n", 0},
    {"sums that begin with a one, as often as it lies in the padding",
     {"i32"},
     {"1"},
     "%r0_ = stablehlo.add %x0_, %y0_ : tensor<i32>\n",
     0},
};
typedef struct shape {
    const char *dims; /* with an x behind the last */
    const char *window, *padding[2]; /* forwards, backwards */
    int rank;
} shape;
static const shape shapes[] = {
    {"70x90x", "1, 90", {"[0, 0], [89, 0]", "[0, 0], [0, 89]"}, 2},
    {"90x70x", "90, 1", {"[89, 0], [0, 0]", "[0, 89], [0, 0]"}, 2},
    {"4x33x40x", "1, 33, 1", {"[0, 0], [32, 0], [0, 0]", "[0, 0], [0, 32], [0, 0]"}, 3},
    {"3x301x2x", "1, 301, 1", {"[0, 0], [300, 0], [0, 0]", "[0, 0], [0, 300], [0, 0]"}, 3},
    {"777x", "800", {"[799, 0]", "[0, 799]"}, 1},
};

static void program(const region *r, const shape *s, int backwards, str *out) {
    int n = r->type[1] ? 2 : 1;
    str_append(out, "func.func @main(");
    for (int j = 0; j < n; j++) str_printf(out, "%s%%a%d: tensor<%s%s>", j ? ", " : "", j, s->dims, r->type[j]);
    str_append(out, ") -> (");
    for (int j = 0; j < n; j++) str_printf(out, "%stensor<%s%s>", j ? ", " : "", s->dims, r->type[j]);
    str_append(out, ") {\n");
    for (int j = 0; j < n; j++)
        str_printf(out, "%%i%d = stablehlo.constant dense<%s> : tensor<%s>\n", j, r->init[j], r->type[j]);
    str_printf(out, "%%w:%d = \"stablehlo.reduce_window\"(%%a0%s, %%i0%s) ({\n^bb0(", n, n == 2 ? ", %a1" : "",
               n == 2 ? ", %i1" : "");
    for (int k = 0; k < 2 * n; k++)
        str_printf(out, "%s%%%c%d_: tensor<%s>", k ? ", " : "", k < n ? 'x' : 'y', k % n, r->type[k % n]);
    str_printf(out, "):\n%sstablehlo.return %%r0_%s : tensor<%s>", r->body, n == 2 ? ", %r1_" : "", r->type[0]);
    if (n == 2) str_printf(out, ", tensor<%s>", r->type[1]);
    str_printf(out, "\n}) {window_dimensions = array<i64: %s>, padding = dense<[%s]> : tensor<%dx2xi64>} : (",
               s->window, s->padding[backwards], s->rank);
    for (int k = 0; k < 2 * n; k++)
        str_printf(out, "%stensor<%s%s>", k ? ", " : "", k < n ? s->dims : "", r->type[k % n]);
    str_append(out, ") -> (");
    for (int j = 0; j < n; j++) str_printf(out, "%stensor<%s%s>", j ? ", " : "", s->dims, r->type[j]);
    str_append(out, ")\nreturn ");
    for (int j = 0; j < n; j++) str_printf(out, "%s%%w#%d", j ? ", " : "", j);
    str_append(out, " : ");
    for (int j = 0; j < n; j++) str_printf(out, "%stensor<%s%s>", j ? ", " : "", s->dims, r->type[j]);
    str_append(out, "\n}\n");
}

static void is_a_running_fold(const char *name, const char *text) {
    cpu_exec *e = NULL;
    bool found = false;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), name);
    for (size_t t = 0; t < e->plan.n_thunks; t++)
        found = found || strcmp(e->plan.thunks[t].kernel->name, "running-fold") == 0;
    if (!found) fail_msg("%s: no running fold", name);
    cpu_exec_free(e);
}

static void equal_to_windows(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(regions); i++)
        for (size_t k = 0; k < BASE_COUNT(shapes); k++)
            for (int backwards = 0; backwards < 2; backwards++) {
                str text = STR_INIT;
                char name[160];
                snprintf(name, sizeof name, "%s, %s%s", regions[i].name, shapes[k].dims, backwards ? " backwards" : "");
                program(&regions[i], &shapes[k], backwards, &text);
                differ(name, str_cstr(&text), regions[i].tol, backwards ? 3 : 2, false);
                is_a_running_fold(name, str_cstr(&text));
                str_free(&text);
            }
}

/* Some hundred thousand steps in one line: nothing that grows as their square would end. */
static void one_long_line(void **state) {
    (void)state;
    enum { N = 300000 };
    static const shape line = {"300000x", "300000", {"[299999, 0]", "[0, 299999]"}, 1};
    for (int backwards = 0; backwards < 2; backwards++) {
        str text = STR_INIT;
        cpu_exec *e = NULL;
        cpu_device *d = NULL;
        array in = {0}, out = {0};
        int from;
        heap h = {0};
        cpu_alloc a = {&h, heap_alloc, heap_free};
        program(&regions[4], &line, backwards, &text);
        expect_ok(cpu_compile(str_cstr(&text), text.len, &(cpu_compile_opts){.threads = 2}, &e), "line");
        expect_ok(cpu_device_new(2, NULL, &d), "line");
        expect_ok(array_new(cpu_exec_input_type(e, 0), &in), "line");
        for (int i = 0; i < N; i++) ((int16_t *)in.data)[i] = (int16_t)(i * 31);
        expect_ok(cpu_run(e, d, &a, &in, (bool[]){false}, &out, &from), "line");
        int16_t all = 0;
        for (int k = 0; k < N; k++) {
            int i = backwards ? N - 1 - k : k;
            all = (int16_t)(all ^ ((int16_t *)in.data)[i]);
            assert_int_equal(((int16_t *)out.data)[i], all);
        }
        heap_free(&h, out.data, ir_type_bytes(out.type));
        array_free(&in);
        cpu_device_free(d);
        cpu_exec_free(e);
        str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_to_windows), cmocka_unit_test(one_long_line)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
