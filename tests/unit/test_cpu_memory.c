/* Who owns which memory: donation, sharing, running out, several runs and threads; and what an executable says
 * about itself. */
#include "cpu_differential.h"

#include <pthread.h>

#include "cpu/run/plan.h"

typedef struct fixture { /* a compiled program, a device, inputs made by fill_random */
    cpu_exec *e;
    cpu_device *d;
    heap h;
    cpu_alloc a;
    array in[8], out[8];
    bool donated[8];
    int from[8];
} fixture;

static void open_program(fixture *f, const char *text, int threads) {
    memset(f, 0, sizeof *f);
    f->a = (cpu_alloc){&f->h, heap_alloc, heap_free};
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = threads}, &f->e), "compile");
    expect_ok(cpu_device_new(threads, NULL, &f->d), "device");
    for (size_t i = 0; i < cpu_exec_inputs(f->e); i++) {
        expect_ok(array_new(cpu_exec_input_type(f->e, i), &f->in[i]), "input");
        fill_random(&f->in[i], i + 1);
    }
}
static void free_outputs(fixture *f) {
    for (size_t j = 0; j < cpu_exec_outputs(f->e); j++)
        if (f->out[j].data && f->from[j] < 0) heap_free(&f->h, f->out[j].data, ir_type_bytes(f->out[j].type));
}
static void close_program(fixture *f) {
    for (size_t i = 0; i < cpu_exec_inputs(f->e); i++) array_free(&f->in[i]);
    assert_int_equal(f->h.live, 0);
    cpu_device_free(f->d);
    cpu_exec_free(f->e);
}

#define SGD                                                                                                            \
    "func.func @main(%p: tensor<1000xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<1000xf32> {tf.aliasing_output = " \
    "1 : i32}, %g: "                                                                                                   \
    "tensor<1000xf32>) -> "                                                                                            \
    "(tensor<1000xf32>, tensor<1000xf32>) {\n%h = stablehlo.constant dense<0.5> : tensor<1000xf32>\n"                  \
    "%0 = stablehlo.multiply %h, %m : tensor<1000xf32> loc(\"n3\")\n"                                                  \
    "%1 = stablehlo.add %0, %g : tensor<1000xf32>\n"                                                                   \
    "%2 = stablehlo.subtract %p, %1 : "                                                                                \
    "tensor<1000xf32>\n"                                                                                               \
    "return %2, %1 : tensor<1000xf32>, tensor<1000xf32>\n}\n"

static void donated_arguments_are_updated_in_place(void **state) {
    (void)state;
    fixture f;
    open_program(&f, SGD, 2);
    float p[1000], m[1000];
    const float *g = f.in[2].data;
    for (int i = 0; i < 1000; i++) {
        m[i] = 0.5f * ((float *)f.in[1].data)[i] + g[i];
        p[i] = ((float *)f.in[0].data)[i] - m[i];
    }
    assert_int_equal(cpu_exec_alias(f.e, 0), 0);
    assert_int_equal(cpu_exec_alias(f.e, 1), 1);
    assert_int_equal(cpu_exec_alias(f.e, 2), -1);
    f.donated[0] = f.donated[1] = true;
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, f.donated, f.out, f.from), "run");
    assert_int_equal(f.from[0], 0);
    assert_int_equal(f.from[1], 1);
    assert_ptr_equal(f.out[0].data, f.in[0].data);
    assert_true(f.h.calls <= 1); /* the loop's scratch, where it is no machine code, and nothing else */
    for (int i = 0; i < 1000; i++) {
        assert_true(fabsf(((float *)f.out[0].data)[i] - p[i]) < 1e-6f);
        assert_true(fabsf(((float *)f.out[1].data)[i] - m[i]) < 1e-6f);
    }
    const cpu_stats *s = cpu_exec_stats(f.e);
    assert_int_equal(s->argument_bytes, 12000);
    assert_int_equal(s->output_bytes, 8000);
    assert_int_equal(s->alias_bytes, 8000);
    assert_int_equal(s->peak_bytes, 12000 + s->temp_bytes);
    assert_true(s->flops == 3000);
    close_program(&f);
}

