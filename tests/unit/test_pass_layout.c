/* Passes that move data or keep it from moving: transposes, scatters, gathers, pads, what waits for the backward pass.
 */
#include "pass_test.h"

#define H "tensor<2x3xbf16>"
#define HT "tensor<3x2xbf16>"
static void layout_lets_transposes_meet(void **state) {
    (void)state;
    /* Between two transposes a conversion: all that stays is the conversion. */
    check_body("opt_layout opt_dce", false,
               F " {\n %b = stablehlo.convert %x : (" F ") -> " H "\n %t = stablehlo.transpose %b, dims = [1, 0] : (" H
                 ") -> " HT "\n %c = stablehlo.convert %t : (" HT ") -> tensor<3x2xf32>\n"
                 " %u = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x2xf32>) -> " F "\n return %u : " F,
               F " {\n %b = stablehlo.convert %x : (" F ") -> " H "\n %c = stablehlo.convert %b : (" H ") -> " F
                 "\n return %c : " F);
    /* A loop that reads the conversion would have to transpose the result instead of the operand. */
    const char *loop = "tensor<3x2xbf16> {\n"
                       " %t = stablehlo.transpose %x, dims = [1, 0] : (" F ") -> tensor<3x2xf32>\n"
                       " %b = stablehlo.convert %t : (tensor<3x2xf32>) -> " HT "\n %n = stablehlo.negate %b : " HT
                       "\n return %n : " HT;
    check_body("opt_layout opt_dce", false, loop, loop);
}

/* A transpose that a product can make by itself is gone; one that asks for a mixture of the operands' dims, or for what
 * others read as it lies, stays. */
