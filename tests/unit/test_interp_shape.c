/* Ops that move elements: shapes, slices, gather and scatter, dynamic slices. */
#include "interp_rows.h"

#define X23 "%x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>\n"
#define WANT(type, v) "\ncheck.expect_eq_const %y, dense<" v "> : " type

static void shapes(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"iota rows",
         "%y = stablehlo.iota dim = 0 : tensor<2x3xf32>" WANT("tensor<2x3xf32>", "[[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]")},
        {"iota columns",
         "%y = stablehlo.iota dim = 1 : tensor<2x3xi8>" WANT("tensor<2x3xi8>", "[[0, 1, 2], [0, 1, 2]]")},
        {"reshape", X23 "%y = stablehlo.reshape %x : (tensor<2x3xi32>) -> tensor<3x2xi32>" WANT(
                        "tensor<3x2xi32>", "[[1, 2], [3, 4], [5, 6]]")},
        {"transpose", X23 "%y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>" WANT(
                          "tensor<3x2xi32>", "[[1, 4], [2, 5], [3, 6]]")},
        {"transpose in tiles", "%a = stablehlo.iota dim = 0 : tensor<19x37xi16>\n"
                               "%b = stablehlo.transpose %a, dims = [1, 0] : (tensor<19x37xi16>) -> "
                               "tensor<37x19xi16>\n"
                               "%c = stablehlo.iota dim = 1 : tensor<37x19xi16>\n"
                               "check.expect_eq %b, %c : tensor<37x19xi16>"},
        {"broadcast",
         "%x = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>\n"
         "%y = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x1xi32>) -> "
         "tensor<2x2x3xi32>" WANT("tensor<2x2x3xi32>", "[[[1, 1, 1], [2, 2, 2]], [[1, 1, 1], [2, 2, 2]]]")},
        {"broadcast to permuted dims",
         X23 "%y = stablehlo.broadcast_in_dim %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>" WANT(
             "tensor<3x2xi32>", "[[1, 4], [2, 5], [3, 6]]")},
        {"slice with strides", X23 "%y = stablehlo.slice %x [0:2:1, 0:3:2] : (tensor<2x3xi32>) -> tensor<2x2xi32>" WANT(
                                   "tensor<2x2xi32>", "[[1, 3], [4, 6]]")},
        {"empty slice", X23 "%y = stablehlo.slice %x [1:1, 0:3] : (tensor<2x3xi32>) -> tensor<0x3xi32>\n"
                            "%z = stablehlo.concatenate %y, %x, dim = 0 : "
                            "(tensor<0x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>\n"
                            "check.expect_eq %x, %z : tensor<2x3xi32>"},
        {"pad", "%x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
                "%v = stablehlo.constant dense<0> : tensor<i32>\n"
                "%y = stablehlo.pad %x, %v, low = [1], high = [2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> "
                "tensor<8xi32>" WANT("tensor<8xi32>", "[0, 1, 0, 2, 0, 3, 0, 0]")},
        {"pad negative", "%x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>\n"
                         "%v = stablehlo.constant dense<9> : tensor<i32>\n"
                         "%y = stablehlo.pad %x, %v, low = [-1], high = [-2], interior = [1] : (tensor<4xi32>, "
                         "tensor<i32>) -> tensor<4xi32>" WANT("tensor<4xi32>", "[9, 2, 9, 3]")},
        {"pad cuts all", "%x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>\n"
                         "%v = stablehlo.constant dense<9> : tensor<i32>\n"
                         "%y = stablehlo.pad %x, %v, low = [-3], high = [3], interior = [0] : (tensor<2xi32>, "
                         "tensor<i32>) -> tensor<2xi32>" WANT("tensor<2xi32>", "[9, 9]")},
        {"concatenate",
         X23 "%y = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x6xi32>" WANT(
             "tensor<2x6xi32>", "[[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]")},
        {"reverse", X23 "%y = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xi32>" WANT("tensor<2x3xi32>",
                                                                                          "[[6, 5, 4], [3, 2, 1]]")},
        {"reverse one", X23
         "%y = stablehlo.reverse %x, dims = [1] : tensor<2x3xi32>" WANT("tensor<2x3xi32>", "[[3, 2, 1], [6, 5, 4]]")},
        {"dimension size", X23
         "%y = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi32>) -> tensor<i32>" WANT("tensor<i32>", "3")},
        {"tuple", X23 "%t = stablehlo.tuple %x, %x : tuple<tensor<2x3xi32>, tensor<2x3xi32>>\n"
                      "%y = stablehlo.get_tuple_element %t[1] : "
                      "(tuple<tensor<2x3xi32>, tensor<2x3xi32>>) -> tensor<2x3xi32>\n"
                      "check.expect_eq %x, %y : tensor<2x3xi32>"},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define STARTS(a, b) \
    "%i = stablehlo.constant dense<" a "> : tensor<i32>\n%j = stablehlo.constant dense<" b "> : tensor<i32>\n"

