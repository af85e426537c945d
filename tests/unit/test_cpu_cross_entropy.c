/* Cross entropy as users of JAX (log_softmax and take_along_axis) and of PyTorch/XLA (cross_entropy: one-hot rows,
 * weights, a mean over what is not ignored) send it, with its gradient: the same numbers as without the passes that
 * take it apart (opt_gather, opt_onehot), over a vocabulary no second copy of the logits, and what ignored classes,
 * classes that do not exist and infinite logits give. */
#include "cpu_check.h"

/* $L: logits, $R: a number a row, $C: the same as a column, $I and $J: labels (a row, a column), $M: labels for each
 * class, $B, $P, $Q: conditions, $V, $W: classes. */
static const char jax_form[] =
    "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "%m = stablehlo.reduce(%z init: %low) applies stablehlo.maximum across dimensions = [1] : ($L, tensor<f32>) -> $R\n"
    "%mb = stablehlo.broadcast_in_dim %m, dims = [0] : ($R) -> $L\n"
    "%c = stablehlo.subtract %z, %mb : $L\n"
    "%e = stablehlo.exponential %c : $L\n"
    "%s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : ($L, tensor<f32>) -> $R\n"
    "%sc = stablehlo.broadcast_in_dim %s, dims = [0] : ($R) -> $C\n%log = stablehlo.log %sc : $C\n"
    "%lb = stablehlo.broadcast_in_dim %log, dims = [0, 1] : ($C) -> $L\n%p = stablehlo.subtract %c, %lb : $L\n"
    "%yc = stablehlo.reshape %y : ($I) -> $J\n"
    "%none = stablehlo.constant dense<0> : $J\n"
    "%all = stablehlo.constant dense<$N> : $J\n"
    "%neg = stablehlo.compare LT, %yc, %none, SIGNED : ($J, $J) -> $Q\n"
    "%wrap = stablehlo.add %yc, %all : $J\n"
    "%at = stablehlo.select %neg, %wrap, %yc : $Q, $J\n"
    "%g = \"stablehlo.gather\"(%p, %at) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], "
    "operand_batching_dims = [0], start_indices_batching_dims = [0], "
    "start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : ($L, "
    "$J) -> $R\n"
    "%loss = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [0] : ($R, tensor<f32>) -> "
    "tensor<f32>\n"
    "%each = stablehlo.constant dense<-0.25> : $R\n%zeros = stablehlo.constant dense<0.0> : $L\n"
    "%h = \"stablehlo.scatter\"(%zeros, %at, %each) <{indices_are_sorted = false, scatter_dimension_numbers = "
    "#stablehlo.scatter<inserted_window_dims = [1], "
    "input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
    "index_vector_dim = 1>, unique_indices = false}> ({\n"
    "^bb0(%u: tensor<f32>, %v: tensor<f32>):\n"
    " %w = stablehlo.add %u, %v : tensor<f32>\n"
    " stablehlo.return %w : tensor<f32>\n"
    "}) : ($L, $J, $R) -> $L\n"
    "%nh = stablehlo.negate %h : $L\n"
    "%hs = stablehlo.reduce(%nh init: %zero) applies stablehlo.add across dimensions = [1] : ($L, tensor<f32>) -> $R\n"
    "%q = stablehlo.divide %hs, %s : $R\n"
    "%qb = stablehlo.broadcast_in_dim %q, dims = [0] : ($R) -> $L\n"
    "%qe = stablehlo.multiply %qb, %e : $L\n"
    "%d = stablehlo.add %h, %qe : $L\n";