static void products_make_their_transposes(void **state) {
    (void)state;
#define HEAD "func.func public @main(%a: tensor<7x2x3x5xf32>, %b: tensor<7x2x5x4xf32>, %w: tensor<6x3xbf16>) -> "
#define DOT(batch_a, batch_b, type)                                              \
    " %d = stablehlo.dot_general %a, %b, batching_dims = " batch_a " x " batch_b \
    ", contracting_dims = [3] x [2], precision = [HIGH, DEFAULT] : "             \
    "(tensor<7x2x3x5xf32>, tensor<7x2x5x4xf32>) -> " type "\n"
#define MADE(batch_a, batch_b, type)                                             \
    " %d = stablehlo.dot_general %b, %a, batching_dims = " batch_a " x " batch_b \
    ", contracting_dims = [2] x [3], precision = [DEFAULT, HIGH] : "             \
    "(tensor<7x2x5x4xf32>, tensor<7x2x3x5xf32>) -> " type "\n"
#define TRANSPOSE(dims, from, to) " %t = stablehlo.transpose %d, dims = " dims " : (" from ") -> " to "\n"
#define B "tensor<7x2x3x4xf32>"
    check("opt_products opt_dce", false,
          HEAD "tensor<7x2x4x3xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
              TRANSPOSE("[0, 1, 3, 2]", B, "tensor<7x2x4x3xf32>") " return %t : tensor<7x2x4x3xf32>\n}\n",
          HEAD "tensor<7x2x4x3xf32> {\n" MADE("[0, 1]", "[0, 1]",
                                              "tensor<7x2x4x3xf32>") " return %d : tensor<7x2x4x3xf32>\n}\n");
    check("opt_products opt_dce", false,
          HEAD "tensor<2x7x4x3xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
              TRANSPOSE("[1, 0, 3, 2]", B, "tensor<2x7x4x3xf32>") " return %t : tensor<2x7x4x3xf32>\n}\n",
          HEAD "tensor<2x7x4x3xf32> {\n" MADE("[1, 0]", "[1, 0]",
                                              "tensor<2x7x4x3xf32>") " return %d : tensor<2x7x4x3xf32>\n}\n");
    check("opt_products opt_dce", false,
          HEAD "tensor<2x7x3x4xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
              TRANSPOSE("[1, 0, 2, 3]", B, "tensor<2x7x3x4xf32>") " return %t : tensor<2x7x3x4xf32>\n}\n",
          HEAD "tensor<2x7x3x4xf32> {\n" DOT("[1, 0]", "[1, 0]",
                                             "tensor<2x7x3x4xf32>") " return %d : tensor<2x7x3x4xf32>\n}\n");
    /* several free dims, and a conversion between */
    check("opt_products opt_dce", false,
          HEAD "tensor<6x7x2x5xf32> {\n"
               " %d = stablehlo.dot_general %a, %w, contracting_dims = [2] x [1] : (tensor<7x2x3x5xf32>, "
               "tensor<6x3xbf16>) -> tensor<7x2x5x6xf32>\n"
               " %t = stablehlo.transpose %d, dims = [3, 0, 1, 2] : (tensor<7x2x5x6xf32>) -> tensor<6x7x2x5xf32>\n"
               " return %t : tensor<6x7x2x5xf32>\n"
               "}\n",
          HEAD "tensor<6x7x2x5xf32> {\n"
               " %d = stablehlo.dot_general %w, %a, contracting_dims = [1] x [2] : (tensor<6x3xbf16>, "
               "tensor<7x2x3x5xf32>) -> tensor<6x7x2x5xf32>\n"
               " return %d : tensor<6x7x2x5xf32>\n}\n");
    check("opt_products opt_dce", false,
          HEAD
          "tensor<6x6xf32> {\n"
          " %g = stablehlo.constant dense<1.0> : tensor<6x3xbf16>\n"
          " %d = stablehlo.dot_general %g, %w, contracting_dims = [1] x [1] : (tensor<6x3xbf16>, tensor<6x3xbf16>) -> "
          "tensor<6x6xbf16>\n"
          " %c = stablehlo.convert %d : (tensor<6x6xbf16>) -> tensor<6x6xf32>\n"
          " %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>\n"
          " return %t : tensor<6x6xf32>\n}\n",
          HEAD
          "tensor<6x6xf32> {\n"
          " %g = stablehlo.constant dense<1.0> : tensor<6x3xbf16>\n"
          " %d = stablehlo.dot_general %w, %g, contracting_dims = [1] x [1] : (tensor<6x3xbf16>, tensor<6x3xbf16>) -> "
          "tensor<6x6xbf16>\n"
          " %c = stablehlo.convert %d : (tensor<6x6xbf16>) -> tensor<6x6xf32>\n"
          " return %c : tensor<6x6xf32>\n"
          "}\n");
    const char *stay[] = {
        /* a batch dim between free ones */
        HEAD "tensor<7x3x2x4xf32> {\n" DOT("[0, 1]", "[0, 1]", B)
            TRANSPOSE("[0, 2, 1, 3]", B, "tensor<7x3x2x4xf32>") " return %t : tensor<7x3x2x4xf32>\n}\n",
        HEAD "(" B ", tensor<7x2x4x3xf32>) {\n" DOT("[0, 1]", "[0, 1]", B)
            TRANSPOSE("[0, 1, 3, 2]", B, "tensor<7x2x4x3xf32>") " return %d, %t : " B ", tensor<7x2x4x3xf32>\n}\n",
        HEAD "tensor<6x5x7x2xf32> {\n"
             " %d = stablehlo.dot_general %a, %w, contracting_dims = [2] x [1] : (tensor<7x2x3x5xf32>, "
             "tensor<6x3xbf16>) -> tensor<7x2x5x6xf32>\n"
             " %t = stablehlo.transpose %d, dims = [3, 2, 0, 1] : (tensor<7x2x5x6xf32>) -> tensor<6x5x7x2xf32>\n"
             " return %t : tensor<6x5x7x2xf32>\n"
             "}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(stay); i++) check("opt_products opt_dce", false, stay[i], stay[i]);
#undef HEAD
#undef DOT
#undef MADE
#undef TRANSPOSE
#undef B
}

static void layout_adds_a_scatter_into_its_addend(void **state) {
    (void)state;
#define SCATTER(into)                                                                                                  \
    "\"stablehlo.scatter\"(" into ", %k, %u) <{indices_are_sorted = false, scatter_dimension_numbers = "               \
    "#stablehlo.scatter<update_window_dims = [1], "                                                                    \
    "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> " \
    "({\n"                                                                                                             \
    " ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                                                                       \
    " %s = stablehlo.add %a, %b : tensor<f32>\n"                                                                       \
    " stablehlo.return %s : tensor<f32>\n"                                                                             \
    "}) : (" F ", tensor<4xi64>, tensor<4x3xf32>) -> " F "\n"
