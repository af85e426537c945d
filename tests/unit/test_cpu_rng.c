/* Random kernels of the CPU compiler: rng_bit_generator against the authors' own known answers (Random123's
 * kat_vectors) and bit for bit against the interpreter, for each algorithm, state, type and shape, on one thread and on
 * two; rng by its range and its moments. */
#include "cpu/run/plan.h"
#include "cpu_differential.h"

enum { STATES = 2, OUTS = 2 };

typedef struct machine { /* a program, ready to run on `threads` threads */
    cpu_exec *exec;
    cpu_device *device;
    heap memory;
} machine;

static machine machine_of(const char *text, int threads, const char *kernel) {
    machine m = {0};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &m.exec), text);
    expect_ok(cpu_device_new(threads, NULL, &m.device), text);
    bool found = false;
    for (size_t t = 0; t < m.exec->plan.n_thunks; t++)
        found = found || strcmp(m.exec->plan.thunks[t].kernel->name, kernel) == 0;
    if (!found) fail_msg("no %s runs in\n%s", kernel, text);
    return m;
}

static void machine_run(machine *m, const array *in, array *out) {
    int from[OUTS];
    cpu_alloc a = {&m->memory, heap_alloc, heap_free};
    expect_ok(cpu_run(m->exec, m->device, &a, in, NULL, out, from), "a random kernel");
}

static void machine_drop(machine *m, array *out, size_t n) {
    for (size_t j = 0; j < n; j++) heap_free(&m->memory, out[j].data, ir_type_bytes(out[j].type));
}

static void machine_free(machine *m) {
    assert_int_equal(m->memory.live, 0);
    cpu_device_free(m->device);
    cpu_exec_free(m->exec);
}

static str bits_text(const char *algorithm, int words, const char *type) {
    str s = STR_INIT;
    str_printf(&s,
               "func.func @main(%%s: tensor<%dxui64>) -> (tensor<%dxui64>, tensor<%s>) {\n"
               "  %%n, %%r = stablehlo.rng_bit_generator %%s, algorithm = %s : (tensor<%dxui64>) -> "
               "(tensor<%dxui64>, tensor<%s>)\n"
               "  return %%n, %%r : tensor<%dxui64>, tensor<%s>\n}",
               words, words, type, algorithm, words, words, type, words, type);
    return s;
}