/* The new value exists long before the old one has been read for the last time. */
static void an_old_value_read_late_survives(void **state) {
    (void)state;
    static const char *const texts[] = {
        "func.func @main(%p: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %g: tensor<64x64xf32>) -> "
        "(tensor<64x64xf32>, tensor<64x64xf32>) {\n"
        "%0 = stablehlo.subtract %p, %g : tensor<64x64xf32>\n"
        "%1 = stablehlo.dot_general %0, %g, contracting_dims = [1] x [0] : (tensor<64x64xf32>, "
        "tensor<64x64xf32>) -> tensor<64x64xf32>\n"
        "%2 = stablehlo.dot_general %1, %p, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> "
        "tensor<64x64xf32>\n"
        "return %0, "
        "%2 : tensor<64x64xf32>, tensor<64x64xf32>\n}\n",
        /* the old value is a result itself */
        "func.func @main(%p: tensor<9xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<9xf32>, tensor<9xf32>) {\n"
        "%0 = stablehlo.negate %p : "
        "tensor<9xf32>\nreturn %0, %p : tensor<9xf32>, tensor<9xf32>\n}\n",
        /* two arguments change places */
        "func.func @main(%a: tensor<9xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<9xf32> {tf.aliasing_output = 1 : "
        "i32}) -> (tensor<9xf32>, "
        "tensor<9xf32>) {\n"
        "return %b, %a : tensor<9xf32>, tensor<9xf32>\n}\n",
        /* one loop writes over %a and reads it again for its second result */
        "func.func @main(%a: tensor<5000xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<5000xf32> {tf.aliasing_output "
        "= 1 : i32}) -> "
        "(tensor<5000xf32>, tensor<5000xf32>) {\n"
        "%0 = stablehlo.add %a, %b : tensor<5000xf32>\n"
        "%1 = stablehlo.multiply %0, %a : tensor<5000xf32>\n"
        "%2 = stablehlo.subtract %1, %b : "
        "tensor<5000xf32>\n"
        "return %0, %2 : tensor<5000xf32>, tensor<5000xf32>\n}\n",
        /* the loop reads the argument turned around: other blocks' elements */
        "func.func @main(%a: tensor<5000xf32> {tf.aliasing_output = 0 : i32}) -> tensor<5000xf32> {\n"
        "%0 = stablehlo.reverse %a, dims = [0] : "
        "tensor<5000xf32>\n"
        "%1 = stablehlo.add %a, %0 : tensor<5000xf32>\nreturn %1 : tensor<5000xf32>\n}\n",
        /* an update inside a donated array, and the array before the update */
        "func.func @main(%a: tensor<50xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<5xf32>, %i: tensor<i32>) -> "
        "(tensor<50xf32>, tensor<50xf32>) "
        "{\n"
        "%0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<50xf32>, tensor<5xf32>, tensor<i32>) -> "
        "tensor<50xf32>\n"
        "%1 = stablehlo.add %a, %0 "
        ": tensor<50xf32>\n"
        "return %0, %1 : tensor<50xf32>, tensor<50xf32>\n}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(texts); i++)
        for (int threads = 1; threads <= 2; threads++) differ("an old value", texts[i], 1e-4, threads, true);
}

static void a_donated_array_is_updated_without_a_copy(void **state) {
    (void)state;
    fixture f;
    open_program(&f,
                 "func.func @main(%a: tensor<50xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<5xf32>, %i: "
                 "tensor<i32>) -> tensor<50xf32> {\n"
                 "%0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<50xf32>, tensor<5xf32>, tensor<i32>) -> "
                 "tensor<50xf32>\n"
                 "return %0 : "
                 "tensor<50xf32>\n}\n",
                 1);
    f.donated[0] = true;
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, f.donated, f.out, f.from), "run");
    assert_int_equal(f.from[0], 0);
    assert_int_equal(f.h.calls, 0);
    close_program(&f);
}

/* Listed as recorded, all gradients of weights after the whole backward pass, what they read would be there until the
 * end: here 4 values and their gradients of 1 MiB. Each is made and applied when its operands are there. */