#define OPERANDS                                                    \
    "%k = stablehlo.constant dense<[0, 1, 0, 1]> : tensor<4xi64>\n" \
    " %u = stablehlo.constant dense<1.5> : tensor<4x3xf32>\n"
    check_body("opt_layout opt_dce", false,
               F " {\n %z = stablehlo.constant dense<0.0> : " F "\n" OPERANDS
                 " %c = " SCATTER("%z") " %r = stablehlo.add %x, %c : " F "\n return %r : " F,
               F " {\n " OPERANDS " %c = " SCATTER("%x") " return %c : " F);
    const char *ones = F " {\n %z = stablehlo.constant dense<1.0> : " F "\n" OPERANDS
                         " %c = " SCATTER("%z") " %r = stablehlo.add %x, %c : " F "\n return %r : " F;
    check_body("opt_layout opt_dce", false, ones, ones);
}

/* Cross entropy's pick of one class: a gather, and what is left of the comparison in 32 bits; a class that does not
 * exist gives 0. */
static void onehot_sums_become_gathers(void **state) {
    (void)state;
    static const char head[] =
        "func.func public @main(%x: tensor<4x6xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4x6xf32>) {\n";
    static const char *const bodies[2] = {
        " %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        " %b = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<4xi64>) -> tensor<4x6xi64>\n"
        " %c = stablehlo.iota dim = 1 : tensor<4x6xi64>\n"
        " %m = stablehlo.compare EQ, %b, %c, SIGNED : (tensor<4x6xi64>, tensor<4x6xi64>) -> tensor<4x6xi1>\n"
        " %zz = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n %e = stablehlo.exponential %x : tensor<4x6xf32>\n"
        " %s = stablehlo.select %m, %e, %zz : tensor<4x6xi1>, tensor<4x6xf32>\n"
        " %r = stablehlo.reduce(%s init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x6xf32>, "
        "tensor<f32>) -> tensor<4xf32>\n"
        " return %r, %s : tensor<4xf32>, tensor<4x6xf32>\n}\n",
        " %most = stablehlo.constant dense<6> : tensor<i64>\n %least = stablehlo.constant dense<-1> : tensor<i64>\n"
        " %cut = stablehlo.clamp %least, %i, %most : (tensor<i64>, tensor<4xi64>, tensor<i64>) -> tensor<4xi64>\n"
        " %narrow = stablehlo.convert %cut : (tensor<4xi64>) -> tensor<4xi32>\n"
        " %b = stablehlo.broadcast_in_dim %narrow, dims = [0] : (tensor<4xi32>) -> tensor<4x6xi32>\n"
        " %c = stablehlo.iota dim = 1 : tensor<4x6xi32>\n"
        " %m = stablehlo.compare EQ, %b, %c, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>\n"
        " %zz = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n %e = stablehlo.exponential %x : tensor<4x6xf32>\n"
        " %s = stablehlo.select %m, %e, %zz : tensor<4x6xi1>, tensor<4x6xf32>\n"
        " %g = \"stablehlo.gather\"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], "
        "operand_batching_dims = [0], start_indices_batching_dims = [0], "
        "start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : "
        "(tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>\n"
        " %eg = stablehlo.exponential %g : tensor<4xf32>\n"
        " %zero = stablehlo.constant dense<0> : tensor<4xi64>\n"
        " %six = stablehlo.constant dense<6> : tensor<4xi64>\n"
        " %below = stablehlo.compare LT, %i, %six, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n"
        " %above = stablehlo.compare GE, %i, %zero, SIGNED : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n"
        " %in = stablehlo.and %above, %below : tensor<4xi1>\n"
        " %none = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
        " %r = stablehlo.select %in, %eg, %none : tensor<4xi1>, tensor<4xf32>\n"
        " return %r, %s : tensor<4xf32>, tensor<4x6xf32>\n}\n"};
    char text[2][4096];
    for (int i = 0; i < 2; i++) snprintf(text[i], sizeof text[i], "%s%s", head, bodies[i]);
    check("opt_onehot opt_dce", false, text[0], text[1]);
}

