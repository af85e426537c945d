/* Collectives between ranks, each a process with its own device: the whole group, sub-groups, and inside a loop. */
#include "cpu_differential.h"
#include "cpu/run/plan.h"
#include "ranks.h"

#define REDUCE(op)                                 \
    "({\n"                                         \
    "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"    \
    "%s = stablehlo." op " %x, %y : tensor<f32>\n" \
    "stablehlo.return %s : tensor<f32>\n"          \
    "})"
static const char program[] =
    "func.func @main(%a: tensor<2x4xf32>, %n: tensor<i32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x16xf32>, "
    "tensor<2x1xf32>, tensor<8x1xf32>, "
    "tensor<2x4xf32>, "
    "tensor<2x4xf32>, tensor<ui32>, tensor<2x4xf32>, tensor<2x4xf32>) {\n"
    "%0 = \"stablehlo.all_reduce\"(%a) " REDUCE(
        "add") " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"
               "%1 = \"stablehlo.all_reduce\"(%a) " REDUCE(
                   "maximum") " {replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>} : (tensor<2x4xf32>) -> "
                              "tensor<2x4xf32>\n"
                              "%2 = \"stablehlo.all_gather\"(%a) {all_gather_dim = 1 : i64, replica_groups = "
                              "dense<[[0, 1, 2, 3]]> : "
                              "tensor<1x4xi64>} : (tensor<2x4xf32>) -> tensor<2x16xf32>\n"
                              "%3 = \"stablehlo.reduce_scatter\"(%a) " REDUCE(
                                  "add") " {scatter_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : "
                                         "tensor<1x4xi64>} : "
                                         "(tensor<2x4xf32>) -> tensor<2x1xf32>\n"
                                         "%4 = \"stablehlo.all_to_all\"(%a) {split_dimension = 1 : i64, "
                                         "concat_dimension = 0 : i64, split_count = 4 "
                                         ": i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : "
                                         "(tensor<2x4xf32>) -> tensor<8x1xf32>\n"
                                         "%5 = \"stablehlo.collective_broadcast\"(%a) {replica_groups = dense<[[2, 1], "
                                         "[3, 0]]> : tensor<2x2xi64>} : "
                                         "(tensor<2x4xf32>) -> tensor<2x4xf32>\n"
                                         "%6 = \"stablehlo.collective_permute\"(%a) {source_target_pairs = dense<[[0, "
                                         "1], [1, 2], [3, 0]]> : "
                                         "tensor<3x2xi64>} : (tensor<2x4xf32>) -> tensor<2x4xf32>\n"
                                         "%7 = stablehlo.replica_id : tensor<ui32>\n"
                                         "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                                         "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                                         "%8:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, tensor<2x4xf32>\n"
                                         "cond {\n"
                                         "%c = stablehlo.compare "
                                         "LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                                         "stablehlo.return %c : tensor<i1>\n"
                                         "} do {\n"
                                         "%j = stablehlo.add %i, %o : tensor<i32>\n"
                                         "%w = \"stablehlo.all_reduce\"(%v) " REDUCE(
                                             "add") " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : "
                                                    "(tensor<2x4xf32>) -> "
                                                    "tensor<2x4xf32>\n"
                                                    "stablehlo.return %j, %w : tensor<i32>, tensor<2x4xf32>\n}\n"
                                                    "%9 = \"stablehlo.all_reduce\"(%a) " REDUCE(
                                                        "multiply") " {replica_groups = dense<[[3, 1, 0, 2]]> : "
                                                                    "tensor<1x4xi64>} : (tensor<2x4xf32>) "
                                                                    "-> tensor<2x4xf32>\n"
                                                                    "return %0, %1, %2, %3, %4, %5, %6, %7, %8#1, %9 : "
                                                                    "tensor<2x4xf32>, "
                                                                    "tensor<2x4xf32>, tensor<2x16xf32>, "
                                                                    "tensor<2x1xf32>, tensor<8x1xf32>, "
                                                                    "tensor<2x4xf32>, tensor<2x4xf32>, "
                                                                    "tensor<ui32>, tensor<2x4xf32>, "
                                                                    "tensor<2x4xf32>\n}\n";

/* Element (i, j) of rank r's input. */
static float input_of(int r, int i, int j) {
    return (float)(r + 1) + 0.25f * (float)i + 0.5f * (float)j;
}

