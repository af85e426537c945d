/* XT_DEBUG=redzones: kernels that write beside their place, leave a part of it unwritten, or read what nobody has
 * written are named; sound programs, loops and branches among them, give what the interpreter gives. */
#include "cpu_layouts.h"
#include "random_sequence.h"

#include "cpu/run/zones.h"

/* Three thunks: a product, a sort of it, and a product of the sorted. */
static const char program[] =
    "func.func @main(%x: tensor<6x5xf32>) -> tensor<6x6xf32> {\n"
    "%a = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<6x5xf32>, tensor<6x5xf32>) -> "
    "tensor<6x6xf32>\n"
    "%s = \"stablehlo.sort\"(%a) <{dimension = 1 : i64, is_stable = true}> ({\n"
    "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
    "%c = stablehlo.compare LT, %p, %q, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "stablehlo.return %c : tensor<i1>\n"
    "}) : (tensor<6x6xf32>) -> tensor<6x6xf32>\n"
    "%r = stablehlo.dot_general %s, %a, contracting_dims = [1] x [0] : (tensor<6x6xf32>, tensor<6x6xf32>) -> "
    "tensor<6x6xf32>\n"
    "return %r : tensor<6x6xf32>\n}\n";

enum { BYTES = 36 * sizeof(float) };
static const cpu_kernel *sound; /* what the spoilt kernel is made of */

/* As machine code without AddressSanitizer's checks, which end the program at such a place. */
__attribute__((no_sanitize("address"), noinline)) static float exchange(void *at, float v) {
    volatile float *p = at;
    float was = *p;
    *p = v;
    return was;
}

static xt_status writes_behind(const cpu_call *c) {
    XT_TRY(sound->run(c));
    exchange((char *)c->out[0] + BYTES + 4, 1);
    return NULL;
}
static xt_status writes_before(const cpu_call *c) {
    XT_TRY(sound->run(c));
    exchange((char *)c->out[0] - 8, 1);
    return NULL;
}
static xt_status writes_an_input(const cpu_call *c) {
    XT_TRY(sound->run(c));
    exchange((char *)c->in[0] + BYTES, 1);
    return NULL;
}
static xt_status leaves_the_last(const cpu_call *c) {
    float was = exchange((char *)c->out[0] + BYTES - 4, 1);
    XT_TRY(sound->run(c));
    exchange((char *)c->out[0] + BYTES - 4, was);
    return NULL;
}
static xt_status reads_behind(const cpu_call *c) {
    void *behind = (char *)c->in[0] + BYTES;
    XT_TRY(sound->run(c));
    float found = exchange(behind, 1);
    exchange(behind, found);
    *(float *)c->out[0] += found;
    return NULL;
}

static void run_with(size_t thunk, xt_status (*run)(const cpu_call *), const char *named, const char *says) {
    cpu_exec *e = NULL;
    cpu_device *d = NULL;
    array in = {0}, out = {0};
    int from;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    expect_ok(cpu_compile(program, strlen(program), &(cpu_compile_opts){.threads = 1}, &e), "compile");
    expect_ok(cpu_device_new(1, NULL, &d), "a device");
    assert_int_equal(e->plan.n_thunks, 3);
    cpu_thunk *th = &e->plan.thunks[thunk];
    sound = th->kernel;
    cpu_kernel spoilt = *sound;
    if (run) spoilt.run = run, th->kernel = &spoilt;
    expect_ok(array_new(cpu_exec_input_type(e, 0), &in), "an input");
    fill_random(&in, 1);
    xt_status s = cpu_run(e, d, &a, &in, NULL, &out, &from);
    th->kernel = sound;
    if (!says) {
        expect_ok(s, "a sound program");
        heap_free(&h, out.data, BYTES);
    } else {
        assert_non_null(s);
        if (!strstr(xt_status_message(s), named) || !strstr(xt_status_message(s), says))
            fail_msg("\"%s\" has not both \"%s\" and \"%s\"", xt_status_message(s), named, says);
        xt_status_free(s);
    }
    assert_int_equal(h.live, 0);
    array_free(&in);
    cpu_device_free(d);
    cpu_exec_free(e);
}

static void mistakes_are_named(void **state) {
    (void)state;
    setenv("XT_DEBUG", "redzones", 1);
    run_with(0, NULL, "", NULL);
    run_with(0, writes_behind, "n0 (stablehlo.dot_general)", "writes 4 to 7 bytes behind the end of a place of 144");
    run_with(1, writes_before, "n1 (stablehlo.sort)", "writes 5 to 8 bytes before a place of 144");
    run_with(1, writes_an_input, "n1 (stablehlo.sort)", "of n0 (stablehlo.dot_general)");
    run_with(0, leaves_the_last, "n1 (stablehlo.sort)", "has 1 elements that nobody has written");
    run_with(2, leaves_the_last, "program main", "result 0 has 1 elements that nobody has written");
    run_with(1, reads_behind, "n2 (stablehlo.dot_general)", "has 1 elements that nobody has written");
    unsetenv("XT_DEBUG");
}

static void sound_graphs_pass(void **state) {
    (void)state;
    setenv("XT_DEBUG", "redzones", 1);
    for (int sequences = 0; sequences < 2; sequences++) {
        if (sequences) setenv("XT_CPU_SMALL", "1", 1);
        for (uint64_t seed = 1; seed <= 24; seed++) {
            str text = STR_INIT;
            bool half = false, same = false;
            expect_ok((sequences ? random_sequence : random_graph)(seed, &text, &half), "a graph");
            layout_terms c = {.tol = half ? 0.2 : 3e-4,
                              .by_norm = half,
                              .n_layouts = sequences ? 1 : BASE_COUNT(image_layouts),
                              .threads = 1 + (int)(seed % 2)};
            for (; c.draw < 3 && !same; c.draw++) same = layouts_agree("a graph", str_cstr(&text), &c);
            if (!same) fail_msg("seed %llu:\n%s", (unsigned long long)seed, str_cstr(&text));
            str_free(&text);
        }
    }
    unsetenv("XT_CPU_SMALL");
    unsetenv("XT_DEBUG");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(mistakes_are_named), cmocka_unit_test(sound_graphs_pass)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