static void gradients_do_not_keep_what_they_read(void **state) {
    (void)state;
#define M "tensor<512x512xf32>"
#define DOT(out, a, b, left, right) \
    out " = stablehlo.dot_general " a ", " b ", contracting_dims = [" left "] x [" right "] : (" M ", " M ") -> " M "\n"
#define FORWARD(to, from, w) DOT("%p" to, from, w, "1", "0") "%a" to " = stablehlo.tanh %p" to " : " M "\n"
#define BACKWARD(to, from, w) \
    DOT("%q" to, from, w, "1", "1") "%d" to " = stablehlo.multiply %q" to ", %a" to " : " M "\n"
#define UPDATE(k, a, d) DOT("%g" k, a, d, "0", "0") "%n" k " = stablehlo.subtract %w" k ", %g" k " : " M "\n"
    fixture f;
    open_program(&f,
                 "func.func @main(%x: " M ", %w1: " M " {tf.aliasing_output = 0 : i32}, %w2: " M
                 " {tf.aliasing_output = 1 : i32}, %w3: " M " {tf.aliasing_output = 2 : i32}, %w4: " M
                 " {tf.aliasing_output = 3 : i32}) -> (" M ", " M ", " M ", " M ") {\n" FORWARD("1", "%x", "%w1")
                     FORWARD("2", "%a1", "%w2") FORWARD("3", "%a2", "%w3") FORWARD("4", "%a3", "%w4")
                         BACKWARD("3", "%a4", "%w4") BACKWARD("2", "%d3", "%w3") BACKWARD("1", "%d2", "%w2")
                             UPDATE("1", "%x", "%d1") UPDATE("2", "%a1", "%d2") UPDATE("3", "%a2", "%d3")
                                 UPDATE("4", "%a3", "%a4") "return %n1, %n2, %n3, %n4 : " M ", " M ", " M ", " M
                                                           "\n}\n",
                 2);
    /* 9 MiB in the order listed, products' scratch among them */
    assert_in_range(cpu_exec_stats(f.e)->temp_bytes, 6 << 20, (7 << 20) + (1 << 19));
    close_program(&f);
}

#define CHAIN                                                                                                          \
    "func.func @main(%a: tensor<256x128xf32>, %b: tensor<128x256xf32>) -> (tensor<256x256xf32>, tensor<256xf32>) {\n"  \
    "%z = stablehlo.constant "                                                                                         \
    "dense<0.0> : tensor<f32>\n"                                                                                       \
    "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<256x128xf32>, tensor<128x256xf32>) -> " \
    "tensor<256x256xf32> "                                                                                             \
    "loc(\"n17\")\n"                                                                                                   \
    "%1 = stablehlo.tanh %0 : tensor<256x256xf32>\n"                                                                   \
    "%2 = stablehlo.dot_general %1, %0, contracting_dims = [1] x [0] : (tensor<256x256xf32>, "                         \
    "tensor<256x256xf32>) -> tensor<256x256xf32>\n"                                                                    \
    "%3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<256x256xf32>, "        \
    "tensor<f32>) -> "                                                                                                 \
    "tensor<256xf32>\nreturn %2, %3 : tensor<256x256xf32>, tensor<256xf32>\n}\n"

static void running_out_of_memory_is_told_and_survived(void **state) {
    (void)state;
    fixture f;
    open_program(&f, CHAIN, 2);
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from), "run");
    free_outputs(&f);
    int64_t calls = f.h.calls;
    assert_int_equal(calls, 3); /* two results, one arena */
    for (int64_t n = 1; n <= calls; n++) {
        f.h.calls = 0;
        f.h.fail_at = n;
        xt_status s = cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from);
        assert_int_equal(xt_status_code(s), XT_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(xt_status_message(s), "largest buffers"));
        assert_non_null(strstr(xt_status_message(s), "n17 (stablehlo.dot_general)"));
        assert_non_null(strstr(xt_status_message(s), "0.25 MiB  tensor<256x256xf32>"));
        xt_status_free(s);
        assert_int_equal(f.h.live, 0);
        for (int j = 0; j < 2; j++) assert_null(f.out[j].data);
    }
    f.h.fail_at = 0;
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from), "run after running out");
    free_outputs(&f);
    close_program(&f);
}

