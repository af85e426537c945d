/* Passes over loops and branches. */
#include "pass_test.h"

#define LOOP_HEAD "func.func public @main(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
#define LOOP_TAIL "}\n"
static void loops_read_what_they_do_not_change(void **state) {
    (void)state;
    check("opt_loops", false,
          LOOP_HEAD "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                    "%r:3 = stablehlo.while(%k = %w, %i = %z, %v = %x) : tensor<4xf32>, tensor<i32>, tensor<4xf32>\n"
                    "cond {\n"
                    "%n = stablehlo.constant dense<7> : tensor<i32>\n"
                    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                    "stablehlo.return %c : tensor<i1>\n"
                    "} do {\n"
                    "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                    "%j = stablehlo.add %i, %o : tensor<i32>\n"
                    "%u = stablehlo.multiply %v, %k : tensor<4xf32>\n"
                    "stablehlo.return %k, %j, %u : tensor<4xf32>, tensor<i32>, tensor<4xf32>\n"
                    "}\n"
                    "return %r#0, %r#2 : tensor<4xf32>, tensor<4xf32>\n" LOOP_TAIL,
          LOOP_HEAD "%z = stablehlo.constant dense<0> : tensor<i32>\n"
                    "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<4xf32>\n"
                    "cond {\n"
                    "%n = stablehlo.constant dense<7> : tensor<i32>\n"
                    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                    "stablehlo.return %c : tensor<i1>\n"
                    "} do {\n"
                    "%o = stablehlo.constant dense<1> : tensor<i32>\n"
                    "%j = stablehlo.add %i, %o : tensor<i32>\n"
                    "%u = stablehlo.multiply %v, %w : tensor<4xf32>\n"
                    "stablehlo.return %j, %u : tensor<i32>, tensor<4xf32>\n"
                    "}\n"
                    "return %w, %r#1 : tensor<4xf32>, tensor<4xf32>\n" LOOP_TAIL);
}

/* A loop over x, which reads w and k from outside: `inside` makes %u of them and of the state %v. */
#define HOIST_FRONT(before)                                                                        \
    "func.func public @main(%x: tensor<80x80xf32>, %w: tensor<80x80xf32>, %k: tensor<80xf32>) -> " \
    "tensor<80x80xf32> {\n"                                                                        \
    "%z = stablehlo.constant dense<0> : tensor<i32>\n" before                                      \
    "%r:2 = stablehlo.while(%i = %z, %v = %x) : tensor<i32>, tensor<80x80xf32>\n"                  \
    "cond {\n"                                                                                     \
    "%n = stablehlo.constant dense<7> : tensor<i32>\n"                                             \
    "%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"               \
    "stablehlo.return %c : tensor<i1>\n"                                                           \
    "} do {\n"                                                                                     \
    "%o = stablehlo.constant dense<1> : tensor<i32>\n"                                             \
    "%j = stablehlo.add %i, %o : tensor<i32>\n"
#define HOIST_END                                                \
    "stablehlo.return %j, %u : tensor<i32>, tensor<80x80xf32>\n" \
    "}\n"                                                        \
    "return %r#1 : tensor<80x80xf32>\n}\n"
#define HOIST(before, inside) HOIST_FRONT(before) inside HOIST_END
#define BIG "tensor<80x80xf32>"
#define TIMES(of) \
    "%u = stablehlo.dot_general %v, " of ", contracting_dims = [1] x [0] : (" BIG ", " BIG ") -> " BIG "\n"
