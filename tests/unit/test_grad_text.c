/* Derivative rules on programs in text, as they come from other frameworks: control flow, calls, collectives,
 * computations with regions, legacy ops. Each row is differentiated once and twice and compared with differences
 * (grad_numeric.h). Rows with several processes run as a grid of that many replicas, with inputs of their own, and the
 * sum of their losses is differentiated. Run one row: test_grad_text NAME. */
#include "grad_numeric.h"
#include "pass/pass.h"

typedef struct row {
    const char *name;
    const char *args, *body, *result; /* of @main; all f64 but the result */
    double lo, hi;
    size_t processes; /* 0 = 1 */
    const char *functions;
} row;

#define F "tensor<f64>"
#define V3 "tensor<3xf64>"
#define M23 "tensor<2x3xf64>"
#define S(name, v) "%" name " = stablehlo.constant dense<" v "> : " F "\n"
#define I(name, v) "%" name " = stablehlo.constant dense<" v "> : tensor<i64>\n"
#define CHLO(op) "%r = chlo." op " %x : " M23 " -> " M23 "\n"
#define SPREAD(op) "%r = chlo.broadcast_" op " %x, %y : (" M23 ", " V3 ") -> " M23 "\n return %r : " M23
#define SPREAD_ROW(name, lo, hi)                                     \
    {                                                                \
        "chlo_broadcast_" name, "%x: " M23 ", %y: " V3, SPREAD(name) \
        , M23, lo, hi, 0, NULL                                       \
    }
/* The first operand is an order, which takes no gradient: 2. */
#define SPREAD_ORDER(op)                                                                                       \
    "%o = stablehlo.constant dense<2.0> : " F "\n%r = chlo.broadcast_" op " %o, %x : (" F ", " M23 ") -> " M23 \
    "\n return %r : " M23
#define GROUPS "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
#define BINARY(op) "({ ^bb0(%a: " F ", %b: " F "): %c = stablehlo." op " %a, %b : " F " stablehlo.return %c : " F " })"