static void dynamic_slices(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"slice", X23 STARTS("0", "1") "%y = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<2x3xi32>, "
                                       "tensor<i32>, tensor<i32>) -> "
                                       "tensor<2x2xi32>" WANT("tensor<2x2xi32>", "[[2, 3], [5, 6]]")},
        {"start is moved inside", X23 STARTS("-5", "9") "%y = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 2] : "
                                                        "(tensor<2x3xi32>, tensor<i32>, tensor<i32>) "
                                                        "-> tensor<1x2xi32>" WANT("tensor<1x2xi32>", "[[2, 3]]")},
        {"update",
         X23 STARTS("1", "7") "%u = stablehlo.constant dense<[[8, 9]]> : tensor<1x2xi32>\n"
                              "%y = stablehlo.dynamic_update_slice %x, %u, %i, %j : "
                              "(tensor<2x3xi32>, tensor<1x2xi32>, tensor<i32>, tensor<i32>) -> tensor<2x3xi32>" WANT(
                                  "tensor<2x3xi32>", "[[1, 2, 3], [4, 8, 9]]")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

#define GATHER(x, i, y, offset, dropped, map, dim, sizes)                                             \
    "%y = \"stablehlo.gather\"(%x, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [" offset \
    "], collapsed_slice_dims = [" dropped "], start_index_map = [" map "], index_vector_dim = " dim   \
    ">, slice_sizes = array<i64: " sizes ">, indices_are_sorted = false} : (" x ", " i ") -> " y
#define SCATTER(x, i, u, window, inserted, map, dim, t, body)                                                     \
    "%y = \"stablehlo.scatter\"(%x, %i, %u) ({\n^bb0(%a: tensor<" t ">, %b: tensor<" t ">):\n" body               \
    "}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" window                            \
    "], inserted_window_dims = [" inserted "], scatter_dims_to_operand_dims = [" map "], index_vector_dim = " dim \
    ">, indices_are_sorted = false, unique_indices = false} : (" x ", " i ", " u ") -> " x
#define ADD(t) "%s = stablehlo.add %a, %b : tensor<" t ">\nstablehlo.return %s : tensor<" t ">\n"

static void gathers(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"rows, index moved inside",
         X23 "%i = stablehlo.constant dense<[1, 0, 7, -1]> : tensor<4xi32>\n" GATHER(
             "tensor<2x3xi32>", "tensor<4xi32>", "tensor<4x3xi32>", "1", "0", "0", "1", "1, 3")
             WANT("tensor<4x3xi32>", "[[4, 5, 6], [1, 2, 3], [4, 5, 6], [1, 2, 3]]")},
        {"columns", X23 "%i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi64>\n" GATHER(
                        "tensor<2x3xi32>", "tensor<2x1xi64>", "tensor<2x2xi32>", "0", "1", "1", "1", "2, 1")
                        WANT("tensor<2x2xi32>", "[[3, 1], [6, 4]]")},
        {"points, components first", X23 "%i = stablehlo.constant dense<[[1, 0], [2, 0]]> : tensor<2x2xi32>\n" GATHER(
                                         "tensor<2x3xi32>", "tensor<2x2xi32>", "tensor<2xi32>", "", "0, 1", "0, 1", "0",
                                         "1, 1") WANT("tensor<2xi32>", "[6, 1]")},
        {"batching dims", X23 "%i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>\n"
                              "%y = \"stablehlo.gather\"(%x, %i) {dimension_numbers = "
                              "#stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], "
                              "start_indices_batching_dims = [0], start_index_map = [1], "
                              "index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>, indices_are_sorted = false} : "
                              "(tensor<2x3xi32>, tensor<2x1xi32>) -> "
                              "tensor<2xi32>" WANT("tensor<2xi32>", "[3, 4]")},
        {"torch_index_select", X23 "%i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>\n"
                                   "%y = \"stablehlo.torch_index_select\"(%x, %i) {dim = 1 : i64, "
                                   "batch_dims = 0 : i64} : (tensor<2x3xi32>, tensor<2xi32>) -> tensor<2x2xi32>" WANT(
                                       "tensor<2x2xi32>", "[[3, 1], [6, 4]]")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

static void scatters(void **state) {
    (void)state;
    static const interp_row rows[] = {
        {"rows added, repeated index, one outside",
         X23 "%i = stablehlo.constant dense<[1, 1, 5]> : tensor<3xi32>\n"
             "%u = stablehlo.constant dense<[[10, 20, 30], [1, 1, 1], [7, 7, 7]]> : tensor<3x3xi32>\n" SCATTER(
                 "tensor<2x3xi32>", "tensor<3xi32>", "tensor<3x3xi32>", "1", "0", "0", "1", "i32", ADD("i32"))
                 WANT("tensor<2x3xi32>", "[[1, 2, 3], [15, 26, 37]]")},
        {"last update wins", "%x = stablehlo.constant dense<[0.0, 0.0]> : tensor<2xf32>\n"
                             "%i = stablehlo.constant dense<[[1], [1], [-1]]> : tensor<3x1xi32>\n"
                             "%u = stablehlo.constant dense<[5.0, 6.0, 7.0]> : tensor<3xf32>\n" SCATTER(
                                 "tensor<2xf32>", "tensor<3x1xi32>", "tensor<3xf32>", "", "0", "0", "1", "f32",
                                 "stablehlo.return %b : tensor<f32>\n") WANT("tensor<2xf32>", "[0.0, 6.0]")},
        {"window partly outside", "%x = stablehlo.constant dense<[1, 1, 1]> : tensor<3xi32>\n"
                                  "%i = stablehlo.constant dense<[2]> : tensor<1xi32>\n"
                                  "%u = stablehlo.constant dense<[4, 4]> : tensor<2xi32>\n" SCATTER(
                                      "tensor<3xi32>", "tensor<1xi32>", "tensor<2xi32>", "0", "", "0", "0", "i32",
                                      ADD("i32")) WANT("tensor<3xi32>", "[1, 1, 5]")},
        {"any region", "%x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>\n"
                       "%i = stablehlo.constant dense<[[2], [0], [2]]> : tensor<3x1xi32>\n"
                       "%u = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>\n" SCATTER(
                           "tensor<3xi32>", "tensor<3x1xi32>", "tensor<3xi32>", "", "0", "0", "1", "i32",
                           "%two = stablehlo.constant dense<2> : tensor<i32>\n"
                           "%m = stablehlo.multiply %a, %two : tensor<i32>\n"
                           "%s = stablehlo.add %m, "
                           "%b : tensor<i32>\n"
                           "stablehlo.return %s : tensor<i32>\n") WANT("tensor<3xi32>", "[22, 2, 62]")},
    };
    run_rows(rows, BASE_COUNT(rows));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(dynamic_slices),
                                       cmocka_unit_test(gathers), cmocka_unit_test(scatters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