static void check(const float *got, int i, int j, float want) {
    if (fabsf(got[i * 4 + j] - want) > 1e-4f * fabsf(want)) {
        fprintf(stderr, "element %d,%d is %g, expected %g\n", i, j, (double)got[i * 4 + j], (double)want);
        _exit(99);
    }
}

static void a_rank(const char *name, int rank, int size, void *arg) {
    (void)arg;
    static const int broadcast_root[4] = {3, 2, 2, 3}, permute_source[4] = {3, 0, 1, -1};
    coll_group *g;
    cpu_device *d;
    cpu_exec *e;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array in[2], out[10];
    int from[10];
    RANK_OK(coll_open(name, rank, size, 20, &g));
    RANK_OK(cpu_device_new(1, g, &d));
    RANK_OK(cpu_compile(program, strlen(program), &(cpu_compile_opts){.num_replicas = size, .threads = 1}, &e));
    for (size_t i = 0; i < 2; i++) RANK_OK(array_new(cpu_exec_input_type(e, i), &in[i]));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) ((float *)in[0].data)[i * 4 + j] = input_of(rank, i, j);
    *(int32_t *)in[1].data = 2;
    RANK_OK(cpu_run(e, d, &a, in, NULL, out, from));
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++) {
            float sum = 0, product = 1;
            for (int r = 0; r < 4; r++) sum += input_of(r, i, j), product *= input_of(r, i, j);
            check(out[0].data, i, j, sum);
            check(out[1].data, i, j, input_of(rank % 2 + 2, i, j));
            for (int r = 0; r < 4; r++) RANK_CHECK(((float *)out[2].data)[i * 16 + r * 4 + j] == input_of(r, i, j));
            check(out[5].data, i, j, input_of(broadcast_root[rank], i, j));
            check(out[6].data, i, j, permute_source[rank] < 0 ? 0 : input_of(permute_source[rank], i, j));
            check(out[8].data, i, j, 4 * sum);
            check(out[9].data, i, j, product);
        }
    for (int i = 0; i < 2; i++) {
        float sum = 0;
        for (int r = 0; r < 4; r++) {
            sum += input_of(r, i, rank);
            RANK_CHECK(((float *)out[4].data)[r * 2 + i] == input_of(r, i, rank));
        }
        RANK_CHECK(fabsf(((float *)out[3].data)[i] - sum) < 1e-4f);
    }
    RANK_CHECK(*(uint32_t *)out[7].data == (uint32_t)rank);
    cpu_exec_free(e);
    cpu_device_free(d);
    coll_close(g);
}

static void ranks_agree(void **state) {
    (void)state;
    int codes[4];
    run_ranks(4, a_rank, NULL, codes);
    for (int r = 0; r < 4; r++) assert_int_equal(codes[r], 0);
}

/* A program for more ranks than there are says so instead of waiting. */
static void a_lone_rank_is_told(void **state) {
    (void)state;
    cpu_device *d;
    cpu_exec *e;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array in[2], out[10];
    int from[10];
    expect_ok(cpu_device_new(1, NULL, &d), "device");
    expect_ok(cpu_compile(program, strlen(program), NULL, &e), "compile");
    for (size_t i = 0; i < 2; i++) expect_ok(array_new(cpu_exec_input_type(e, i), &in[i]), "input");
    xt_status s = cpu_run(e, d, &a, in, NULL, out, from);
    assert_int_equal(xt_status_code(s), XT_INVALID_ARGUMENT);
    assert_non_null(strstr(xt_status_message(s), "1 rank(s)"));
    xt_status_free(s);
    assert_int_equal(h.live, 0);
    for (size_t i = 0; i < 2; i++) array_free(&in[i]);
    cpu_exec_free(e);
    cpu_device_free(d);
}

/* Groups that the run decides have a size only there. A result for another size was written past its end. */
static const char misfit[] = "func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {\n"
                             "%0 = \"stablehlo.all_gather\"(%a) {all_gather_dim = 0 : i64, replica_groups = dense<> : "
                             "tensor<0x0xi64>} : (tensor<1024xf32>) -> tensor<1024xf32>\n"
                             "return %0 : tensor<1024xf32>\n}\n";