static const row rows[] = {
    /* --- branches --- */
    {"if_captures", "%x: " V3 ", %y: " V3,
     "%z = stablehlo.constant dense<0.0> : " F "\n"
     "%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (" V3 ", " F ") -> " F "\n"
     "%p = stablehlo.compare GT, %s, %z : (" F ", " F ") -> tensor<i1>\n"
     "%r, %q = \"stablehlo.if\"(%p) ({\n"
     " %m = stablehlo.multiply %x, %y : " V3 "\n %e = stablehlo.sine %m : " V3 "\n stablehlo.return %e, %x : " V3
     ", " V3 "\n}, {\n"
     " %e = stablehlo.exponential %y : " V3 "\n %f = stablehlo.multiply %e, %x : " V3 "\n stablehlo.return %f, %e : " V3
     ", " V3 "\n}) : (tensor<i1>) -> (" V3 ", " V3 ")\n"
     "%w = stablehlo.multiply %r, %q : " V3 "\n return %w : " V3,
     V3, 0, 0, 0, NULL},
    {"case", "%x: " V3,
     "%i = stablehlo.constant dense<1> : tensor<i32>\n"
     "%r = \"stablehlo.case\"(%i) ({\n stablehlo.return %x : " V3 "\n}, {\n %e = stablehlo.tanh %x : " V3
     "\n %f = stablehlo.multiply %e, %x : " V3 "\n stablehlo.return %f : " V3 "\n}, {\n %n = stablehlo.negate %x : " V3
     "\n stablehlo.return %n : " V3 "\n}) : (tensor<i32>) -> " V3 "\n return %r : " V3,
     V3, 0, 0, 0, NULL},
    {"if_in_if", "%x: " F,
     S("z", "0.0") S("o", "0.5") "%p = stablehlo.compare GT, %x, %z : (" F ", " F ") -> tensor<i1>\n"
                                 "%r = \"stablehlo.if\"(%p) ({\n"
                                 " %q = stablehlo.compare LT, %x, %o : (" F ", " F
                                 ") -> tensor<i1>\n %k = stablehlo.multiply %x, %x : " F "\n"
                                 " %s = \"stablehlo.if\"(%q) ({\n"
                                 " %a = stablehlo.multiply %k, %x : " F "\n stablehlo.return %a : " F
                                 "\n}, {\n stablehlo.return %k : " F "\n}) : (tensor<i1>) -> " F "\n"
                                 " stablehlo.return %s : " F "\n}, {\n %a = stablehlo.cosine %x : " F
                                 "\n stablehlo.return %a : " F "\n}) : (tensor<i1>) -> " F "\n return %r : " F,
     F, 0.1, 0.4, 0, NULL},
    /* --- loops --- */
    {"while_counted", "%x: " V3 ", %w: " V3,
     I("z", "0") I("n", "4")
         I("o", "1") "%r:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i64>, " V3 "\n"
                     " cond {\n"
                     " %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                     " stablehlo.return %p : tensor<i1>\n"
                     "} do {\n"
                     " %j = stablehlo.add %i, %o : tensor<i64>\n"
                     " %m = stablehlo.multiply %a, %w : " V3 "\n %s = stablehlo.sine %m : " V3 "\n"
                     " %f = stablehlo.convert %i : (tensor<i64>) -> " F
                     "\n %g = stablehlo.broadcast_in_dim %f, dims = [] : (" F ") -> " V3
                     "\n %t = stablehlo.add %s, %g : " V3 "\n"
                     " stablehlo.return %j, %t : tensor<i64>, " V3 "\n}\n return %r#1 : " V3,
     V3, 0, 0, 0, NULL},
    {"while_down_by_two", "%x: " F,
     I("n", "7") I("two", "2")
         I("o", "1") "%r:2 = stablehlo.while(%a = %x, %i = %n) : " F ", tensor<i64>\n"
                     " cond {\n"
                     " %p = stablehlo.compare GE, %i, %o : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                     " stablehlo.return %p : tensor<i1>\n"
                     "} do {\n"
                     " %j = stablehlo.subtract %i, %two : tensor<i64>\n"
                     " %m = stablehlo.multiply %a, %a : " F "\n %s = stablehlo.cosine %m : " F "\n"
                     " stablehlo.return %s, %j : " F ", tensor<i64>\n}\n return %r#0 : " F,
     F, 0.3, 1.2, 0, NULL},
    {"while_until", "%x: " F ", %w: " F, /* how often depends on the data */
     S("limit", "20.0") "%r = stablehlo.while(%a = %x) : " F "\n cond {\n %p = stablehlo.compare LT, %a, %limit : (" F
                        ", " F ") -> tensor<i1>\n"
                        " stablehlo.return %p : tensor<i1>\n"
                        "} do {\n"
                        " %m = stablehlo.multiply %a, %w : " F "\n %s = stablehlo.add %m, %x : " F
                        "\n stablehlo.return %s : " F "\n}\n return %r : " F,
     F, 1.3, 1.9, 0, NULL},
    {"while_never", "%x: " F,
     I("z", "0") "%r:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i64>, " F "\n"
                 " cond {\n"
                 " %p = stablehlo.compare LT, %i, %z : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                 " stablehlo.return %p : tensor<i1>\n"
                 "} do {\n"
                 " %m = stablehlo.multiply %a, %a : " F "\n stablehlo.return %i, %m : tensor<i64>, " F "\n}\n"
                 " %y = stablehlo.multiply %r#1, %x : " F "\n return %y : " F,
     F, 0, 0, 0, NULL},
    {"while_scan", "%x: tensor<4x2xf64>, %h: tensor<2xf64>", /* a recurrent net: a slice in, a slice out */
     I("z", "0") I("n", "4") I(
         "o", "1") "%k = stablehlo.constant dense<0.0> : tensor<4x2xf64>\n"
                   "%r:4 = stablehlo.while(%i = %z, %s = %h, %ys = %k, %xs = %x) : tensor<i64>, tensor<2xf64>, "
                   "tensor<4x2xf64>, tensor<4x2xf64>\n"
                   " cond {\n"
                   " %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                   " stablehlo.return %p : tensor<i1>\n"
                   "} do {\n"
                   " %a = stablehlo.dynamic_slice %xs, %i, %z, sizes = [1, 2] : (tensor<4x2xf64>, tensor<i64>, "
                   "tensor<i64>) -> tensor<1x2xf64>\n"
                   " %b = stablehlo.reshape %a : (tensor<1x2xf64>) -> tensor<2xf64>\n"
                   " %c = stablehlo.multiply %s, %b : tensor<2xf64>\n"
                   " %t = stablehlo.tanh %c : tensor<2xf64>\n"
                   " %u = stablehlo.add %t, %b : tensor<2xf64>\n %v = stablehlo.reshape %u : (tensor<2xf64>) -> "
                   "tensor<1x2xf64>\n"
                   " %q = stablehlo.dynamic_update_slice %ys, %v, %i, %z : (tensor<4x2xf64>, tensor<1x2xf64>, "
                   "tensor<i64>, tensor<i64>) -> tensor<4x2xf64>\n"
                   " %j = stablehlo.add %i, %o : tensor<i64>\n"
                   " stablehlo.return %j, %u, %q, %xs : tensor<i64>, tensor<2xf64>, tensor<4x2xf64>, tensor<4x2xf64>\n"
                   "}\n"
                   " return %r#2 : tensor<4x2xf64>",
     "tensor<4x2xf64>", 0, 0, 0, NULL},
    {"while_rows_reshaped", /* a row is read, and a state kept, as a matrix the other way round */
     "%x: tensor<2x3x2xf64>, %w: tensor<3x4xf64>, %h: tensor<2x4xf64>",
     I("z", "0") I("n", "2") I(
         "o", "1") "%k = stablehlo.constant dense<0.0> : tensor<2x4x2xf64>\n"
                   "%r:3 = stablehlo.while(%i = %z, %s = %h, %ys = %k) : tensor<i64>, tensor<2x4xf64>, "
                   "tensor<2x4x2xf64>\n"
                   " cond {\n"
                   " %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                   " stablehlo.return %p : tensor<i1>\n"
                   "} do {\n"
                   " %a = stablehlo.dynamic_slice %x, %i, %z, %z, sizes = [1, 3, 2] : (tensor<2x3x2xf64>, tensor<i64>, "
                   "tensor<i64>, tensor<i64>) -> tensor<1x3x2xf64>\n"
                   " %b = stablehlo.reshape %a : (tensor<1x3x2xf64>) -> tensor<2x3xf64>\n"
                   " %c = stablehlo.dot_general %b, %w, contracting_dims = [1] x [0] : (tensor<2x3xf64>, "
                   "tensor<3x4xf64>) -> tensor<2x4xf64>\n"
                   " %d = stablehlo.multiply %c, %s : tensor<2x4xf64>\n"
                   " %v = stablehlo.reshape %s : (tensor<2x4xf64>) -> tensor<1x4x2xf64>\n"
                   " %q = stablehlo.dynamic_update_slice %ys, %v, %i, %z, %z : (tensor<2x4x2xf64>, "
                   "tensor<1x4x2xf64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x4x2xf64>\n"
                   " %j = stablehlo.add %i, %o : tensor<i64>\n"
                   " stablehlo.return %j, %d, %q : tensor<i64>, tensor<2x4xf64>, tensor<2x4x2xf64>\n"
                   "}\n"
                   " return %r#1 : tensor<2x4xf64>",
     "tensor<2x4xf64>", 0, 0, 0, NULL},
    {"while_in_while", "%x: " F ", %w: " F,
     I("z", "0") I("n", "2")
         I("o", "1") "%r:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i64>, " F "\n"
                     " cond {\n"
                     " %p = stablehlo.compare NE, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                     " stablehlo.return %p : tensor<i1>\n} do {\n"
                     " %q:2 = stablehlo.while(%k = %n, %c = %a) : tensor<i64>, " F "\n"
                     " cond {\n"
                     " %p = stablehlo.compare GT, %k, %z : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                     " stablehlo.return %p : tensor<i1>\n"
                     "} do {\n"
                     " %m = stablehlo.multiply %c, %w : " F "\n %s = stablehlo.sine %m : " F
                     "\n %l = stablehlo.subtract %k, %o : tensor<i64>\n"
                     " stablehlo.return %l, %s : tensor<i64>, " F "\n}\n"
                     " %t = stablehlo.multiply %q#1, %a : " F "\n"
                     " %j = stablehlo.add %i, %o : tensor<i64>\n"
                     " stablehlo.return %j, %t : tensor<i64>, " F "\n}\n return %r#1 : " F,
     F, 0.4, 1.4, 0, NULL},
    {"while_with_if", "%x: " F ", %w: " F,
     I("z", "0") I("n", "3") I("o", "1")
         S("zero", "0.0") "%r:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i64>, " F "\n"
                          " cond {\n"
                          " %p = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                          " stablehlo.return %p : tensor<i1>\n"
                          "} do {\n"
                          " %p = stablehlo.compare EQ, %i, %o : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
                          " %s = \"stablehlo.if\"(%p) ({\n"
                          " %m = stablehlo.multiply %a, %w : " F "\n stablehlo.return %m : " F
                          "\n}, {\n %m = stablehlo.sine %a : " F "\n stablehlo.return %m : " F
                          "\n}) : (tensor<i1>) -> " F "\n"
                          " %j = stablehlo.add %i, %o : tensor<i64>\n"
                          " stablehlo.return %j, %s : tensor<i64>, " F "\n}\n return %r#1 : " F,
     F, 0, 0, 0, NULL},
    /* --- calls --- */
    {"call", "%x: " F ", %y: " F,
     "%r:2 = func.call @f(%x, %y) : (" F ", " F ") -> (" F ", " F ")\n %s = func.call @g(%r#1) : (" F ") -> " F
     "\n %t = stablehlo.multiply %s, %r#0 : " F "\n return %t : " F,
     F, 0, 0, 0,
     "func.func private @f(%x: " F ", %y: " F ") -> (" F ", " F ") {\n %a = func.call @g(%x) : (" F ") -> " F
     "\n %b = stablehlo.multiply %a, %y : " F "\n return %b, %y : " F ", " F "\n}\n"
     "func.func private @g(%x: " F ") -> " F " {\n %a = stablehlo.tanh %x : " F "\n return %a : " F "\n}\n"},
    {"composite", "%x: " F,
     "%r = stablehlo.composite \"my.op\" %x {decomposition = @d} : (" F ") -> " F "\n return %r : " F, F, 0, 0, 0,
     "func.func private @d(%x: " F ") -> " F " {\n %a = stablehlo.sine %x : " F "\n %b = stablehlo.multiply %a, %x : " F
     "\n return %b : " F "\n}\n"},
    /* --- collectives, two replicas --- */
    {"all_reduce_sum", "%x: " V3,
     "%r = \"stablehlo.all_reduce\"(%x) " BINARY("add") " {" GROUPS "} : (" V3 ") -> " V3
                                                        "\n %s = stablehlo.multiply %r, %r : " V3
                                                        "\n %t = stablehlo.multiply %s, %x : " V3 "\n return %t : " V3,
     V3, 0, 0, 2, NULL},
    {"all_reduce_max", "%x: " V3,
     "%r = \"stablehlo.all_reduce\"(%x) " BINARY(
         "maximum") " {" GROUPS "} : (" V3 ") -> " V3 "\n %s = stablehlo.multiply %r, %r : " V3
                    "\n %t = stablehlo.multiply %s, %x : " V3 "\n return %t : " V3,
     V3, 0, 0, 2, NULL},
    {"all_gather", "%x: " M23,
     "%r = \"stablehlo.all_gather\"(%x) {all_gather_dim = 1 : i64, " GROUPS "} : (" M23 ") -> tensor<2x6xf64>\n"
     " %s = stablehlo.sine %r : tensor<2x6xf64>\n"
     " return %s : tensor<2x6xf64>",
     "tensor<2x6xf64>", 0, 0, 2, NULL},
    {"reduce_scatter", "%x: " M23,
     "%r = \"stablehlo.reduce_scatter\"(%x) " BINARY("add") " {scatter_dimension = 0 : i64, " GROUPS "} : (" M23
                                                            ") -> tensor<1x3xf64>\n"
                                                            " %s = stablehlo.sine %r : tensor<1x3xf64>\n"
                                                            " return %s : tensor<1x3xf64>",
     "tensor<1x3xf64>", 0, 0, 2, NULL},
    {"all_to_all", "%x: " M23,
     "%r = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : "
     "i64, " GROUPS "} : (" M23 ") -> tensor<1x6xf64>\n"
     " %s = stablehlo.sine %r : tensor<1x6xf64>\n"
     " return %s : tensor<1x6xf64>",
     "tensor<1x6xf64>", 0, 0, 2, NULL},
    {"collective_permute", "%x: " V3,
     "%r = \"stablehlo.collective_permute\"(%x) {source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>} : (" V3
     ") -> " V3 "\n %s = stablehlo.multiply %r, %r : " V3 "\n %t = stablehlo.add %s, %x : " V3
     "\n %u = stablehlo.multiply %s, %t : " V3 "\n return %u : " V3,
     V3, 0, 0, 2, NULL},
    {"collective_broadcast", "%x: " V3,
     "%r = \"stablehlo.collective_broadcast\"(%x) {" GROUPS "} : (" V3 ") -> " V3 "\n %s = stablehlo.sine %r : " V3
     "\n %t = stablehlo.multiply %s, %x : " V3 "\n return %t : " V3,
     V3, 0, 0, 2, NULL},
    /* --- computations --- */
    {"reduce_two_sums", "%x: " M23 ", %y: " M23 ", %z: " F,
     S("zero", "0.0") "%r:2 = stablehlo.reduce(%x init: %zero), (%y init: %z) across dimensions = [1] : (" M23 ", " M23
                      ", " F ", " F ") -> (tensor<2xf64>, tensor<2xf64>)\n"
                      " reducer(%a: " F ", %c: " F ") (%b: " F ", %d: " F ") {\n %s = stablehlo.add %a, %c : " F
                      "\n %p = stablehlo.multiply %b, %d : " F "\n stablehlo.return %s, %p : " F ", " F "\n}\n"
                      " %w = stablehlo.multiply %r#0, %r#1 : tensor<2xf64>\n return %w : tensor<2xf64>",
     "tensor<2xf64>", 0, 0, 0, NULL},
    /* with its value, over everything, and an initial value that may win */
    {"reduce_argmax", "%x: tensor<2x5xf64>, %z: " F,
     I("none", "-1") "%i = stablehlo.iota dim = 1 : tensor<2x5xi64>\n"
                     "%r:2 = stablehlo.reduce(%x init: %z), (%i init: %none) across dimensions = [0, 1] : "
                     "(tensor<2x5xf64>, tensor<2x5xi64>, " F ", tensor<i64>) -> (" F ", tensor<i64>)\n"
                     " reducer(%a: " F ", %c: " F ") (%b: tensor<i64>, %d: tensor<i64>) {\n"
                     " %p = stablehlo.compare GE, %a, %c : (" F ", " F ") -> tensor<i1>\n"
                     " %s = stablehlo.select %p, %a, %c : tensor<i1>, " F "\n"
                     " %t = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i64>\n"
                     " stablehlo.return %s, %t : " F ", tensor<i64>\n}\n"
                     " %w = stablehlo.multiply %r#0, %r#0 : " F "\n return %w : " F,
     F, 0, 0, 0, NULL},
    {"reduce_any", "%x: tensor<2x5x3xf64>, %z: " F, /* log(e^a + e^b) of 15 elements */
     "%r = stablehlo.reduce(%x init: %z) across dimensions = [1, 2] : (tensor<2x5x3xf64>, " F ") -> tensor<2xf64>\n"
     " reducer(%a: " F ", %b: " F ") {\n %p = stablehlo.exponential %a : " F "\n %q = stablehlo.exponential %b : " F
     "\n %s = stablehlo.add %p, %q : " F "\n %l = stablehlo.log %s : " F "\n stablehlo.return %l : " F
     "\n}\n return %r : tensor<2xf64>",
     "tensor<2xf64>", 0, 0, 0, NULL},
    {"reduce_window_any", "%x: tensor<2x7xf64>",
     "%z = stablehlo.constant dense<0xFFF0000000000000> : " F "\n"
     "%r = \"stablehlo.reduce_window\"(%x, %z) ({ ^bb0(%a: " F ", %b: " F "): %p = stablehlo.exponential %a : " F
     " %q = stablehlo.exponential %b : " F " %s = stablehlo.add %p, %q : " F " %l = stablehlo.log %s : " F
     " stablehlo.return %l : " F
     " }) {window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 1>, "
     "window_dilations = array<i64: 1, 2>, padding = dense<[[0, 0], [2, 1]]> : tensor<2x2xi64>} : (tensor<2x7xf64>, " F
     ") -> tensor<2x3xf64>\n return %r : tensor<2x3xf64>",
     "tensor<2x3xf64>", 0, 0, 0, NULL},
    {"map", "%x: " M23 ", %y: " M23,
     "%r = \"stablehlo.map\"(%x, %y) ({ ^bb0(%a: " F ", %b: " F "): %k = stablehlo.constant dense<2.0> : " F
     " %c = stablehlo.multiply %a, %b : " F " %d = stablehlo.sine %c : " F " %e = stablehlo.power %a, %k : " F
     " %f = stablehlo.add %d, %e : " F " stablehlo.return %f : " F " }) {dimensions = array<i64: 0, 1>} : (" M23
     ", " M23 ") -> " M23 "\n return %r : " M23,
     M23, 0.2, 2, 0, NULL},
    {"select_and_scatter_min", "%x: tensor<4x5xf64>, %s: " M23,
     S("z", "0.0") "%r = \"stablehlo.select_and_scatter\"(%x, %s, %z) ({ ^bb0(%a: " F ", %b: " F
                   "): %c = stablehlo.compare LE, %a, %b : (" F ", " F
                   ") -> tensor<i1> stablehlo.return %c : tensor<i1> }, "
                   "{ ^bb0(%a: " F ", %b: " F "): %c = stablehlo.add %a, %b : " F " stablehlo.return %c : " F
                   " }) {window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, "
                   "padding = dense<[[0, 0], [0, 1]]> : tensor<2x2xi64>} : (tensor<4x5xf64>, " M23 ", " F
                   ") -> tensor<4x5xf64>\n"
                   "%t = stablehlo.multiply %r, %r : tensor<4x5xf64>\n"
                   " return %t : tensor<4x5xf64>",
     "tensor<4x5xf64>", 0, 0, 0, NULL},
    /* --- legacy and rare --- */
    {"broadcast", "%x: " V3,
     "%r = stablehlo.broadcast %x, sizes = [2, 4] : (" V3 ") -> tensor<2x4x3xf64>\n"
     "%s = stablehlo.multiply %r, %r : tensor<2x4x3xf64>\n"
     "return %s : tensor<2x4x3xf64>",
     "tensor<2x4x3xf64>", 0, 0, 0, NULL},
    {"dot_matrices", "%x: " M23 ", %y: tensor<3x2xf64>",
     "%r = stablehlo.dot %x, %y : (" M23 ", tensor<3x2xf64>) -> tensor<2x2xf64>\n"
     "%s = stablehlo.multiply %r, %r : tensor<2x2xf64>\n"
     "return %s : tensor<2x2xf64>",
     "tensor<2x2xf64>", 0, 0, 0, NULL},
    {"dot_matrix_vector", "%x: " M23 ", %y: " V3,
     "%r = stablehlo.dot %x, %y : (" M23 ", " V3 ") -> tensor<2xf64>\n"
     "%s = stablehlo.sine %r : tensor<2xf64>\n"
     "return %s : tensor<2xf64>",
     "tensor<2xf64>", 0, 0, 0, NULL},
    {"dot_vectors", "%x: " V3 ", %y: " V3,
     "%r = stablehlo.dot %x, %y : (" V3 ", " V3 ") -> " F "\n%s = stablehlo.sine %r : " F "\nreturn %s : " F, F, 0, 0,
     0, NULL},
    {"reduce_precision", "%x: " M23,
     "%r = stablehlo.reduce_precision %x, format = e11m52 : " M23 "\n%s = stablehlo.sine %r : " M23
     "\nreturn %s : " M23,
     M23, 0, 0, 0, NULL},
    {"collective_reduce", "%x: " V3,
     "%r = \"stablehlo.collective_reduce\"(%x) " BINARY(
         "add") " {" GROUPS "} : (" V3 ") -> " V3 "\n %s = stablehlo.multiply %r, %r : " V3
                "\n %t = stablehlo.add %s, %x : " V3 "\n %u = stablehlo.multiply %t, %x : " V3 "\n return %u : " V3,
     V3, 0, 0, 2, NULL},
    {"chlo_broadcast_select", "%x: " M23 ", %y: " F,
     "%p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>\n"
     "%r = chlo.broadcast_select %p, %x, %y : (tensor<3xi1>, " M23 ", " F ") -> " M23
     "\n%s = stablehlo.multiply %r, %r : " M23 "\nreturn %s : " M23,
     M23, 0, 0, 0, NULL},
    {"chlo_broadcast_power", "%x: " V3 ", %y: " M23,
     "%r = chlo.broadcast_power %x, %y : (" V3 ", " M23 ") -> " M23 "\nreturn %r : " M23, M23, 0.5, 2, 0, NULL},
    /* --- chlo --- */
    {"chlo_acos", "%x: " M23, CHLO("acos") "return %r : " M23, M23, -0.8, 0.8, 0, NULL},
    {"chlo_acosh", "%x: " M23, CHLO("acosh") "return %r : " M23, M23, 1.3, 3, 0, NULL},
    {"chlo_asin", "%x: " M23, CHLO("asin") "return %r : " M23, M23, -0.8, 0.8, 0, NULL},
    {"chlo_asinh", "%x: " M23, CHLO("asinh") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_atan", "%x: " M23, CHLO("atan") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_atanh", "%x: " M23, CHLO("atanh") "return %r : " M23, M23, -0.8, 0.8, 0, NULL},
    {"chlo_cosh", "%x: " M23, CHLO("cosh") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_sinh", "%x: " M23, CHLO("sinh") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_tan", "%x: " M23, CHLO("tan") "return %r : " M23, M23, -1, 1, 0, NULL},
    {"chlo_square", "%x: " M23, CHLO("square") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_erf", "%x: " M23, CHLO("erf") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_erfc", "%x: " M23, CHLO("erfc") "return %r : " M23, M23, 0, 0, 0, NULL},
    {"chlo_erf_inv", "%x: " M23, CHLO("erf_inv") "return %r : " M23, M23, -0.8, 0.8, 0, NULL},
    {"chlo_lgamma", "%x: " M23, CHLO("lgamma") "return %r : " M23, M23, 0.6, 4, 0, NULL},
    {"chlo_digamma", "%x: " M23, CHLO("digamma") "return %r : " M23, M23, 0.6, 4, 0, NULL},
    {"chlo_polygamma", "%x: " M23,
     "%n = stablehlo.constant dense<2.0> : " M23 "\n%r = chlo.polygamma %n, %x : " M23 ", " M23 " -> " M23
     "\nreturn %r : " M23,
     M23, 1, 4, 0, NULL},
    {"chlo_zeta", "%x: " M23,
     "%n = stablehlo.constant dense<3.0> : " M23 "\n%r = chlo.zeta %n, %x : " M23 ", " M23 " -> " M23
     "\nreturn %r : " M23,
     M23, 1, 4, 0, NULL},
    {"chlo_broadcast_divide", "%x: " M23 ", %y: " V3,
     "%r = chlo.broadcast_divide %x, %y : (" M23 ", " V3 ") -> " M23 "\nreturn %r : " M23, M23, 0.5, 2, 0, NULL},
    SPREAD_ROW("add", 0, 0),
    SPREAD_ROW("subtract", 0, 0),
    SPREAD_ROW("multiply", 0, 0),
    SPREAD_ROW("maximum", 0, 0),
    SPREAD_ROW("minimum", 0, 0),
    SPREAD_ROW("remainder", 0.5, 2),
    SPREAD_ROW("atan2", 0.5, 2),
    {"chlo_broadcast_complex", "%x: " M23 ", %y: " V3,
     "%z = chlo.broadcast_complex %x, %y : (" M23 ", " V3 ") -> tensor<2x3xcomplex<f64>>\n"
     "%r = stablehlo.multiply %z, %z : tensor<2x3xcomplex<f64>>\nreturn %r : tensor<2x3xcomplex<f64>>",
     "tensor<2x3xcomplex<f64>>", 0, 0, 0, NULL},
    {"chlo_broadcast_polygamma", "%x: " M23, SPREAD_ORDER("polygamma"), M23, 0.6, 4, 0, NULL},
    {"chlo_broadcast_zeta", "%x: " M23, SPREAD_ORDER("zeta"), M23, 0.6, 4, 0, NULL},
    {"chlo_next_after", "%x: " M23, /* one step of an f64 further, beside which a difference sees nothing */
     "%o = stablehlo.constant dense<9.0> : " M23 "\n%p = chlo.next_after %x, %o : " M23 ", " M23 " -> " M23 "\n"
     "%q = chlo.broadcast_next_after %p, %o : (" M23 ", " M23 ") -> " M23 "\n"
     "%r = stablehlo.multiply %q, %x : " M23 "\nreturn %r : " M23,
     M23, 0, 0, 0, NULL},
    {"chlo_conj", "%x: " M23 ", %y: " M23,
     "%z = stablehlo.complex %x, %y : tensor<2x3xcomplex<f64>>\n"
     "%r = chlo.conj %z : tensor<2x3xcomplex<f64>> -> tensor<2x3xcomplex<f64>>\n"
     "%s = stablehlo.multiply %r, %r : tensor<2x3xcomplex<f64>>\n"
     "%u = stablehlo.multiply %s, %z : tensor<2x3xcomplex<f64>>\n"
     "return %u : tensor<2x3xcomplex<f64>>",
     "tensor<2x3xcomplex<f64>>", 0, 0, 0, NULL},
    {"chlo_top_k", "%x: tensor<2x5xf64>",
     "%r:2 = chlo.top_k(%x, k = 3) : tensor<2x5xf64> -> (tensor<2x3xf64>, tensor<2x3xi32>)\n"
     "%s = stablehlo.multiply %r#0, %r#0 : " M23 "\nreturn %s : " M23,
     M23, 0, 0, 0, NULL},
    {"sharding_constraint", "%x: " M23,
     "%c = sdy.sharding_constraint %x <@mesh, [{\"a\"}, {}]> : " M23 "\n%d = sdy.reshard %c <@mesh, [{}, {}]> : " M23
     "\n%e = sdy.propagation_barrier %d allowed_direction=NONE : " M23 "\n%r = stablehlo.multiply %c, %e : " M23
     "\n return %r : " M23,
     M23, 0, 0, 0, "sdy.mesh @mesh = <[\"a\"=2]>\n"},
};

