/* Products on packed panels: against sums in f64, for both ways of cutting, all layouts, and sizes that fill neither
 * panels nor blocks of k; the number of threads changes no bit; and a program's large f32 products take this way. */
#include "cpu_differential.h"

#include <math.h>

#include "cpu/run/plan.h"
#include "cpu/vector/packed.h"

typedef struct shape {
    int64_t m, n, k;
    bool by_rows;
} shape;
static const shape shapes[] = {{256, 768, 160, false},
                               {37, 1001, 1030, false},
                               {33, 515, 2100, false},
                               {1003, 145, 211, true},
                               {4001, 49, 193, true}};

static float *filled(int64_t n, uint32_t seed) {
    float *p = base_malloc((size_t)n * sizeof *p);
    assert_non_null(p);
    for (int64_t i = 0; i < n; i++) p[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 16) / 32768.0f - 1.0f;
    return p;
}

static void compare(const shape *s, const packed_product *p, const float *a, const float *b, const float *c) {
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t q = 0; q < 24; q++) { /* the last columns and some others */
            int64_t j = q < 8 ? s->n - 1 - q : (i * 131 + q * 7919) % s->n;
            double want = 0;
            for (int64_t x = 0; x < s->k; x++)
                want += (double)a[i * p->a_row + x * p->a_col] * (double)b[x * p->b_row + j * p->b_col];
            assert_true(fabs((double)c[i * s->n + j] - want) <= 4e-6 * (double)s->k); /* operands are below 1 */
        }
}

static void one_shape(const shape *s, bool turn_a, bool turn_b) {
    packed_product p = {.m = s->m, .n = s->n, .k = s->k};
    p.a_row = turn_a ? 1 : s->k, p.a_col = turn_a ? s->m : 1, p.b_row = turn_b ? 1 : s->n, p.b_col = turn_b ? s->k : 1;
    float *a = filled(s->m * s->k, 1), *b = filled(s->k * s->n, 2),
          *c[2] = {filled(s->m * s->n, 3), filled(s->m * s->n, 4)};
    static const int threads[] = {1, 2, 9}; /* 9: tasks are cut */
    for (size_t t = 0; t < BASE_COUNT(threads); t++) {
        cpu_team team = {.threads = threads[t]};
        assert_true(packed_plan(&p, team.threads));
        assert_int_equal(p.by_rows, s->by_rows);
        size_t bytes = packed_scratch(&p, team.threads);
        char *scratch = base_malloc(bytes + 64);
        assert_non_null(scratch);
        memset(scratch, 0xff, bytes + 64); /* a NaN wherever something is read that was not written */
        team_enter(&team, true);
        packed_run(&p, &team, a, b, c[t > 0], scratch);
        team_leave(&team);
        team_deinit(&team);
        for (int i = 0; i < 64; i++) assert_int_equal((unsigned char)scratch[bytes + (size_t)i], 0xff);
        base_free(scratch);
        if (t > 0) assert_memory_equal(c[0], c[1], (size_t)(s->m * s->n) * sizeof(float));
    }
    compare(s, &p, a, b, c[0]);
    base_free(a);
    base_free(b);
    base_free(c[0]);
    base_free(c[1]);
}

static void all_shapes(void **state) {
    (void)state;
    if (!packed_get()) skip();
    for (size_t i = 0; i < BASE_COUNT(shapes); i++) one_shape(&shapes[i], i % 2, i / 2 % 2);
    one_shape(&shapes[0], true, true);
    one_shape(&shapes[3], false, true);
}

static void small_ones_are_left_alone(void **state) {
    (void)state;
    packed_product few_rows = {.m = 8, .n = 4096, .k = 4096, .a_row = 4096, .a_col = 1, .b_row = 4096, .b_col = 1};
    packed_product small = {.m = 64, .n = 64, .k = 64, .a_row = 64, .a_col = 1, .b_row = 64, .b_col = 1};
    packed_product strided = {.m = 512, .n = 512, .k = 512, .a_row = 1024, .a_col = 2, .b_row = 512, .b_col = 1};
    assert_false(packed_plan(&few_rows, 2));
    assert_false(packed_plan(&small, 2));
    assert_false(packed_plan(&strided, 2));
}

static void programs_take_it(void **state) {
    (void)state;
    if (!packed_get()) skip();
    cpu_compile_opts opts = {.threads = 2};
    static const char text[] =
        "func.func @main(%a: tensor<256x768xf32>, %b: tensor<384x768xf32>, %g: tensor<256x384xf32>) -> "
        "(tensor<256x384xf32>, tensor<384x768xf32>) {\n"
        "%0 = stablehlo.transpose %b, dims = [1, 0] : (tensor<384x768xf32>) -> tensor<768x384xf32>\n"
        "%1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<256x768xf32>, tensor<768x384xf32>) "
        "-> tensor<256x384xf32>\n"
        "%2 = stablehlo.dot_general %g, %a, contracting_dims = [0] x [0] : (tensor<256x384xf32>, tensor<256x768xf32>) "
        "-> tensor<384x768xf32>\n"
        "return %1, %2 : tensor<256x384xf32>, tensor<384x768xf32>\n}\n";
    cpu_exec *e = NULL;
    assert_null(cpu_compile(text, sizeof text - 1, &opts, &e));
    int packed = 0;
    for (size_t i = 0; i < e->plan.n_thunks; i++)
        packed += strcmp(e->plan.thunks[i].kernel->name, "packed-matmul") == 0;
    assert_int_equal(packed, 2);
    assert_int_equal(e->plan.n_thunks, 2); /* the transpose is a stride */
    cpu_exec_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_shapes), cmocka_unit_test(small_ones_are_left_alone),
                                       cmocka_unit_test(programs_take_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