static void a_misfit(const char *name, int rank, int size, void *arg) {
    (void)arg;
    coll_group *g;
    cpu_device *d;
    cpu_exec *e;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array in, out;
    int from;
    RANK_OK(coll_open(name, rank, size, 20, &g));
    RANK_OK(cpu_device_new(1, g, &d));
    RANK_OK(cpu_compile(misfit, strlen(misfit), &(cpu_compile_opts){.num_replicas = size, .threads = 1}, &e));
    RANK_OK(array_new(cpu_exec_input_type(e, 0), &in));
    xt_status s = cpu_run(e, d, &a, &in, NULL, &out, &from);
    RANK_CHECK(xt_status_code(s) == XT_INVALID_ARGUMENT &&
               strstr(xt_status_message(s), "does not fit a group of 4 ranks"));
    xt_status_free(s);
    array_free(&in);
    cpu_exec_free(e);
    cpu_device_free(d);
    coll_close(g);
}

static void a_result_of_another_size_is_told(void **state) {
    (void)state;
    int codes[4];
    run_ranks(4, a_misfit, NULL, codes);
    for (int r = 0; r < 4; r++) assert_int_equal(codes[r], 0);
}

/* --- two sums listed at the end: the first is started before the second product is made, and its loop comes
 * after it --- */
static const char buckets[] =
    "func.func @main(%a: tensor<300x300xf32>, %w: tensor<300x300xf32>, %p: tensor<300x300xf32> {tf.aliasing_output = 0 "
    ": i32}, %q: tensor<300x300xf32> "
    "{tf.aliasing_output = 1 : i32}) -> (tensor<300x300xf32>, tensor<300x300xf32>) {\n"
    "%0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<300x300xf32>, tensor<300x300xf32>) -> "
    "tensor<300x300xf32>\n"
    "%1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<300x300xf32>, tensor<300x300xf32>) -> "
    "tensor<300x300xf32>\n"
    "%2 = \"stablehlo.all_reduce\"(%0) " REDUCE(
        "add") " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<300x300xf32>) -> tensor<300x300xf32>\n"
               "%3 = \"stablehlo.all_reduce\"(%1) " REDUCE(
                   "add") " {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<300x300xf32>) -> "
                          "tensor<300x300xf32>\n"
                          "%4 = stablehlo.subtract %p, %2 : tensor<300x300xf32>\n"
                          "%5 = stablehlo.subtract %q, %3 : tensor<300x300xf32>\n"
                          "return %4, %5 : tensor<300x300xf32>, tensor<300x300xf32>\n}\n";

static void in_buckets(const char *name, int rank, int size, void *arg) {
    (void)arg;
    coll_group *g;
    cpu_device *d;
    cpu_exec *e;
    heap h = {0};
    cpu_alloc a = {&h, heap_alloc, heap_free};
    array in[4], out[2];
    int from[2];
    str plan = STR_INIT;
    RANK_OK(coll_open(name, rank, size, 20, &g));
    RANK_OK(cpu_device_new(1, g, &d));
    RANK_OK(cpu_compile(buckets, strlen(buckets), &(cpu_compile_opts){.num_replicas = size, .threads = 1}, &e));
    cpu_plan_print(e, &plan);
    const char *first = strstr(str_cstr(&plan), "all_reduce"), *last = first, *product = NULL,
               *loop = strstr(str_cstr(&plan), "fused");
    for (const char *p = str_cstr(&plan); (p = strstr(p, "(stablehlo.dot_general)")); p++) product = p;
    for (const char *p = first; (p = strstr(p, "all_reduce")); p++) last = p;
    if (!first || !product || !loop || first > product || last < product || loop < product) {
        fprintf(stderr, "%s", str_cstr(&plan));
        _exit(99);
    }
    str_free(&plan);
    for (size_t i = 0; i < 4; i++) RANK_OK(array_new(cpu_exec_input_type(e, i), &in[i]));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 300 * 300; i++) {
            ((float *)in[0].data)[i] = i % 301 == 0 ? (float)(rank + 1) : 0;
            ((float *)in[1].data)[i] = i % 301 == 0 ? 2 : 0; /* 2 on the diagonal */
            ((float *)in[2].data)[i] = ((float *)in[3].data)[i] = 1;
        }
        if (rank == turn % 2) usleep(3000);
        RANK_OK(cpu_run(e, d, &a, in, (bool[]){false, false, true, true}, out, from));
        for (int i = 0; i < 300 * 300; i++)
            RANK_CHECK(((float *)out[0].data)[i] == (i % 301 == 0 ? 1 - 6 : 1) &&
                       ((float *)out[1].data)[i] == (i % 301 == 0 ? 1 - 12 : 1));
        for (int i = 0; i < 2; i++)
            if (from[i] < 0) heap_free(&h, out[i].data, 300 * 300 * 4);
    }
    for (size_t i = 0; i < 4; i++) array_free(&in[i]);
    cpu_exec_free(e);
    cpu_device_free(d);
    coll_close(g);
}