static ir_module *parsed(const row *r, ir_value **out_result) {
    str text = STR_INIT;
    ir_module *m;
    str_printf(&text, "module {\nfunc.func public @main(%s) -> %s {\n%s\n}\n%s}\n", r->args, r->result, r->body,
               r->functions ? r->functions : "");
    xt_status s = ir_parse(str_cstr(&text), text.len, r->name, &m);
    if (s) print_error("%s\n", str_cstr(&text));
    ok(s);
    str_free(&text);
    ir_func *f = ir_func_find(m, "main");
    ir_op *ret = ir_block_return(f->body);
    *out_result = ret->in[0];
    ir_erase(ret);
    f->result_types = NULL;
    return m;
}

static ir_module *differentiated(const row *r, bool second, size_t *out_n) {
    ir_value *y;
    ir_module *m = parsed(r, &y);
    ir_func *f = ir_func_find(m, "main");
    ir_builder b = ir_at_end(m, f->body);
    *out_n = f->body->n_args;
    assert_true(*out_n <= NUMERIC_MAX_IN);
    finish_program(&b, *out_n, f->body->args, weighted(&b, y, 1), second);
    ok(pass_expand_chlo(m));
    return m;
}

/* The module with a function @world that runs main on every replica. */
static ir_module *in_parallel(ir_module *m, size_t processes) {
    const ir_func *f = ir_func_find(m, "main");
    str text = STR_INIT, ins = STR_INIT, in_types = STR_INIT, out_types = STR_INIT, names = STR_INIT,
        programs = STR_INIT;
    ir_module *whole;
    ok(ir_print(m, 0, &text));
    while (text.len && text.data[text.len - 1] != '}') text.len--;
    text.data[--text.len] = 0;
    size_t k = 0;
    for (size_t p = 0; p < processes; p++) {
        str_printf(&programs, "%s[@main]", p ? ", " : "");
        for (size_t i = 0; i < f->body->n_args; i++, k++) {
            str_printf(&ins, "%s%%x%zu: ", k ? ", " : "", k);
            str_printf(&names, "%s%%x%zu", k ? ", " : "", k);
            if (k) str_append(&in_types, ", ");
            ir_type_print(f->body->args[i]->type, &ins);
            ir_type_print(f->body->args[i]->type, &in_types);
        }
        for (size_t i = 0; i < f->n_results; i++) {
            if (p || i) str_append(&out_types, ", ");
            ir_type_print(f->result_types[i], &out_types);
        }
    }
    size_t n_out = processes * f->n_results;
    str_printf(&text,
               "func.func public @world(%s) -> (%s) {\n"
               "%%r:%zu = \"interpreter.run_parallel\"(%s) {programs = [%s]} : (%s) -> (%s)\n"
               "return ",
               str_cstr(&ins), str_cstr(&out_types), n_out, str_cstr(&names), str_cstr(&programs), str_cstr(&in_types),
               str_cstr(&out_types));
    for (size_t i = 0; i < n_out; i++) str_printf(&text, "%s%%r#%zu", i ? ", " : "", i);
    str_printf(&text, " : %s\n}\n}\n", str_cstr(&out_types));
    xt_status s = ir_parse(str_cstr(&text), text.len, "world", &whole);
    if (s) print_error("%s\n", str_cstr(&text));
    ok(s);
    str *all[] = {&text, &ins, &in_types, &out_types, &names, &programs};
    for (size_t i = 0; i < BASE_COUNT(all); i++) str_free(all[i]);
    ir_module_free(m);
    return whole;
}

