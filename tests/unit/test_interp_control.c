/* Functions, loops, branches, captured values, calls, tuples; hooks; what is refused; and that memory neither
 * leaks nor grows. */
#include "interp_rows.h"

#define WANT(type, v) "\ncheck.expect_eq_const %y, dense<" v "> : " type
#define I32 "tensor<i32>"

static void control(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"while", "%z = stablehlo.constant dense<0> : " I32 "\n%n = stablehlo.constant dense<10> : " I32
                  "\n%one = stablehlo.constant dense<1> : " I32 "\n"
                  "%r:2 = stablehlo.while(%i = %z, %y = %one) : " I32 ", " I32
                  " cond {\n%c = stablehlo.compare LT, %i, %n : (" I32 ", " I32 ") -> tensor<i1>\n"
                  "stablehlo.return %c : tensor<i1>\n"
                  "} do {\n"
                  "%j = stablehlo.add %i, %one : " I32 "\n%t = stablehlo.add %y, %y : " I32
                  "\nstablehlo.return %j, %t : " I32 ", " I32 "\n}\ncheck.expect_eq_const %r#1, dense<1024> : " I32},
        {"while that does not run, one value twice",
         "%z = stablehlo.constant dense<5> : " I32 "\n%r:2 = stablehlo.while(%i = %z, %j = %z) : " I32 ", " I32
         " cond {\n%c = stablehlo.compare NE, %i, %j : (" I32 ", " I32
         ") -> tensor<i1>\nstablehlo.return %c : tensor<i1>\n} do {\nstablehlo.return %j, %i : " I32 ", " I32
         "\n}\ncheck.expect_eq_const %r#0, dense<5> : " I32 "\ncheck.expect_eq_const %r#1, dense<5> : " I32},
        {"state that swaps",
         "%z = stablehlo.constant dense<0> : " I32 "\n%a = stablehlo.constant dense<1> : " I32
         "\n%b = stablehlo.constant dense<2> : " I32 "\n%three = stablehlo.constant dense<3> : " I32
         "\n%r:3 = stablehlo.while(%i = %z, %p = %a, %q = %b) : " I32 ", " I32 ", " I32
         " cond {\n%c = stablehlo.compare LT, %i, %three : (" I32 ", " I32 ") -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n"
         "} do {\n"
         "%j = stablehlo.add %i, %a : " I32 "\nstablehlo.return %j, %q, %p : " I32 ", " I32 ", " I32
         "\n}\ncheck.expect_eq_const %r#1, dense<2> : " I32 "\ncheck.expect_eq_const %r#2, dense<1> : " I32},
        {"state that the body reads from outside too",
         "%one = stablehlo.constant dense<1> : " I32 "\n%a = stablehlo.add %one, %one : " I32
         "\n%r = stablehlo.while(%i = %a) : " I32 " cond {\n%n = stablehlo.constant dense<9> : " I32
         "\n%c = stablehlo.compare LT, %i, %n : (" I32 ", " I32 ") -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n"
         "} do {\n"
         "%b = stablehlo.convert %a : " I32 "\n%j = stablehlo.add %i, %b : " I32 "\nstablehlo.return %j : " I32
         "\n}\ncheck.expect_eq_const %r, dense<10> : " I32},
        {"a loop in a loop reads the outer values",
         "%z = stablehlo.constant dense<0> : " I32 "\n%one = stablehlo.constant dense<1> : " I32
         "\n%n = stablehlo.constant dense<4> : " I32 "\n%r:2 = stablehlo.while(%i = %z, %s = %z) : " I32 ", " I32
         " cond {\n%c = stablehlo.compare LT, %i, %n : (" I32 ", " I32 ") -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n} do {\n%q:2 = stablehlo.while(%k = %z, %t = %s) : " I32 ", " I32
         " cond {\n%c = stablehlo.compare LT, %k, %i : (" I32 ", " I32 ") -> tensor<i1>\n"
         "stablehlo.return %c : tensor<i1>\n"
         "} do {\n"
         "%m = stablehlo.add %k, %one : " I32 "\n%u = stablehlo.add %t, %i : " I32 "\nstablehlo.return %m, %u : " I32
         ", " I32 "\n}\n%j = stablehlo.add %i, %one : " I32 "\nstablehlo.return %j, %q#1 : " I32 ", " I32
         "\n}\ncheck.expect_eq_const %r#1, dense<14> : " I32},
        {"if", "%p = stablehlo.constant dense<false> : tensor<i1>\n%a = stablehlo.constant dense<1> : " I32
               "\n%y = \"stablehlo.if\"(%p) ({\nstablehlo.return %a : " I32 "\n}, {\n%b = stablehlo.add %a, %a : " I32
               "\nstablehlo.return %b : " I32 "\n}) : (tensor<i1>) -> " I32 WANT(I32, "2")},
        {"case out of range takes the last",
         "%p = stablehlo.constant dense<-1> : " I32 "\n%a = stablehlo.constant dense<1> : " I32
         "\n%y = \"stablehlo.case\"(%p) ({\n"
         "stablehlo.return %a : " I32 "\n}, {\n%b = stablehlo.negate %a : " I32 "\nstablehlo.return %b : " I32
         "\n}) : (" I32 ") -> " I32 WANT(I32, "-1")},
        {"call", "module {\nfunc.func private @f(%a: " I32 ", %b: " I32 ") -> (" I32 ", " I32
                 ") {\nreturn %b, %a : " I32 ", " I32 "\n}\nfunc.func @main() {\n"
                 "%a = stablehlo.constant dense<1> : " I32 "\n%b = stablehlo.constant dense<2> : " I32
                 "\n%r:2 = func.call @f(%a, %b) : (" I32 ", " I32 ") -> (" I32 ", " I32 ")\n"
                 "%q:2 = func.call @f(%r#0, %r#0) : (" I32 ", " I32 ") -> (" I32 ", " I32
                 ")\ncheck.expect_eq_const %r#0, dense<2> : " I32 "\n"
                 "check.expect_eq_const %q#1, dense<2> : " I32 "\nreturn\n}\n}"},
        {"composite", "module {\nfunc.func private @f(%a: " I32 ") -> " I32 " {\n%b = stablehlo.add %a, %a : " I32
                      "\nreturn %b : " I32 "\n}\nfunc.func @main() {\n"
                      "%a = stablehlo.constant dense<4> : " I32 "\n"
                      "%y = stablehlo.composite \"my.twice\" %a {decomposition = @f} : (" I32
                      ") -> " I32 WANT(I32, "8") "\nreturn\n}\n}"},
        {"in place never touches a value that is read later",
         "%x = stablehlo.constant dense<1.0> : tensor<4xf32>\n%a = stablehlo.add %x, %x : tensor<4xf32>\n"
         "%b = stablehlo.add %a, %x : tensor<4xf32>\n"
         "%c = stablehlo.multiply %a, %b : tensor<4xf32>\n"
         "%y = stablehlo.subtract %c, %b : "
         "tensor<4xf32>" WANT("tensor<4xf32>", "3.0")},
        {"optimization_barrier", "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
                                 "%y, %w = stablehlo.optimization_barrier %x, %x : tensor<2xi32>, tensor<2xi32>\n"
                                 "check.expect_eq %y, %w : tensor<2xi32>"},
        {"all_reduce of one",
         "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
         "%y = \"stablehlo.all_reduce\"(%x) ({\n"
         "^bb0(%a: " I32 ", %b: " I32 "):\n"
         "%s = stablehlo.add %a, %b : " I32 "\nstablehlo.return %s : " I32 "\n"
         "}) {replica_groups = dense<[[0]]> : tensor<1x1xi64>} : (tensor<2xi32>) -> tensor<2xi32>" WANT("tensor<2xi32>",
                                                                                                        "[1, 2]")},
        {"all_reduce of two",
         "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
         "%y = \"stablehlo.all_reduce\"(%x) ({\n"
         "^bb0(%a: " I32 ", %b: " I32 "):\n"
         "%s = stablehlo.add %a, %b : " I32 "\nstablehlo.return %s : " I32
         "\n}) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> tensor<2xi32>",
         "group of 2 devices"},
        {"an unknown custom call",
         "%x = stablehlo.constant dense<1> : " I32 "\n%y = stablehlo.custom_call @nobody(%x) : (" I32 ") -> " I32,
         "custom_call @nobody"},
        {"a sharding annotation", "%x = stablehlo.constant dense<1> : " I32
                                  "\n%y = stablehlo.custom_call @Sharding(%x) : (" I32 ") -> " I32 WANT(I32, "1")},
        {"JAX's sink, which gives nothing",
         "%y = stablehlo.constant dense<1> : " I32 "\n"
         "stablehlo.custom_call @dce_sink(%y) {has_side_effect = true} : (" I32 ") -> ()" WANT(I32, "1")},
        {"endless recursion",
         "module {\nfunc.func private @f(%a: " I32 ") -> " I32 " {\n%b = func.call @f(%a) : (" I32 ") -> " I32
         "\nreturn %b : " I32 "\n}\n"
         "func.func @main() {\n%a = stablehlo.constant dense<4> : " I32 "\n%y = func.call @f(%a) : (" I32 ") -> " I32
         "\nreturn\n}\n}",
         "recursion"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define V2 "tensor<2xi32>"
#define V4 "tensor<4xi32>"
#define SUM \
    "({\n^bb0(%a: " I32 ", %b: " I32 "):\n%s = stablehlo.add %a, %b : " I32 "\nstablehlo.return %s : " I32 "\n})"
/* Two processes run @f on [1, 2] and [30, 40]. */
#define TWO(result, body, programs, checks)                                                                            \
    "module {\nfunc.func @f(%x: " V2 ") -> " result " {\n" body "\nreturn %y : " result "\n}\nfunc.func @main() {\n"   \
    "%p = stablehlo.constant dense<[1, 2]> : " V2 "\n%q = stablehlo.constant dense<[30, 40]> : " V2 "\n"               \
    "%r:2 = \"interpreter.run_parallel\"(%p, %q) {programs = " programs "} : (" V2 ", " V2 ") -> (" result ", " result \
    ")\n" checks "\nreturn\n}\n}"
#define REPLICAS "[[@f], [@f]]"
#define PARTITIONS "[[@f, @f]]"
#define BOTH(type, v) \
    "check.expect_eq_const %r#0, dense<" v "> : " type "\ncheck.expect_eq_const %r#1, dense<" v "> : " type
#define EACH(type, v, w) \
    "check.expect_eq_const %r#0, dense<" v "> : " type "\ncheck.expect_eq_const %r#1, dense<" w "> : " type
#define GROUP "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
#define CHANNEL ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"

static void processes(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"all_reduce of replicas", TWO(V2, "%y = \"stablehlo.all_reduce\"(%x) " SUM " {" GROUP "} : (" V2 ") -> " V2,
                                       REPLICAS, BOTH(V2, "[31, 42]"))},
        {"all_reduce of partitions",
         TWO(V2,
             "%y = \"stablehlo.all_reduce\"(%x) " SUM " {" GROUP CHANNEL ", use_global_device_ids} : (" V2 ") -> " V2,
             PARTITIONS, BOTH(V2, "[31, 42]"))},
        {"twice in a row", TWO(V2,
                               "%t = \"stablehlo.all_reduce\"(%x) " SUM " {" GROUP "} : (" V2 ") -> " V2
                               "\n%y = \"stablehlo.all_reduce\"(%t) " SUM " {" GROUP "} : (" V2 ") -> " V2,
                               REPLICAS, BOTH(V2, "[62, 84]"))},
        {"groups of one", TWO(V2,
                              "%y = \"stablehlo.all_reduce\"(%x) " SUM
                              " {replica_groups = dense<[[1], [0]]> : tensor<2x1xi64>} : (" V2 ") -> " V2,
                              REPLICAS, EACH(V2, "[1, 2]", "[30, 40]"))},
        {"all_gather",
         TWO(V4, "%y = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, " GROUP "} : (" V2 ") -> " V4, REPLICAS,
             BOTH(V4, "[1, 2, 30, 40]"))},
        {"reduce_scatter", TWO("tensor<1xi32>",
                               "%y = \"stablehlo.reduce_scatter\"(%x) " SUM " {scatter_dimension = 0 : i64, " GROUP
                               "} : (" V2 ") -> tensor<1xi32>",
                               REPLICAS, EACH("tensor<1xi32>", "[31]", "[42]"))},
        {"all_to_all", TWO(V2,
                           "%y = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = 0 : i64, "
                           "split_count = 2 : i64, " GROUP "} : (" V2 ") -> " V2,
                           REPLICAS, EACH(V2, "[1, 30]", "[2, 40]"))},
        {"collective_permute", TWO(V2,
                                   "%y = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1]]> : "
                                   "tensor<1x2xi64>} : (" V2 ") -> " V2,
                                   REPLICAS, EACH(V2, "[0, 0]", "[1, 2]"))},
        {"collective_broadcast",
         TWO(V2,
             "%y = \"stablehlo.collective_broadcast\"(%x) {replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>} : (" V2
             ") -> " V2,
             REPLICAS, BOTH(V2, "[30, 40]"))},
        {"ids",
         TWO("tensor<ui32>", "%y = stablehlo.replica_id : tensor<ui32>", REPLICAS, EACH("tensor<ui32>", "0", "1"))},
        {"a process fails and the other does not wait",
         TWO(V2,
             "%i = stablehlo.replica_id : tensor<ui32>\n%z = stablehlo.constant dense<0> : tensor<ui32>\n"
             "check.expect_eq %i, %z : tensor<ui32>\n"
             "%y = \"stablehlo.all_reduce\"(%x) " SUM " {" GROUP "} : (" V2 ") -> " V2,
             REPLICAS, ""),
         "expected 0"},
        {"messages keep their order",
         "module {\nfunc.func @put(%t: !stablehlo.token) -> !stablehlo.token {\n%a = stablehlo.constant dense<1> : " I32
         "\n%b = stablehlo.constant dense<2> : " I32
         "\n%u = \"stablehlo.send\"(%a, %t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (" I32
         ", !stablehlo.token) -> !stablehlo.token\n"
         "%v = \"stablehlo.send\"(%b, %u) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (" I32
         ", !stablehlo.token) -> !stablehlo.token\n"
         "return %v : !stablehlo.token\n}\nfunc.func @get(%t: !stablehlo.token) -> (" I32 ", " I32 ") {\n"
         "%a, %u = \"stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : "
         "(!stablehlo.token) -> (" I32 ", !stablehlo.token)\n"
         "%b, %v = \"stablehlo.recv\"(%u) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : "
         "(!stablehlo.token) -> (" I32 ", !stablehlo.token)\n"
         "return %a, %b : " I32 ", " I32 "\n}\nfunc.func @main() {\n%t = stablehlo.after_all : !stablehlo.token\n"
         "%r:3 = \"interpreter.run_parallel\"(%t, %t) {programs = [[@put], [@get]]} : (!stablehlo.token, "
         "!stablehlo.token) -> (!stablehlo.token, " I32 ", " I32 ")\n"
         "check.expect_eq_const %r#1, dense<1> : " I32 "\ncheck.expect_eq_const %r#2, dense<2> : " I32
         "\nreturn\n}\n}"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

static const char loop_text[] = "func.func @main(%n: tensor<i32>, %x: tensor<1000xf32>) -> tensor<1000xf32> {\n"
                                "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                                "%one = stablehlo.constant dense<1> : tensor<i32>\n"
                                "%r:2 = stablehlo.while(%i = %z, %y = %x) : tensor<i32>, tensor<1000xf32> cond {\n"
                                "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                                "stablehlo.return %c : tensor<i1>\n"
                                "} do {\n"
                                "%j = stablehlo.add %i, %one : tensor<i32>\n"
                                "%a = stablehlo.add %y, %x : tensor<1000xf32>\n"
                                "%b = stablehlo.abs %a : tensor<1000xf32>\n"
                                "%u = stablehlo.maximum %b, %a : tensor<1000xf32>\n"
                                "stablehlo.return %j, %u : tensor<i32>, tensor<1000xf32>\n"
                                "}\n"
                                "return %r#1 : tensor<1000xf32>\n"
                                "}";

/* Allocation `fail_at` of a run fails; gives how the run ended. */
static xt_status run_loop(int32_t trips, int64_t fail_at, double *out_value) {
    ir_module *m = NULL;
    assert_null(ir_parse(loop_text, sizeof loop_text - 1, "loop", &m));
    array in[2], out = {0};
    assert_null(array_new(ir_scalar(XT_I32), &in[0]));
    assert_null(array_new(ir_tensor(XT_F32, 1, (int64_t[]){1000}), &in[1]));
    array_set(&in[0], 0, trips);
    for (int64_t i = 0; i < 1000; i++) array_set(&in[1], i, (double)i);
    base_fail_alloc_after(fail_at);
    xt_status s = interp_run(m, NULL, NULL, 2, in, 1, &out);
    base_fail_alloc_after(-1);
    if (!s) *out_value = array_get(&out, 3);
    array_free(&in[0]);
    array_free(&in[1]);
    array_free(&out);
    ir_module_free(m);
    return s;
}

static void loops_do_not_grow(void **state) {
    (void)state;
    double v = 0;
    int64_t before = live_get(LIVE_array);
    assert_null(run_loop(20000, -1, &v));
    assert_true(v == 3.0 * 20001);
    assert_int_equal(live_get(LIVE_array), before);
}

/* Every allocation of a run may fail: the answer is a status and nothing stays. */
static void failing_allocations(void **state) {
    (void)state;
    int64_t before = live_get(LIVE_array);
    bool finished = false;
    for (int64_t n = 1; n < 200 && !finished; n++) {
        double v = 0;
        xt_status s = run_loop(3, n, &v);
        finished = !s;
        if (s) assert_int_equal(xt_status_code(s), XT_RESOURCE_EXHAUSTED);
        xt_status_free(s);
        assert_int_equal(live_get(LIVE_array), before);
    }
    assert_true(finished);
}

static xt_status double_it(void *user, const ir_op *op, const array *in, array *out) {
    (void)op;
    ++*(int *)user;
    for (int64_t i = 0; i < in[0].type->count; i++) array_set(&out[0], i, 2 * array_get(&in[0], i));
    return NULL;
}

static void hooks(void **state) {
    (void)state;
    static const char text[] = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                               "%y = stablehlo.custom_call @double(%x) : (tensor<2xf32>) -> tensor<2xf32>\n"
                               "return %y : tensor<2xf32>\n}";
    int calls = 0;
    interp_hooks h = {.user = &calls, .custom_call = double_it, .collective = double_it};
    ir_module *m = NULL;
    assert_null(ir_parse(text, sizeof text - 1, "hooks", &m));
    array in, out;
    assert_null(array_new(ir_tensor(XT_F32, 1, (int64_t[]){2}), &in));
    array_set(&in, 1, 21);
    assert_null(interp_run(m, "main", &h, 1, &in, 1, &out));
    assert_int_equal(calls, 1);
    assert_true(array_get(&out, 1) == 42);
    array_free(&out);
    /* Refusals name what was found and expected. */
    xt_status s = interp_run(m, "main", &h, 0, NULL, 1, &out);
    assert_non_null(strstr(xt_status_message(s), "takes 1 inputs, 0 were given"));
    xt_status_free(s);
    array wrong;
    assert_null(array_new(ir_scalar(XT_F32), &wrong));
    s = interp_run(m, "main", &h, 1, &wrong, 1, &out);
    assert_non_null(strstr(xt_status_message(s), "tensor<2xf32>"));
    xt_status_free(s);
    s = interp_run(m, "other", &h, 1, &in, 1, &out);
    assert_int_equal(xt_status_code(s), XT_NOT_FOUND);
    xt_status_free(s);
    array_free(&wrong);
    array_free(&in);
    ir_module_free(m);
}

static const array *find_captured(void *env, const ir_value *v) {
    return v->type->rank == 0 ? env : NULL; /* the vector is an operand too, and known by that */
}

/* interp_op on a loop: the CPU device's way. The captured limit comes from the caller. */
static void one_op_alone(void **state) {
    (void)state;
    ir_module *m = NULL;
    assert_null(ir_parse(loop_text, sizeof loop_text - 1, "loop", &m));
    const ir_op *loop = ir_func_find(m, "main")->body->first;
    while (loop->code != OP_while) loop = loop->next;
    array in[2], out[2], outside;
    assert_null(array_new(ir_scalar(XT_I32), &in[0]));
    assert_null(array_new(ir_tensor(XT_F32, 1, (int64_t[]){1000}), &in[1]));
    assert_null(array_new(in[0].type, &out[0]));
    assert_null(array_new(in[1].type, &out[1]));
    assert_null(array_new(in[0].type, &outside));
    array_set(&outside, 0, 1); /* the limit and the step of the counter alike */
    array_set(&in[1], 5, -4);
    assert_null(interp_op(m, loop, NULL, in, out, find_captured, &outside));
    assert_true(array_get(&out[0], 0) == 1);
    assert_true(array_get(&out[1], 5) == 8);
    for (int k = 0; k < 2; k++) {
        array_free(&in[k]);
        array_free(&out[k]);
    }
    array_free(&outside);
    ir_module_free(m);
    assert_int_equal(live_get(LIVE_array), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control),
        cmocka_unit_test(processes),
        cmocka_unit_test(loops_do_not_grow),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(hooks),
        cmocka_unit_test(one_op_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