static void started_early(void **state) {
    (void)state;
    int codes[2];
    run_ranks(2, in_buckets, NULL, codes);
    for (int r = 0; r < 2; r++) assert_int_equal(codes[r], 0);
}

/* --- five buckets: on one host loops come after the second later one; between hosts all travel first. Clipped: the
 * program lists the sum of each bucket's squares right behind it, and all loops need them all. --- */
enum { CHAIN = 5 };

static void chain_of_buckets(bool clipped, str *out) {
    static const char type[] = "tensor<300x300xf32>", one[] = "tensor<f32>";
    str_printf(out, "func.func @main(%%v0: %s, %%w: %s", type, type);
    for (int k = 0; k < CHAIN; k++) str_printf(out, ", %%p%d: %s {tf.aliasing_output = %d : i32}", k, type, k);
    str_append(out, ") -> (");
    for (int k = 0; k < CHAIN; k++) str_printf(out, "%s%s", k ? ", " : "", type);
    str_printf(out, ") {\n%%t0 = stablehlo.constant dense<0.0> : %s\n", one);
    for (int k = 0; k < CHAIN; k++) {
        str_printf(out, "%%v%d = stablehlo.dot_general %%v%d, %%w, contracting_dims = [1] x [0] : (%s, %s) -> %s\n",
                   k + 1, k, type, type, type);
        str_printf(out, "%%r%d = \"stablehlo.all_reduce\"(%%v%d) %s {replica_groups = %s} : (%s) -> %s\n", k, k + 1,
                   REDUCE("add"), "dense<[[0, 1]]> : tensor<1x2xi64>", type, type);
        if (!clipped) continue;
        str_printf(out, "%%q%d = stablehlo.multiply %%r%d, %%r%d : %s\n", k, k, k, type);
        str_printf(out,
                   "%%s%d = stablehlo.reduce(%%q%d init: %%t0) applies stablehlo.add across dimensions = [0, 1] : (%s, "
                   "%s) -> %s\n",
                   k, k, type, one, one);
        str_printf(out, "%%t%d = stablehlo.add %%t%d, %%s%d : %s\n", k + 1, k, k, one);
    }
    if (clipped) str_printf(out, "%%c = stablehlo.broadcast_in_dim %%t%d, dims = [] : (%s) -> %s\n", CHAIN, one, type);
    for (int k = 0; k < CHAIN; k++) {
        if (clipped) str_printf(out, "%%d%d = stablehlo.divide %%r%d, %%c : %s\n", k, k, type);
        str_printf(out, "%%n%d = stablehlo.subtract %%p%d, %%%s%d : %s\n", k, k, clipped ? "d" : "r", k, type);
    }
    str_append(out, "return ");
    for (int k = 0; k < CHAIN; k++) str_printf(out, "%s%%n%d", k ? ", " : "", k);
    str_append(out, " : ");
    for (int k = 0; k < CHAIN; k++) str_printf(out, "%s%s", k ? ", " : "", type);
    str_append(out, "\n}\n");
}

static int among_starts(const char *plan, const char *what) {
    int n = 0;
    const char *last = plan;
    for (const char *p = plan; (p = strstr(p, "all_reduce")); p++) last = p;
    for (const char *p = plan; (p = strstr(p, what)) && p < last; p++) n++;
    return n;
}