/* What is gathered of an expression is that expression of what is gathered, window dims and batching dims where the
 * result has them. An expression stays that is read by others too, made of two arrays in memory, or of what differs
 * along a dim that is picked from. */
static void gathers_look_through_expressions(void **state) {
    (void)state;
#define X "tensor<64x5x2xf32>"
#define PICKED "tensor<2x5xf32>"
#define GATHER(out, of)                                                                                              \
    " " out " = \"stablehlo.gather\"(" of                                                                            \
    ", %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], "                  \
    "operand_batching_dims = [1], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, " \
    "indices_are_sorted = false, "                                                                                   \
    "slice_sizes = array<i64: 1, 1, 2>}> : (" X ", tensor<5x1xi32>) -> " PICKED "\n"
#define HEAD "func.func public @main(%x: " X ", %r: tensor<5xf32>, %l: tensor<64xf32>, %i: tensor<5x1xi32>) -> "
#define TWO " %c = stablehlo.constant dense<2.0> : "
    check("opt_gather opt_dce", false,
          HEAD PICKED " {\n" TWO X "\n"
                      " %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<5xf32>) -> " X
                      "\n %s = stablehlo.subtract %x, %b : " X "\n %p = stablehlo.multiply %s, %c : " X
                      "\n" GATHER("%g", "%p") " return %g : " PICKED "\n}\n",
          HEAD PICKED
          " {\n" GATHER("%g", "%x") " %b = stablehlo.broadcast_in_dim %r, dims = [1] : (tensor<5xf32>) -> " PICKED
                                    "\n %s = stablehlo.subtract %g, %b : " PICKED "\n" TWO PICKED
                                    "\n %p = stablehlo.multiply %s, %c : " PICKED "\n return %p : " PICKED "\n}\n");
    static const char *const stay[] = {
        HEAD "(" PICKED ", " X ") {\n" TWO X "\n %p = stablehlo.multiply %x, %c : " X
             "\n" GATHER("%g", "%p") " return %g, %p : " PICKED ", " X "\n}\n",
        HEAD PICKED " {\n %u = stablehlo.reverse %x, dims = [0] : " X "\n %v = stablehlo.reverse %x, dims = [1] : " X
                    "\n %p = stablehlo.multiply %u, %v : " X "\n" GATHER("%g", "%p") " return %g : " PICKED "\n}\n",
        HEAD PICKED " {\n"
                    " %b = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<64xf32>) -> " X
                    "\n %p = stablehlo.subtract %x, %b : " X "\n" GATHER("%g", "%p") " return %g : " PICKED "\n}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(stay); i++) check("opt_gather opt_dce", false, stay[i], stay[i]);
#undef X
#undef PICKED
#undef GATHER
#undef HEAD
#undef TWO
}

/* One number a row into zeros is a choice by the class: read by loops, not where a product needs it in memory, and not
 * two numbers a row. */
static void scattered_numbers_become_choices(void **state) {
    (void)state;
#define NUMBERS(n)                                                                                                    \
    " %z = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n"                                                         \
    " %h = \"stablehlo.scatter\"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = "              \
    "#stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], " \
    "scatter_dims_to_operand_dims = [1], "                                                                            \
    "index_vector_dim = 2>, unique_indices = false}> ({\n"                                                            \
    " ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                                                                      \
    " %s = stablehlo.add %a, %b : tensor<f32>\n"                                                                      \
    " stablehlo.return %s : tensor<f32>\n"                                                                            \
    " "                                                                                                               \
    "}) : (tensor<4x6xf32>, tensor<4x" #n "x1xi32>, tensor<4x" #n "xf32>) -> tensor<4x6xf32>\n"