static const char torch_form[] =
    "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
    "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
    "%zeros = stablehlo.constant dense<0.0> : $L\n%ones = stablehlo.constant dense<1.0> : $L\n"
    "%m = stablehlo.reduce(%z init: %low) applies stablehlo.maximum across dimensions = [1] : ($L, tensor<f32>) -> $R\n"
    "%mb = stablehlo.broadcast_in_dim %m, dims = [0] : ($R) -> $L\n"
    "%c = stablehlo.subtract %z, %mb : $L\n"
    "%e = stablehlo.exponential %c : $L\n"
    "%s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : ($L, tensor<f32>) -> $R\n"
    "%log = stablehlo.log %s : $R\n"
    "%lb = stablehlo.broadcast_in_dim %log, dims = [0] : ($R) -> $L\n"
    "%p = stablehlo.subtract %c, %lb : $L\n"
    "%i0 = stablehlo.iota dim = 1 : $W\n"
    "%i1 = stablehlo.reshape %i0 : ($W) -> $V\n"
    "%ib = stablehlo.broadcast_in_dim %i1, dims = [1] : ($V) -> $M\n"
    "%yb = stablehlo.broadcast_in_dim %y, dims = [0] : ($I) -> $M\n"
    "%is = stablehlo.compare EQ, %yb, %ib, SIGNED : ($M, $M) -> $B\n"
    "%hot = stablehlo.select %is, %ones, %zeros : $B, $L\n"
    "%nh = stablehlo.negate %hot : $L\n"
    "%t = stablehlo.multiply %nh, %p : $L\n"
    "%not = stablehlo.compare NE, %hot, %ones, FLOAT : ($L, $L) -> $B\n"
    "%terms = stablehlo.select %not, %zeros, %t : $B, $L\n"
    "%ig = stablehlo.constant dense<-100> : $I\n%counts = stablehlo.compare NE, %y, %ig, SIGNED : ($I, $I) -> $P\n"
    "%cb = stablehlo.broadcast_in_dim %counts, dims = [0] : ($P) -> $B\n"
    "%wr = stablehlo.select %cb, %ones, %zeros : $B, $L\n"
    "%w = stablehlo.multiply %wr, %hot : $L\n"
    "%n = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0, 1] : ($L, tensor<f32>) -> "
    "tensor<f32>\n"
    "%wt = stablehlo.multiply %terms, %w : $L\n"
    "%sum = stablehlo.reduce(%wt init: %zero) applies stablehlo.add across dimensions = [0, 1] : ($L, tensor<f32>) -> "
    "tensor<f32>\n"
    "%loss = stablehlo.divide %sum, %n : tensor<f32>\n"
    "%some = stablehlo.compare NE, %n, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "%by = stablehlo.select %some, %n, %one : tensor<i1>, tensor<f32>\n"
    "%nw = stablehlo.multiply %nh, %w : $L\n"
    "%byb = stablehlo.broadcast_in_dim %by, dims = [] : (tensor<f32>) -> $L\n"
    "%g = stablehlo.divide %nw, %byb : $L\n"
    "%gs = stablehlo.reduce(%g init: %zero) applies stablehlo.add across dimensions = [1] : ($L, tensor<f32>) -> $R\n"
    "%pe = stablehlo.exponential %p : $L\n"
    "%gb = stablehlo.broadcast_in_dim %gs, dims = [0] : ($R) -> $L\n"
    "%pg = stablehlo.multiply %pe, %gb : $L\n"
    "%d = stablehlo.subtract %g, %pg : $L\n";

static void write_types(str *s, const char *form, int rows, int classes) {
    for (const char *p = form; *p; p++) {
        if (*p != '$') {
            str_printf(s, "%c", *p);
            continue;
        }
        switch (*++p) {
        case 'L': str_printf(s, "tensor<%dx%dxf32>", rows, classes); break;
        case 'M': str_printf(s, "tensor<%dx%dxi64>", rows, classes); break;
        case 'B': str_printf(s, "tensor<%dx%dxi1>", rows, classes); break;
        case 'R': str_printf(s, "tensor<%dxf32>", rows); break;
        case 'I': str_printf(s, "tensor<%dxi64>", rows); break;
        case 'P': str_printf(s, "tensor<%dxi1>", rows); break;
        case 'C': str_printf(s, "tensor<%dx1xf32>", rows); break;
        case 'J': str_printf(s, "tensor<%dx1xi64>", rows); break;
        case 'Q': str_printf(s, "tensor<%dx1xi1>", rows); break;
        case 'V': str_printf(s, "tensor<%dxi64>", classes); break;
        case 'W': str_printf(s, "tensor<1x%dxi64>", classes); break;
        case 'F': str_printf(s, "tensor<%dxf32>", classes); break;
        case 'A': str_printf(s, "tensor<%dx8xf32>", rows); break;
        case 'K': str_printf(s, "tensor<%dx8xf32>", classes); break;
        default: str_printf(s, "%d", classes);
        }
    }
}