static void the_network_is_kept_busy(void **state) {
    (void)state;
    for (int far = 0; far < 2; far++)
        for (int clipped = 0; clipped < 2; clipped++) {
            str text = STR_INIT, plan = STR_INIT;
            cpu_exec *e;
            chain_of_buckets(clipped, &text);
            world_set(&(world){.size = 2, .local_size = far ? 1 : 2, .source = ""});
            expect_ok(cpu_compile(text.data, text.len, &(cpu_compile_opts){.num_replicas = 2, .threads = 1}, &e),
                      "compile");
            cpu_plan_print(e, &plan);
            /* the first buckets' sums of squares, or loops, are computed while later ones are made on one host */
            int loops = among_starts(str_cstr(&plan), "fused"),
                sums = among_starts(str_cstr(&plan), "stablehlo.reduce)");
            if (far ? loops + sums != 0 : clipped ? sums < 1 || sums > CHAIN - 2 : loops == 0)
                fail_msg("%d loops and %d sums among the starts: %s", loops, sums, str_cstr(&plan));
            cpu_exec_free(e);
            str_free(&plan);
            str_free(&text);
        }
    world_set(NULL);
}

/* --- drawn programs in which collectives stand among what reads them: each order is one in which all is written before
 * it is read, which the plan's verifier looks at behind every stage --- */
static uint32_t drawn_from;
static int drawn(int n) {
    drawn_from = drawn_from * 1664525u + 1013904223u;
    return (int)((drawn_from >> 8) % (uint32_t)n);
}

static void draw_program(str *out) {
    static const char type[] = "tensor<24x24xf32>", one[] = "tensor<f32>";
    int n = 3, ops = 12 + drawn(40);
    str_printf(out, "func.func @main(%%v0: %s {tf.aliasing_output = 0 : i32}, %%v1: %s, %%v2: %s) -> (%s, %s, %s) {\n",
               type, type, type, type, type, type);
    str_printf(out, "%%zero = stablehlo.constant dense<0.0> : %s\n", one);
    for (int k = 0; k < ops; k++, n++) {
        int a = n - 1 - drawn(n < 6 ? n : 6), b = drawn(n);
        switch (drawn(7)) {
        case 0:
            str_printf(out,
                       "%%v%d = stablehlo.dot_general %%v%d, %%v%d, contracting_dims = [1] x [0] : (%s, %s) -> %s\n", n,
                       a, b, type, type, type);
            break;
        case 1:
        case 2:
            str_printf(out, "%%v%d = \"stablehlo.all_reduce\"(%%v%d) %s {replica_groups = %s} : (%s) -> %s\n", n, a,
                       REDUCE("add"), "dense<[[0, 1]]> : tensor<1x2xi64>", type, type);
            break;
        case 3:
            str_printf(
                out,
                "%%s%d = stablehlo.reduce(%%v%d init: %%zero) applies stablehlo.add across dimensions = [0, 1] : "
                "(%s, %s) -> %s\n%%v%d = stablehlo.broadcast_in_dim %%s%d, dims = [] : (%s) -> %s\n",
                n, a, type, one, one, n, n, one, type);
            break;
        case 4:
            str_printf(out, "%%v%d = stablehlo.transpose %%v%d, dims = [1, 0] : (%s) -> %s\n", n, a, type, type);
            break;
        default: str_printf(out, "%%v%d = stablehlo.multiply %%v%d, %%v%d : %s\n", n, a, b, type);
        }
    }
    str_printf(out, "return %%v%d, %%v%d, %%v%d : %s, %s, %s\n}\n", n - 1, n - 1 - drawn(4), 3 + drawn(n - 3), type,
               type, type);
}

static void drawn_orders(void **state) {
    (void)state;
    for (int k = 0; k < 400; k++) {
        str text = STR_INIT;
        cpu_exec *e = NULL;
        drawn_from = (uint32_t)k;
        draw_program(&text);
        world_set(&(world){.size = 2, .local_size = k % 2 ? 1 : 2, .source = ""});
        xt_status s = cpu_compile(text.data, text.len, &(cpu_compile_opts){.num_replicas = 2, .threads = 1}, &e);
        if (s) fail_msg("program %d: %s\n%s", k, xt_status_message(s), str_cstr(&text));
        cpu_exec_free(e);
        str_free(&text);
    }
    world_set(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_agree),
                                       cmocka_unit_test(a_lone_rank_is_told),
                                       cmocka_unit_test(a_result_of_another_size_is_told),
                                       cmocka_unit_test(started_early),
                                       cmocka_unit_test(the_network_is_kept_busy),
                                       cmocka_unit_test(drawn_orders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