/* --- known answers --- */
static const struct known {
    const char *algorithm, *type;
    int words;
    uint64_t state[3], next[3];
    uint32_t bits[4]; /* of 32-bit words as they lie in memory */
} known[] = {
    {"PHILOX", "4xui32", 3, {0, 0, 0}, {0, 1, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {"PHILOX",
     "4xui32",
     3,
     {UINT64_MAX, UINT64_MAX, UINT64_MAX}, /* the counter's end: it begins again */
     {UINT64_MAX, 0, 0},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {"PHILOX",
     "2xui64",
     3,
     {UINT64_C(0x299f31d0a4093822), UINT64_C(0x85a308d3243f6a88), UINT64_C(0x0370734413198a2e)},
     {UINT64_C(0x299f31d0a4093822), UINT64_C(0x85a308d3243f6a89), UINT64_C(0x0370734413198a2e)},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    {"THREE_FRY", "1xui64", 2, {0, 0}, {0, 1}, {0x6b200159, 0x99ba4efe}},
    {"THREE_FRY", "2xui32", 2, {UINT64_MAX, UINT64_MAX}, {UINT64_MAX, 0}, {0x1cb996fc, 0xbb002be7}},
    {"THREE_FRY",
     "1xui64",
     2,
     {UINT64_C(0x0370734413198a2e), UINT64_C(0x85a308d3243f6a88)},
     {UINT64_C(0x0370734413198a2e), UINT64_C(0x85a308d3243f6a89)},
     {0xc4923a9c, 0x483df7a0}},
};

static void known_answers(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(known); i++) {
        const struct known *k = &known[i];
        int64_t words = k->words;
        str text = bits_text(k->algorithm, k->words, k->type);
        machine m = machine_of(str_cstr(&text), 1, "random-bits");
        array in = {ir_tensor(XT_U64, 1, &words), (void *)k->state}, out[OUTS];
        machine_run(&m, &in, out);
        assert_memory_equal(out[0].data, k->next, (size_t)k->words * sizeof *k->next);
        assert_memory_equal(out[1].data, k->bits, ir_type_bytes(out[1].type));
        machine_drop(&m, out, OUTS);
        machine_free(&m);
        str_free(&text);
    }
}

/* --- against the interpreter --- */
static void same_bits(const char *algorithm, int64_t words, const char *type) {
    /* the low word of the counter carries within the larger shapes */
    static const uint64_t seeds[STATES][3] = {{UINT64_C(0x123456789abcdef0), 7, UINT64_C(0xfeedfacecafebeef)},
                                              {UINT64_MAX - 1, UINT64_MAX - 2, 3}};
    str text = bits_text(algorithm, (int)words, type);
    ir_module *program = NULL;
    expect_ok(ir_parse(str_cstr(&text), strlen(str_cstr(&text)), "bits", &program), str_cstr(&text));
    for (int threads = 1; threads <= 2; threads++) {
        machine m = machine_of(str_cstr(&text), threads, "random-bits");
        for (int s = 0; s < STATES; s++) {
            array in = {ir_tensor(XT_U64, 1, &words), (void *)seeds[s]}, want[OUTS], got[OUTS];
            expect_ok(interp_run(program, "main", NULL, 1, &in, OUTS, want), str_cstr(&text));
            machine_run(&m, &in, got);
            for (int j = 0; j < OUTS; j++) {
                if (memcmp(want[j].data, got[j].data, ir_type_bytes(want[j].type)) != 0)
                    fail_msg("result %d on %d threads, state %d of\n%s", j, threads, s, str_cstr(&text));
                array_free(&want[j]);
            }
            machine_drop(&m, got, OUTS);
        }
        machine_free(&m);
    }
    ir_module_free(program);
    str_free(&text);
}

static void every_type_and_shape(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t words;
    } algorithms[] = {{"DEFAULT", 2}, {"DEFAULT", 3}, {"PHILOX", 2}, {"PHILOX", 3}, {"THREE_FRY", 2}};
    static const char *const types[] = {"i1", "i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"};
    static const char *const shapes[] = {"", "1x", "3x", "0x", "7x2x", "5x3x", "2x3x5x", "3x4x5x", "257x", "131x129x"};
    char type[48];
    for (size_t a = 0; a < BASE_COUNT(algorithms); a++)
        for (size_t t = 0; t < BASE_COUNT(types); t++)
            for (size_t s = 0; s < BASE_COUNT(shapes); s++) {
                snprintf(type, sizeof type, "%s%s", shapes[s], types[t]);
                same_bits(algorithms[a].name, algorithms[a].words, type);
            }
}

/* --- rng --- */
enum { DRAWS = 100000 };

static void draw(const char *distribution, float a, float b, int threads, int64_t runs, array *out) {
    str text = STR_INIT;
    str_printf(&text,
               "func.func @main(%%a: tensor<f32>, %%b: tensor<f32>) -> tensor<%dxf32> {\n"
               "  %%n = stablehlo.constant dense<%d> : tensor<1xi64>\n"
               "  %%r = stablehlo.rng %%a, %%b, %%n, distribution = %s : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> "
               "tensor<%dxf32>\n  return %%r : tensor<%dxf32>\n}",
               DRAWS, DRAWS, distribution, DRAWS, DRAWS);
    machine m = machine_of(str_cstr(&text), threads, "random");
    array in[2] = {{ir_scalar(XT_F32), &a}, {ir_scalar(XT_F32), &b}};
    for (int64_t k = 0; k < runs; k++) {
        array one;
        machine_run(&m, in, &one);
        assert_null(array_new(one.type, &out[k]));
        memcpy(out[k].data, one.data, ir_type_bytes(one.type));
        machine_drop(&m, &one, 1);
    }
    machine_free(&m);
    str_free(&text);
}

static void moments(const array *x, double *mean, double *deviation) {
    const float *v = x->data;
    double sum = 0, squares = 0;
    for (int i = 0; i < DRAWS; i++) sum += v[i];
    *mean = sum / DRAWS;
    for (int i = 0; i < DRAWS; i++) squares += (v[i] - *mean) * (v[i] - *mean);
    *deviation = sqrt(squares / DRAWS);
}

/* The error of a mean of n draws is deviation / sqrt(n), that of a deviation about 0.7 of it: five of these are
 * allowed, and the streams are the same in each process. */
static void distributions(void **state) {
    (void)state;
    double mean, deviation, error = 5 / sqrt((double)DRAWS);
    for (int threads = 1; threads <= 2; threads++) {
        array x[2];
        draw("UNIFORM", -1, 3, threads, 2, x);
        moments(&x[0], &mean, &deviation);
        assert_true(fabs(mean - 1) < error * deviation);
        assert_true(fabs(deviation - 4 / sqrt(12)) < error * deviation);
        for (int i = 0; i < DRAWS; i++) assert_true(((float *)x[0].data)[i] >= -1 && ((float *)x[0].data)[i] < 3);
        assert_memory_not_equal(x[0].data, x[1].data, DRAWS * sizeof(float)); /* each run draws anew */
        array_free(&x[0]), array_free(&x[1]);
        draw("NORMAL", 10, 2, threads, 2, x);
        moments(&x[0], &mean, &deviation);
        assert_true(fabs(mean - 10) < error * deviation);
        assert_true(fabs(deviation - 2) < error * deviation);
        int far = 0;
        for (int i = 0; i < DRAWS; i++) far += fabsf(((float *)x[0].data)[i] - 10) > 4;
        /* 4.55 % lie beyond two deviations */
        assert_true(abs(far - (int)(0.0455 * DRAWS)) < 5 * sqrt(0.0455 * DRAWS));
        assert_memory_not_equal(x[0].data, x[1].data, DRAWS * sizeof(float));
        array_free(&x[0]), array_free(&x[1]);
    }
}

/* [a, b) of two neighbours has one number, though a + (b - a) * u rounds to b for half of the u. */
static void the_end_is_left_out(void **state) {
    (void)state;
    array x;
    float a = 1, b = nextafterf(1, 2);
    draw("UNIFORM", a, b, 1, 1, &x);
    for (int i = 0; i < DRAWS; i++) assert_true(((float *)x.data)[i] == a);
    array_free(&x);
}

/* States and types that no kernel takes are the interpreter's, as before. */
static void other_types_run_too(void **state) {
    (void)state;
    static const char text[] = "func.func @main(%a: tensor<f64>, %b: tensor<f64>) -> tensor<64xf64> {\n"
                               "  %n = stablehlo.constant dense<64> : tensor<1xi64>\n"
                               "  %r = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f64>, tensor<f64>, "
                               "tensor<1xi64>) -> tensor<64xf64>\n  return %r : tensor<64xf64>\n}";
    machine m = machine_of(text, 1, "interpreter");
    double a = 5, b = 6;
    array in[2] = {{ir_scalar(XT_F64), &a}, {ir_scalar(XT_F64), &b}}, out;
    machine_run(&m, in, &out);
    for (int i = 0; i < 64; i++) assert_true(((double *)out.data)[i] >= 5 && ((double *)out.data)[i] < 6);
    machine_drop(&m, &out, 1);
    machine_free(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_answers), cmocka_unit_test(every_type_and_shape),
                                       cmocka_unit_test(distributions), cmocka_unit_test(the_end_is_left_out),
                                       cmocka_unit_test(other_types_run_too)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