/* Every allocation of compiling and running fails once in turn; whatever comes back is whole or an error. */
static void failing_allocations_are_errors(void **state) {
    (void)state;
    static const char *const texts[] = {SGD, CHAIN};
    for (size_t k = 0; k < BASE_COUNT(texts); k++) {
        int64_t fails = 0;
        for (int64_t n = 1; n < 100000; n += 1 + n / 40) {
            cpu_exec *e = NULL;
            base_fail_alloc_after(n);
            xt_status s = cpu_compile(texts[k], strlen(texts[k]), &(cpu_compile_opts){.threads = 1}, &e);
            base_fail_alloc_after(-1);
            if (!s) {
                cpu_exec_free(e);
                break;
            }
            fails++;
            assert_null(e);
            xt_status_free(s);
        }
        assert_true(fails > 20);
        fixture f;
        open_program(&f, texts[k], 1);
        for (int64_t n = 1; n < 100; n++) {
            base_fail_alloc_after(n);
            xt_status s = cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from);
            base_fail_alloc_after(-1);
            if (!s) {
                free_outputs(&f);
                break;
            }
            assert_int_equal(xt_status_code(s), XT_RESOURCE_EXHAUSTED);
            xt_status_free(s);
            assert_int_equal(f.h.live, 0);
        }
        close_program(&f);
    }
}

static void wrong_arguments_are_refused(void **state) {
    (void)state;
    fixture f;
    open_program(&f, SGD, 1);
    const ir_type *right = f.in[1].type;
    f.in[1].type = ir_tensor(XT_F32, 1, (int64_t[]){999});
    xt_status s = cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    assert_non_null(strstr(xt_status_message(s), "tensor<999xf32>"));
    xt_status_free(s);
    f.in[1].type = right;
    close_program(&f);
    static const char *const bad[] = {"", "module {", "module {}",
                                      "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n"
                                      "return %a : tensor<?xf32>\n"
                                      "}\n"};
    for (size_t i = 0; i < BASE_COUNT(bad); i++) {
        cpu_exec *e;
        s = cpu_compile(bad[i], strlen(bad[i]), NULL, &e);
        assert_non_null(s);
        xt_status_free(s);
    }
}

/* Updates listed at the end run as soon as their gradient exists, but not before the last reader of the parameter
 * they overwrite. */
static void updates_do_not_keep_gradients_alive(void **state) {
    (void)state;
    str t = STR_INIT;
    enum { N = 6 };
    str_append(&t, "func.func @main(%x: tensor<64x64xf32>");
    for (int i = 0; i < N; i++) str_printf(&t, ", %%p%d: tensor<64x64xf32> {tf.aliasing_output = %d : i32}", i, i);
    str_append(&t, ") -> (tensor<64x64xf32>");
    for (int i = 0; i < N; i++) str_append(&t, ", tensor<64x64xf32>");
    str_append(&t, ") {\n%y0 = stablehlo.tanh %x : tensor<64x64xf32>\n");
    for (int i = 0; i < N;
         i++) /* gradients; each reads the parameter before, so p0 is read after its own gradient is there */
        str_printf(&t,
                   "%%g%d = stablehlo.dot_general %%y%d, %%x, contracting_dims = [1] x [0] : (tensor<64x64xf32>, "
                   "tensor<64x64xf32>) -> tensor<64x64xf32>\n"
                   "%%z%d = stablehlo.dot_general %%y%d, %%p%d, contracting_dims = [1] x [0] : (tensor<64x64xf32>, "
                   "tensor<64x64xf32>) -> "
                   "tensor<64x64xf32>\n%%y%d = stablehlo.tanh %%z%d : tensor<64x64xf32>\n",
                   i, i, i, i, i, i + 1,
                   i); /* tanh keeps them near 1: six products would lose five digits to cancellation */
    for (int i = 0; i < N; i++)
        str_printf(&t, "%%n%d = stablehlo.subtract %%p%d, %%g%d : tensor<64x64xf32>\n", i, i, i);
    str_append(&t, "return ");
    for (int i = 0; i < N; i++) str_printf(&t, "%%n%d, ", i);
    str_printf(&t, "%%y%d : tensor<64x64xf32>", N);
    for (int i = 0; i < N; i++) str_append(&t, ", tensor<64x64xf32>");
    str_append(&t, "\n}\n");
    fixture f;
    open_program(&f, str_cstr(&t), 1);
    const int64_t one = 64 * 64 * 4;
    assert_int_equal(cpu_exec_stats(f.e)->alias_bytes, N * one);
    assert_true(cpu_exec_stats(f.e)->temp_bytes < (N - 1) * one); /* all N gradients at once would not fit */
    close_program(&f);
    differ("updates", str_cstr(&t), 1e-3, 2, true);
    str_free(&t);
}