static void loops_begin_with_what_does_not_change(void **state) {
    (void)state;
#define SCALED                                       \
    "%h = stablehlo.constant dense<0.5> : " BIG "\n" \
    "%t = stablehlo.transpose %w, dims = [1, 0] : (" BIG ") -> " BIG "\n%m = stablehlo.multiply %h, %t : " BIG "\n"
    check("opt_hoist opt_dce", false, HOIST("", SCALED TIMES("%m")), HOIST(SCALED, TIMES("%m")));
    /* A chain, whose end alone is read inside, with a region of its own. */
#define SUMS                                                                                                        \
    "%f = stablehlo.constant dense<0.0> : tensor<f32>\n%q = stablehlo.multiply %w, %w : " BIG "\n"                  \
    "%s = stablehlo.reduce(%q init: %f) applies stablehlo.add across dimensions = [1] : (" BIG ", tensor<f32>) -> " \
    "tensor<80xf32>\n%e = stablehlo.sqrt %s : tensor<80xf32>\n"
#define ADDED                                                                        \
    "%b = stablehlo.broadcast_in_dim %e, dims = [0] : (tensor<80xf32>) -> " BIG "\n" \
    "%u = stablehlo.add %v, %b : " BIG "\n"
    check("opt_hoist opt_dce", false, HOIST("", SUMS ADDED), HOIST(SUMS, ADDED));
}

static void loops_keep_what_costs_less_inside(void **state) {
    (void)state;
    static const char *const rows[] = {
        /* what depends on the state */
        "%m = stablehlo.multiply %v, %w : " BIG "\n" TIMES("%m"),
        /* a name of an array */
        "%m = stablehlo.transpose %w, dims = [1, 0] : (" BIG ") -> " BIG "\n" TIMES("%m"),
        /* larger than what it is made of */
        "%a = stablehlo.broadcast_in_dim %k, dims = [0] : (tensor<80xf32>) -> " BIG "\n"
        "%b = stablehlo.broadcast_in_dim %k, dims = [1] : (tensor<80xf32>) -> " BIG "\n"
        "%m = stablehlo.multiply %a, %b : " BIG "\n" TIMES("%m"),
        /* an instruction more in a loop over elements */
        "%m = stablehlo.add %w, %w : " BIG "\n%u = stablehlo.multiply %v, %m : " BIG "\n",
        /* behind a barrier */
        "%a = stablehlo.optimization_barrier %w : " BIG "\n%m = stablehlo.multiply %a, %a : " BIG "\n" TIMES("%m"),
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[4096];
        snprintf(text, sizeof text, "%s%s%s", HOIST_FRONT(""), rows[i], HOIST_END);
        check("opt_hoist opt_dce", false, text, text);
    }
}

static void branches_make_their_own_constants(void **state) {
    (void)state;
#define BRANCH_HEAD "func.func public @main(%x: tensor<2x2xf32>, %p: tensor<i1>) -> tensor<2x2xf32> {\n"
#define MASK                                          \
    "%i = stablehlo.iota dim = 0 : tensor<2x2xi32>\n" \
    "%j = stablehlo.iota dim = 1 : tensor<2x2xi32>\n" \
    "%m = stablehlo.compare GE, %i, %j : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi1>\n"
#define BRANCHES(mask)                                                                                           \
    "%r = \"stablehlo.if\"(%p) ({\n" mask "%s = stablehlo.select %m, %x, %y : tensor<2x2xi1>, tensor<2x2xf32>\n" \
    "stablehlo.return %s : tensor<2x2xf32>\n"                                                                    \
    "}, {\n"                                                                                                     \
    "stablehlo.return %x : tensor<2x2xf32>\n"                                                                    \
    "}) : (tensor<i1>) -> tensor<2x2xf32>\n"                                                                     \
    "return %r : tensor<2x2xf32>\n"                                                                              \
    "}\n"
    check("opt_sink opt_dce", false, BRANCH_HEAD "%y = stablehlo.negate %x : tensor<2x2xf32>\n" MASK BRANCHES(""),
          BRANCH_HEAD "%y = stablehlo.negate %x : tensor<2x2xf32>\n" BRANCHES(MASK));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_read_what_they_do_not_change),
        cmocka_unit_test(loops_begin_with_what_does_not_change),
        cmocka_unit_test(loops_keep_what_costs_less_inside),
        cmocka_unit_test(branches_make_their_own_constants),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