static void check_row(void **state) {
    const row *r = *state;
    size_t processes = r->processes ? r->processes : 1;
    for (int second = 0; second < 2; second++) {
        numeric p = {.name = r->name, .entry = processes > 1 ? "world" : "main", .processes = processes};
        array x[4 * NUMERIC_MAX_IN] = {0};
        const ir_type *types[4 * NUMERIC_MAX_IN];
        ir_module *m = differentiated(r, second, &p.n);
        for (size_t k = 0; k < p.n * processes; k++) types[k] = ir_func_find(m, "main")->body->args[k % p.n]->type;
        if (processes > 1) m = in_parallel(m, processes);
        p.m = m;
        fill_inputs(p.n * processes, types, r->lo == r->hi ? -1.5 : r->lo, r->lo == r->hi ? 1.5 : r->hi, x);
        compare_numeric(&p, x, second ? "second" : "first");
        for (size_t k = 0; k < p.n * processes; k++) array_free(&x[k]);
        ir_module_free(m);
    }
}

/* The n-th allocation of a row's differentiation fails: a status, or gradients if it was not needed. */
static void without_memory(void **state) {
    (void)state;
    size_t refused = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        for (int64_t n = 0; n < 200; n += n < 20 ? 1 : 13) {
            ir_value *y, *g[NUMERIC_MAX_IN];
            ir_module *m = parsed(&rows[i], &y);
            ir_func *f = ir_func_find(m, "main");
            for (size_t k = 0; k < f->body->n_args; k++) f->body->args[k]->user = 1;
            mark_dependence(f->body);
            ir_builder b = ir_at_end(m, f->body);
            base_fail_alloc_after(n);
            xt_status s = grad_reverse(&b, y, NULL, f->body->n_args, f->body->args, depends, NULL, g);
            base_fail_alloc_after(-1);
            refused += s != NULL;
            xt_status_free(s);
            ir_module_free(m);
        }
    assert_true(refused > BASE_COUNT(rows));
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[BASE_COUNT(rows) + 1];
    size_t n = 0;
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (argc < 2 || strcmp(argv[1], rows[i].name) == 0)
            tests[n++] = (struct CMUnitTest){
                .name = rows[i].name, .test_func = check_row, .initial_state = (void *)(uintptr_t)&rows[i]};
    if (argc < 2 || strcmp(argv[1], "without_memory") == 0)
        tests[n++] = (struct CMUnitTest)cmocka_unit_test(without_memory);
    return n ? _cmocka_run_group_tests("grad_text", tests, n, NULL, NULL) : 1;
}