/* The labels are `%i` (0 to 4) times `scale` plus `from`. A bias of log(max(b, 0)) has infinities in it. */
static void write_program(str *s, const char *form, int rows, int classes, int scale, int from, bool bias) {
    char labels[256];
    write_types(s, "func.func @main(%a: $A, %k: $K, %b: $F, %i: $I) -> (tensor<f32>, $A, $K) {\n", rows, classes);
    snprintf(labels, sizeof labels,
             "%%by0 = stablehlo.constant dense<%d> : $I\n"
             "%%from = stablehlo.constant dense<%d> : $I\n",
             scale, from);
    write_types(s, labels, rows, classes);
    write_types(s, "%y0 = stablehlo.multiply %i, %by0 : $I\n%y = stablehlo.add %y0, %from : $I\n", rows, classes);
    const char *product = "stablehlo.dot_general %a, %k, contracting_dims = [1] x [1] : ($A, $K) -> $L\n";
    str_printf(s, "%%%s = ", bias ? "x" : "z");
    write_types(s, product, rows, classes);
    if (bias)
        write_types(s,
                    "%b0 = stablehlo.constant dense<0.0> : $F\n"
                    "%b1 = stablehlo.maximum %b, %b0 : $F\n"
                    "%b2 = stablehlo.log %b1 : $F\n"
                    "%bb = stablehlo.broadcast_in_dim %b2, dims = [1] : ($F) -> $L\n"
                    "%z = stablehlo.add %x, %bb : $L\n",
                    rows, classes);
    write_types(s, form, rows, classes);
    write_types(s,
                "%da = stablehlo.dot_general %d, %k, contracting_dims = [1] x [0] : ($L, $K) -> $A\n"
                "%dk = stablehlo.dot_general %d, %a, contracting_dims = [0] x [0] : ($L, $A) -> $K\n"
                "return %loss, %da, %dk : tensor<f32>, $A, $K\n"
                "}\n",
                rows, classes);
}

static size_t arena_of(const char *text) {
    cpu_exec *e = NULL;
    expect_ok(cpu_compile(text, strlen(text), &(cpu_compile_opts){.threads = 2}, &e), "arena");
    size_t n = e->plan.arena_bytes;
    cpu_exec_free(e);
    return n;
}

static void logits_of_a_vocabulary_are_in_memory_once(void **state) {
    (void)state;
    enum { ROWS = 48, CLASSES = 50257, LOGITS = ROWS * CLASSES * 4 };
    static const struct {
        const char *name, *form;
        size_t least; /* copies of the logits without the passes: what the test would see if they did nothing */
    } all[] = {{"JAX", jax_form, 2}, {"PyTorch/XLA", torch_form, 3}};
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        str text = STR_INIT;
        write_program(&text, all[i].form, ROWS, CLASSES, 12500, -20, false);
        size_t with = arena_of(str_cstr(&text));
        setenv("XT_PASSES", "-opt_gather,-opt_onehot", 1);
        size_t without = arena_of(str_cstr(&text));
        unsetenv("XT_PASSES");
        if (with > LOGITS + LOGITS / 4)
            fail_msg("%s: %zu bytes of temporaries; the logits have %d", all[i].name, with, LOGITS);
        if (without < all[i].least * LOGITS)
            fail_msg("%s: only %zu bytes of temporaries without the passes: this test sees nothing", all[i].name,
                     without);
        check(all[i].name, str_cstr(&text), 1e-5);
        str_free(&text);
    }
}

static void labels_of_all_kinds(void **state) {
    (void)state;
    static const struct {
        const char *name, *form;
        int scale, from;
        bool bias;
    } all[] = {
        {"classes that count from the end", jax_form, 3, -7, false},
        {"infinite logits, gathered", jax_form, 3, 0, true},
        {"ignored and unknown classes", torch_form, -100, 0, false},
        {"all ignored", torch_form, 0, -100, false},
        {"all beyond the last class", torch_form, 1, 17, false},
        {"infinite logits, one-hot", torch_form, 3, 0, true},
        {"infinite logits, some ignored", torch_form, 100, -100, true},
    };
    for (size_t i = 0; i < BASE_COUNT(all); i++) {
        str text = STR_INIT;
        write_program(&text, all[i].form, 37, 17, all[i].scale, all[i].from, all[i].bias);
        check(all[i].name, str_cstr(&text), 1e-5);
        str_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_of_a_vocabulary_are_in_memory_once),
        cmocka_unit_test(labels_of_all_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