/* An outer product of 32 MiB that is read at the end is made at the end: never alive beside the other one of 32 MiB. */
static void large_values_are_made_late(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%a: tensor<2048x4xf32>, %b: tensor<4x4096xf32>) -> (tensor<2048xf32>, tensor<4096xf32>) {\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%t = stablehlo.tanh %a : tensor<2048x4xf32>\n%u = stablehlo.tanh %b : tensor<4x4096xf32>\n"
        "%0 = stablehlo.dot_general %t, %u, contracting_dims = [1] x [0] : (tensor<2048x4xf32>, tensor<4x4096xf32>) -> "
        "tensor<2048x4096xf32>\n"
        "%1 = stablehlo.transpose %u, dims = [1, 0] : (tensor<4x4096xf32>) -> tensor<4096x4xf32>\n"
        "%2 = stablehlo.dot_general %1, %t, contracting_dims = [1] x [1] : (tensor<4096x4xf32>, tensor<2048x4xf32>) -> "
        "tensor<4096x2048xf32>\n"
        "%3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4096x2048xf32>, "
        "tensor<f32>) -> tensor<4096xf32>\n"
        "%5 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2048x4096xf32>, "
        "tensor<f32>) -> tensor<2048xf32>\n"
        "return %5, %3 : tensor<2048xf32>, tensor<4096xf32>\n}\n";
    fixture f;
    open_program(&f, text, 2);
    size_t product = 2048 * 4096 * sizeof(float), first = 0, other = 0;
    for (size_t t = 0; t < f.e->plan.n_thunks; t++) {
        const cpu_thunk *th = &f.e->plan.thunks[t];
        if (th->op->code != OP_dot_general) continue;
        *(th->op->out[0].type->dims[0] == 2048 ? &first : &other) = t;
    }
    assert_true(first > other); /* the program has them the other way round */
    assert_true((size_t)cpu_exec_stats(f.e)->temp_bytes < 2 * product);
    close_program(&f);
}

/* A large constant of one value is written when needed, in place of being kept. */
static void splats_are_not_kept(void **state) {
    (void)state;
    static const char text[] = "func.func @main(%i: tensor<i32>, %u: tensor<5xf32>) -> tensor<100000xf32> {\n"
                               "%c = stablehlo.constant dense<2.5> : tensor<100000xf32>\n"
                               "%0 = stablehlo.dynamic_update_slice %c, %u, %i : (tensor<100000xf32>, tensor<5xf32>, "
                               "tensor<i32>) -> tensor<100000xf32>\n"
                               "return %0 : "
                               "tensor<100000xf32>\n}\n";
    fixture f;
    open_program(&f, text, 1);
    assert_true(cpu_exec_stats(f.e)->code_bytes < 100);
    assert_true(cpu_exec_stats(f.e)->temp_bytes < 50000);
    close_program(&f);
    differ("splat", text, 0, 2, false);
}

/* --- threads --- */
static void *run_many(void *arg) {
    fixture *f = arg;
    cpu_device *d;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array out[2];
    int from[2];
    const char *bad = NULL;
    if (cpu_device_new(2, NULL, &d)) return "no device";
    for (int k = 0; k < 20 && !bad; k++) {
        xt_status s = cpu_run(f->e, d, &a, f->in, NULL, out, from);
        if (s) bad = "a run failed";
        xt_status_free(s);
        for (size_t j = 0; j < 2 && !bad; j++) {
            if (memcmp(out[j].data, f->out[j].data, ir_type_bytes(out[j].type)) != 0) bad = "other results than alone";
            heap_free(&h, out[j].data, ir_type_bytes(out[j].type));
        }
    }
    if (h.live) bad = "memory is left over";
    cpu_device_free(d);
    return (void *)(uintptr_t)bad;
}

static void devices_run_at_the_same_time(void **state) {
    (void)state;
    fixture f[2];
    pthread_t t[4];
    open_program(&f[0], CHAIN, 2);
    open_program(&f[1], SGD, 2);
    for (int i = 0; i < 2; i++) expect_ok(cpu_run(f[i].e, f[i].d, &f[i].a, f[i].in, NULL, f[i].out, f[i].from), "run");
    /* two executables, each on two devices */
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&t[i], NULL, run_many, &f[i % 2]), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        if (bad) fail_msg("%s", (const char *)bad);
    }
    for (int i = 0; i < 2; i++) {
        free_outputs(&f[i]);
        close_program(&f[i]);
    }
}