#define HEAD(n) "func.func public @main(%x: tensor<4x6xf32>, %i: tensor<4x" #n "x1xi32>, %u: tensor<4x" #n "xf32>) -> "
#define SUM " %y = stablehlo.add %h, %x : tensor<4x6xf32>\n return %y : tensor<4x6xf32>\n}\n"
    check("opt_onehot opt_dce", false, HEAD(1) "tensor<4x6xf32> {\n" NUMBERS(1) SUM,
          HEAD(1) "tensor<4x6xf32> {\n %r = stablehlo.reshape %i : (tensor<4x1x1xi32>) -> tensor<4xi32>\n"
                  " %rb = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<4xi32>) -> tensor<4x6xi32>\n"
                  " %c = stablehlo.iota dim = 1 : tensor<4x6xi32>\n"
                  " %m = stablehlo.compare EQ, %rb, %c, SIGNED : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi1>\n"
                  " %v = stablehlo.reshape %u : (tensor<4x1xf32>) -> tensor<4xf32>\n"
                  " %n = stablehlo.constant dense<0.0> : tensor<4xf32>\n"
                  " %w = stablehlo.add %n, %v : tensor<4xf32>\n"
                  " %wb = stablehlo.broadcast_in_dim %w, dims = [0] : (tensor<4xf32>) -> tensor<4x6xf32>\n"
                  " %z = stablehlo.constant dense<0.0> : tensor<4x6xf32>\n"
                  " %h = stablehlo.select %m, %wb, %z : tensor<4x6xi1>, tensor<4x6xf32>\n" SUM);
    static const char *const stay[] = {
        HEAD(2) "tensor<4x6xf32> {\n" NUMBERS(2) SUM,
        HEAD(1) "tensor<4x4xf32> {\n" NUMBERS(1) " %y = stablehlo.dot_general %h, %x, contracting_dims = [1] x [1] : "
                                                 "(tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>\n"
                                                 " return %y : tensor<4x4xf32>\n}\n",
    };
    for (size_t i = 0; i < BASE_COUNT(stay); i++) check("opt_onehot opt_dce", false, stay[i], stay[i]);
#undef NUMBERS
#undef HEAD
#undef SUM
}

/* Pads that lie side by side are joined; those that leave a gap, or that someone else reads too, stay. */
static void pads_become_concatenations(void **state) {
    (void)state;
    static const char head[] = "func.func public @main(%a: tensor<4x2xf32>, %b: tensor<4x3xf32>, %c: tensor<4x1xf32>) "
                               "-> (tensor<4x6xf32>, tensor<4x6xf32>) {\n"
                               " %z = stablehlo.constant dense<0.0> : tensor<f32>\n";
    static const char gap[] = " %qa = stablehlo.pad %a, %z, low = [0, 2], high = [0, 2], interior = [0, 0] : "
                              "(tensor<4x2xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                              " %qb = stablehlo.pad %c, %z, low = [0, 0], high = [0, 5], interior = [0, 0] : "
                              "(tensor<4x1xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                              " %u = stablehlo.add %qa, %qb : tensor<4x6xf32>\n"
                              " return %t, %u : tensor<4x6xf32>, tensor<4x6xf32>\n"
                              "}\n";
    static const char pads[] = " %pa = stablehlo.pad %a, %z, low = [0, 3], high = [0, 1], interior = [0, 0] : "
                               "(tensor<4x2xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                               " %pb = stablehlo.pad %b, %z, low = [0, 0], high = [0, 3], interior = [0, 0] : "
                               "(tensor<4x3xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                               " %pc = stablehlo.pad %c, %z, low = [0, 5], high = [0, 0], interior = [0, 0] : "
                               "(tensor<4x1xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
                               " %s = stablehlo.add %pa, %pb : tensor<4x6xf32>\n"
                               " %t = stablehlo.add %s, %pc : tensor<4x6xf32>\n";
    static const char joined[] = " %t = stablehlo.concatenate %b, %a, %c, dim = 1 : (tensor<4x3xf32>, tensor<4x2xf32>, "
                                 "tensor<4x1xf32>) -> tensor<4x6xf32>\n";
    static const char shared[] = " return %t, %pb : tensor<4x6xf32>, tensor<4x6xf32>\n}\n";
    char text[2][4096];
    snprintf(text[0], sizeof text[0], "%s%s%s", head, pads, gap);
    snprintf(text[1], sizeof text[1], "%s%s%s", head, joined, gap);
    check("opt_pads opt_dce", false, text[0], text[1]);
    snprintf(text[0], sizeof text[0], "%s%s%s", head, pads, shared);
    check("opt_pads opt_dce", false, text[0], text[0]);
}