static void reductions_do_not_depend_on_threads(void **state) {
    (void)state;
    static const char text[] =
        "func.func @main(%a: tensor<700x130xf32>) -> (tensor<130xf32>, tensor<700xf32>, tensor<f32>) {\n"
        "%z = stablehlo.constant dense<0.0> : "
        "tensor<f32>\n"
        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<700x130xf32>, "
        "tensor<f32>) -> tensor<130xf32>\n"
        "%1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<700x130xf32>, "
        "tensor<f32>) -> tensor<700xf32>\n"
        "%2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<700x130xf32>, "
        "tensor<f32>) -> tensor<f32>\n"
        "return %0, %1, %2 : tensor<130xf32>, tensor<700xf32>, tensor<f32>\n}\n";
    fixture one, more;
    open_program(&one, text, 1);
    expect_ok(cpu_run(one.e, one.d, &one.a, one.in, NULL, one.out, one.from), "run");
    for (int threads = 2; threads <= 5; threads++) {
        open_program(&more, text, threads);
        expect_ok(cpu_run(more.e, more.d, &more.a, more.in, NULL, more.out, more.from), "run");
        for (int j = 0; j < 3; j++)
            assert_memory_equal(one.out[j].data, more.out[j].data, ir_type_bytes(one.out[j].type));
        free_outputs(&more);
        close_program(&more);
    }
    free_outputs(&one);
    close_program(&one);
}

static void denormals_are_flushed_inside_only(void **state) {
    (void)state;
    fixture f;
    open_program(&f,
                 "func.func @main(%a: tensor<100000xf32>, %b: tensor<f32>) -> tensor<100000xf32> {\n"
                 "%c = stablehlo.broadcast_in_dim %b, dims = [] : "
                 "(tensor<f32>) -> tensor<100000xf32>\n"
                 "%0 = stablehlo.multiply %a, %c : tensor<100000xf32>\nreturn %0 : tensor<100000xf32>\n}\n",
                 2);
    for (int i = 0; i < 100000; i++) ((float *)f.in[0].data)[i] = 1e-30f;
    *(float *)f.in[1].data = 1e-10f;
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from), "run");
    for (int i = 0; i < 100000; i++) assert_true(((float *)f.out[0].data)[i] == 0.0f);
    volatile float x = 1e-30f, y = 1e-10f;
    assert_true(x * y > 0.0f); /* this thread's own arithmetic keeps them */
    free_outputs(&f);
    close_program(&f);
}

/* As XLA's: the sign of a number that counts as zero is that zero. */
static void a_denormal_has_no_sign_but_its_zero_s(void **state) {
    (void)state;
    fixture f;
    open_program(&f,
                 "func.func @main(%a: tensor<64xf32>) -> tensor<64xf32> {\n%0 = stablehlo.sign %a : tensor<64xf32>\n"
                 "return %0 : tensor<64xf32>\n}\n",
                 1);
    for (int i = 0; i < 64; i++) ((float *)f.in[0].data)[i] = (float)(i % 2 ? 1e-40 : -1e-40);
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from), "run");
    for (int i = 0; i < 64; i++) {
        float y = ((float *)f.out[0].data)[i];
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        assert_int_equal(bits, i % 2 ? 0 : 0x80000000u);
    }
    free_outputs(&f);
    close_program(&f);
}