/* What follows from a value that waits for the backward pass anyway is computed there again, in the order it had; the
 * value that a product made it of is gone by then, so it stays; so does what a product reads later. */
static void derived_values_do_not_wait_for_the_backward_pass(void **state) {
    (void)state;
#define L "tensor<512x512xf32>"
#define PRODUCT(out, a, b) \
    " " out " = stablehlo.dot_general " a ", " b ", contracting_dims = [1] x [0] : (" L ", " L ") -> " L "\n"
    static const char head[] = "func.func public @main(%a: " L ", %w: " L ", %v: " L ") -> (" L ", " L
                               ") {\n %c = stablehlo.constant dense<2.0> : " L "\n";
    static const char forward[] = PRODUCT("%p", "%a", "%w")
    " %x = stablehlo.add %p, %v : " L "\n %s = stablehlo.multiply %x, %x : " L "\n %h = stablehlo.multiply %s, %c : " L
    "\n %t = stablehlo.tanh %h : " L "\n %y = stablehlo.multiply %x, %t : " L "\n";
    static const char after[] = PRODUCT("%z", "%y", "%v");
    static const char backward[] = " %e = stablehlo.multiply %z, %x : " L "\n";
    static const char again[] = " %s2 = stablehlo.multiply %x, %x : " L "\n %h2 = stablehlo.multiply %s2, %c : " L
                                "\n %t2 = stablehlo.tanh %h2 : " L "\n";
    static const char last[] = PRODUCT("%g", "%f", "%y")
    " return %g, %f : " L ", " L "\n}\n";
    char in[4096], want[4096];
    snprintf(in, sizeof in, "%s%s%s%s %%f = stablehlo.add %%e, %%t : " L "\n%s", head, forward, after, backward, last);
    snprintf(want, sizeof want, "%s%s%s%s%s %%f = stablehlo.add %%e, %%t2 : " L "\n%s", head, forward, after, backward,
             again, last);
    check("opt_recompute opt_dce", false, in, want);
    /* x is not read later itself: keeping it for the sake of the others saves nothing, so all is as it was */
    snprintf(in, sizeof in, "%s%s%s %%f = stablehlo.add %%z, %%t : " L "\n%s", head, forward, after, last);
    check("opt_recompute opt_dce", false, in, in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_lets_transposes_meet),
        cmocka_unit_test(products_make_their_transposes),
        cmocka_unit_test(layout_adds_a_scatter_into_its_addend),
        cmocka_unit_test(onehot_sums_become_gathers),
        cmocka_unit_test(gathers_look_through_expressions),
        cmocka_unit_test(scattered_numbers_become_choices),
        cmocka_unit_test(pads_become_concatenations),
        cmocka_unit_test(derived_values_do_not_wait_for_the_backward_pass),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