/* --- serialised programs --- */
static void programs_survive_serialisation(void **state) {
    (void)state;
    fixture f;
    char *bytes;
    size_t n;
    cpu_exec *again;
    open_program(&f, CHAIN, 2);
    expect_ok(cpu_serialize(f.e, &bytes, &n), "serialise");
    expect_ok(cpu_deserialize(bytes, n, 0, &again), "deserialise");
    expect_ok(cpu_run(f.e, f.d, &f.a, f.in, NULL, f.out, f.from), "run");
    array out[2];
    int from[2];
    expect_ok(cpu_run(again, f.d, &f.a, f.in, NULL, out, from), "run again");
    for (int j = 0; j < 2; j++) {
        assert_memory_equal(out[j].data, f.out[j].data, ir_type_bytes(out[j].type));
        heap_free(&f.h, out[j].data, ir_type_bytes(out[j].type));
    }
    free_outputs(&f);
    cpu_exec_free(again);
    char *copy = base_malloc(n);
    assert_non_null(copy);
    for (size_t i = 0; i < n; i += 1 + i / 16) { /* cut anywhere, flipped anywhere */
        again = NULL;
        xt_status s = cpu_deserialize(bytes, i, 0, &again);
        assert_non_null(s);
        xt_status_free(s);
        memcpy(copy, bytes, n);
        copy[i] = (char)(copy[i] ^ 0x20);
        s = cpu_deserialize(copy, n, 0, &again);
        assert_non_null(s);
        xt_status_free(s);
        assert_null(again);
    }
    /* another build wrote it: same layout, right checksum */
    memcpy(copy, bytes, n);
    size_t header = 24;
    copy[header + 8] = (char)(copy[header + 8] ^ 1);
    hash128 h = hash_bytes(copy + header, n - header, (hash128){0, 0});
    memcpy(copy + 8, &h.lo, 8);
    memcpy(copy + 16, &h.hi, 8);
    xt_status s = cpu_deserialize(copy, n, 0, &again);
    assert_int_equal(xt_status_code(s), XT_FAILED_PRECONDITION);
    xt_status_free(s);
    base_free(copy);
    base_free(bytes);
    close_program(&f);
}

/* Bytecode has zero bytes within, so it is no text. */
static void bytecode_survives_serialisation(void **state) {
    (void)state;
    char *code, *bytes;
    size_t code_size, n;
    cpu_exec *e, *again;
    expect_ok(file_read_all("tests/fuzz/corpus/bytecode/conv.bc", &code, &code_size), "read");
    assert_non_null(memchr(code, 0, code_size));
    expect_ok(cpu_compile(code, code_size, NULL, &e), "compile");
    memset(code, 'x', code_size); /* the caller's again */
    base_free(code);
    expect_ok(cpu_serialize(e, &bytes, &n), "serialise");
    expect_ok(cpu_deserialize(bytes, n, 0, &again), "deserialise");
    assert_int_equal(cpu_exec_stats(again)->argument_bytes, cpu_exec_stats(e)->argument_bytes);
    cpu_exec_free(again);
    for (int threads = 1; threads < 4; threads++) { /* those of who loads it */
        expect_ok(cpu_deserialize(bytes, n, threads, &again), "deserialise");
        assert_int_equal(again->threads, threads);
        cpu_exec_free(again);
    }
    cpu_exec_free(e);
    base_free(bytes);
}

static void a_plan_names_what_it_covers(void **state) {
    (void)state;
    fixture f;
    str plan = STR_INIT;
    size_t n;
    open_program(&f, SGD, 1);
    cpu_plan_print(f.e, &plan);
    assert_non_null(strstr(str_cstr(&plan), "covers multiply add subtract"));
    assert_non_null(strstr(str_cstr(&plan), "out0=arg0"));
    assert_int_equal(f.e->plan.n_thunks, 1);
    assert_non_null(strstr(cpu_exec_text(f.e, &n), "stablehlo.subtract"));
    str_free(&plan);
    close_program(&f);
    open_program(&f, CHAIN, 1);
    assert_true(cpu_exec_stats(f.e)->flops == 2.0 * 256 * 256 * 128 + 256 * 256 + 2.0 * 256 * 256 * 256 + 256 * 256);
    assert_true(cpu_exec_stats(f.e)->transcendentals == 256 * 256);
    close_program(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(donated_arguments_are_updated_in_place),
        cmocka_unit_test(an_old_value_read_late_survives),
        cmocka_unit_test(a_donated_array_is_updated_without_a_copy),
        cmocka_unit_test(gradients_do_not_keep_what_they_read),
        cmocka_unit_test(running_out_of_memory_is_told_and_survived),
        cmocka_unit_test(failing_allocations_are_errors),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(updates_do_not_keep_gradients_alive),
        cmocka_unit_test(large_values_are_made_late),
        cmocka_unit_test(splats_are_not_kept),
        cmocka_unit_test(devices_run_at_the_same_time),
        cmocka_unit_test(reductions_do_not_depend_on_threads),
        cmocka_unit_test(denormals_are_flushed_inside_only),
        cmocka_unit_test(a_denormal_has_no_sign_but_its_zero_s),
        cmocka_unit_test(programs_survive_serialisation),
        cmocka_unit_test(bytecode_survives_serialisation),
        cmocka_unit_test(a_plan_names_what_it_covers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
