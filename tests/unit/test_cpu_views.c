/* Operands of what runs as one thunk around convolutions, norms and pooling, seen through shape ops: a slice of a
 * larger gradient, a padded, reversed, transposed or converted one and so on, at each operand in turn. Whatever
 * the fused op reads then lies elsewhere than the value says, so a view that is forgotten or applied twice shows
 * in the results. */
#include "cpu_layouts.h"

/* How operand %v comes from argument %g. {N}: images, {C}: features, {H}: half of them, {D}: twice as many; images are
 * 5 x 6. */
#define T "tensor<{N}x{C}x5x6xf32>"
#define TD "tensor<{N}x{D}x5x6xf32>"
#define HALF "tensor<{N}x{H}x5x6xf32>"
static const struct view_row {
    const char *name, *arg, *text;
} views[] = {
    {"as it is", T, "%v = stablehlo.optimization_barrier %g : " T "\n"},
    {"slice", TD, "%v = stablehlo.slice %g [0:{N}, {C}:{D}, 0:5, 0:6] : (" TD ") -> " T "\n"},
    {"slice of space", "tensor<{N}x{C}x7x9xf32>",
     "%v = stablehlo.slice %g [0:{N}, 0:{C}, 1:6, 2:8] : (tensor<{N}x{C}x7x9xf32>) -> " T "\n"},
    {"slice of images", "tensor<8x{C}x5x6xf32>",
     "%v = stablehlo.slice %g [1:1+{N}, 0:{C}, 0:5, 0:6] : (tensor<8x{C}x5x6xf32>) -> " T "\n"},
    {"strided slice", TD, "%v = stablehlo.slice %g [0:{N}, 0:{D}:2, 0:5, 0:6] : (" TD ") -> " T "\n"},
    {"slice of a slice", "tensor<{N}x{D}x5x9xf32>",
     "%v1 = stablehlo.slice %g [0:{N}, {H}:{D}, 0:5, 1:9] : (tensor<{N}x{D}x5x9xf32>) -> tensor<{N}x{3H}x5x8xf32>\n"
     "%v = stablehlo.slice %v1 [0:{N}, {H}:{3H}, 0:5, 1:7] : (tensor<{N}x{3H}x5x8xf32>) -> " T "\n"},
    {"pad", HALF,
     "%v0 = stablehlo.constant dense<0.5> : tensor<f32>\n"
     "%v = stablehlo.pad %g, %v0, low = [0, {H}, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (" HALF
     ", tensor<f32>) -> " T "\n"},
    {"pad that crops", "tensor<{N}x{C}x6x6xf32>",
     "%v0 = stablehlo.constant dense<0.0> : tensor<f32>\n"
     "%v = stablehlo.pad %g, %v0, low = [0, 0, -1, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : "
     "(tensor<{N}x{C}x6x6xf32>, tensor<f32>) -> " T "\n"},
    {"reverse", T, "%v = stablehlo.reverse %g, dims = [1, 3] : " T "\n"},
    {"reverse of a slice", TD,
     "%v1 = stablehlo.slice %g [0:{N}, {H}:{3H}, 0:5, 0:6] : (" TD ") -> " T
     "\n%v = stablehlo.reverse %v1, dims = [1] : " T "\n"},
    {"transpose", "tensor<{N}x5x6x{C}xf32>",
     "%v = stablehlo.transpose %g, dims = [0, 3, 1, 2] : (tensor<{N}x5x6x{C}xf32>) -> " T "\n"},
    {"broadcast", "tensor<{N}x{C}xf32>",
     "%v = stablehlo.broadcast_in_dim %g, dims = [0, 1] : (tensor<{N}x{C}xf32>) -> " T "\n"},
    {"broadcast over features", "tensor<5x6xf32>",
     "%v = stablehlo.broadcast_in_dim %g, dims = [2, 3] : (tensor<5x6xf32>) -> " T "\n"},
    {"broadcast of a slice", "tensor<{D}xf32>",
     "%v1 = stablehlo.slice %g [{C}:{D}] : (tensor<{D}xf32>) -> tensor<{C}xf32>\n"
     "%v = stablehlo.broadcast_in_dim %v1, dims = [1] : (tensor<{C}xf32>) -> " T "\n"},
    {"one value", "tensor<f32>", "%v = stablehlo.broadcast_in_dim %g, dims = [] : (tensor<f32>) -> " T "\n"},
    {"reshape", "tensor<{N}x5x6x{C}xf32>", "%v = stablehlo.reshape %g : (tensor<{N}x5x6x{C}xf32>) -> " T "\n"},
    {"reshape of a loop", "tensor<{N}x{C}x30xf32>",
     "%v1 = stablehlo.tanh %g : tensor<{N}x{C}x30xf32>\n%v = stablehlo.reshape %v1 : (tensor<{N}x{C}x30xf32>) -> " T
     "\n"},
    {"slice of a reshape", "tensor<{D}x{N}x5x6xf32>",
     "%v1 = stablehlo.reshape %g : (tensor<{D}x{N}x5x6xf32>) -> " TD
     "\n%v = stablehlo.slice %v1 [0:{N}, {C}:{D}, 0:5, 0:6] : (" TD ") -> " T "\n"},
    {"reshape of a slice", "tensor<{N}x{C}x40xf32>",
     "%v1 = stablehlo.slice %g [0:{N}, 0:{C}, 7:37] : (tensor<{N}x{C}x40xf32>) -> tensor<{N}x{C}x30xf32>\n%v = "
     "stablehlo.reshape %v1 : "
     "(tensor<{N}x{C}x30xf32>) -> " T "\n"},
    {"concatenation", HALF,
     "%v1 = stablehlo.negate %g : " HALF "\n%v = stablehlo.concatenate %g, %v1, dim = 1 : (" HALF ", " HALF ") -> " T
     "\n"},
    {"sum of slices", TD,
     "%v1 = stablehlo.slice %g [0:{N}, 0:{C}, 0:5, 0:6] : (" TD ") -> " T
     "\n%v2 = stablehlo.slice %g [0:{N}, {C}:{D}, 0:5, 0:6] : (" TD ") -> " T "\n"
     "%v = stablehlo.add %v1, %v2 : " T "\n"},
    {"sum with a slice", TD,
     "%v1 = stablehlo.slice %g [0:{N}, {H}:{3H}, 0:5, 0:6] : (" TD ") -> " T "\n%v = stablehlo.add %x, %v1 : " T "\n"},
    {"conversion", "tensor<{N}x{C}x5x6xbf16>", "%v = stablehlo.convert %g : (tensor<{N}x{C}x5x6xbf16>) -> " T "\n"},
    {"conversion of a slice", "tensor<{N}x{D}x5x6xbf16>",
     "%v1 = stablehlo.slice %g [0:{N}, {C}:{D}, 0:5, 0:6] : (tensor<{N}x{D}x5x6xbf16>) -> tensor<{N}x{C}x5x6xbf16>\n"
     "%v = stablehlo.convert %v1 : (tensor<{N}x{C}x5x6xbf16>) -> " T "\n"},
    {"slice of a conversion", "tensor<{N}x{D}x5x6xf64>",
     "%v1 = stablehlo.convert %g : (tensor<{N}x{D}x5x6xf64>) -> " TD
     "\n%v = stablehlo.slice %v1 [0:{N}, {C}:{D}, 0:5, 0:6] : (" TD ") -> " T "\n"},
    {"count", "tensor<f32>",
     "%v1 = stablehlo.iota dim = 0 : tensor<{C}xf32>\n%v2 = stablehlo.cosine %v1 : tensor<{C}xf32>\n"
     "%v = stablehlo.broadcast_in_dim %v2, dims = [1] : (tensor<{C}xf32>) -> " T "\n"},
    {"positions", "tensor<f32>", "%v = stablehlo.iota dim = 3 : " T "\n"},
    {"reshaped positions", "tensor<f32>",
     "%v1 = stablehlo.iota dim = 2 : tensor<{N}x{C}x30xf32>\n%v = stablehlo.reshape %v1 : (tensor<{N}x{C}x30xf32>) "
     "-> " T "\n"},
    {"part of a convolution", "tensor<{D}x{C}x1x1xf32>",
     "%v1 = stablehlo.convolution(%q, %g) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} "
     "{batch_group_count = 1 : i64, "
     "feature_group_count = 1 : i64} "
     ": (" T ", tensor<{D}x{C}x1x1xf32>) -> " TD "\n%v = stablehlo.slice %v1 [0:{N}, {C}:{D}, 0:5, 0:6] : (" TD
     ") -> " T "\n"},
};

#define FEW "tensor<{C}xf32>"
#define MASK "tensor<{N}x{C}x5x6xi1>"
#define KERNEL "tensor<{C}x{C}x1x1xf32>"
/* A large epsilon: a view may make all elements of a feature equal, and what rounding leaves of their variance is not
 * to be looked at closely. */
#define ATTRS "<{epsilon = 1.0e-01 : f32, feature_index = 1 : i64}>"
#define CONV(to, from)                                                          \
    "%" to " = stablehlo.convolution(%" from                                    \
    ", %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {} " \
    "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (" T ", " KERNEL ") -> " T "\n"
#define NORM(to, from)                                                                                              \
    "%" to ":3 = \"stablehlo.batch_norm_training\"(%" from ", %s, %b) " ATTRS " : (" T ", " FEW ", " FEW ") -> (" T \
    ", " FEW ", " FEW ")\n"
#define GRAD(to, of, norm, dy)                                                                                  \
    "%" to ":3 = \"stablehlo.batch_norm_grad\"(%" of ", %s, %" norm "#1, %" norm "#2, %" dy ") " ATTRS " : (" T \
    ", " FEW ", " FEW ", " FEW ", " T ") -> (" T ", " FEW ", " FEW ")\n"
#define POSITIVE(to, of) "%" to " = stablehlo.compare GT, %" of ", %z, FLOAT : (" T ", " T ") -> " MASK "\n"
#define WHERE(to, mask, of) "%" to " = stablehlo.select %" mask ", %" of ", %z : " MASK ", " T "\n"
#define RELU(to, of) "%" to " = stablehlo.maximum %" of ", %z : " T "\n"
#define ADD(to, a, b) "%" to " = stablehlo.add %" a ", %" b " : " T "\n"
#define GRADS "%d#0, %d#1, %d#2"
#define GRAD_TYPES T ", " FEW ", " FEW

/* Where %v stands; %x and %q are images, %z zeros. */
static const struct place_row {
    const char *name, *text, *results, *types;
} places[] = {
    {"gradient under a norm's mask",
     CONV("y", "x") NORM("n", "y") POSITIVE("m", "n#0") WHERE("dy", "m", "v") GRAD("d", "y", "n", "dy"), GRADS,
     GRAD_TYPES},
    {"gradient under relu's mask",
     CONV("y", "x") NORM("n", "y") RELU("r", "n#0") POSITIVE("m", "r") WHERE("dy", "m", "v") GRAD("d", "y", "n", "dy"),
     GRADS ", %r", GRAD_TYPES ", " T},
    {"gradient", CONV("y", "x") NORM("n", "y") GRAD("d", "y", "n", "v"), GRADS, GRAD_TYPES},
    {"one of two gradients",
     CONV("y", "x") NORM("n", "y") POSITIVE("m", "n#0") ADD("a", "q", "v") WHERE("dy", "m", "a")
         GRAD("d", "y", "n", "dy"),
     GRADS, GRAD_TYPES},
    {"gradient that is kept",
     CONV("y", "x") NORM("n", "y") POSITIVE("m", "n#0") WHERE("dy", "m", "v") GRAD("d", "y", "n", "dy")
         ADD("k", "dy", "d#0"),
     GRADS ", %k", GRAD_TYPES ", " T},
    {"operand of a norm", NORM("n", "v") POSITIVE("m", "n#0") WHERE("dy", "m", "q") GRAD("d", "v", "n", "dy"),
     GRADS ", %n#1", GRAD_TYPES ", " FEW},
    {"operand of a norm after a convolution",
     CONV("y", "x") NORM("n", "v") POSITIVE("m", "y") WHERE("dy", "m", "q") GRAD("d", "v", "n", "dy"), GRADS ", %n#0",
     GRAD_TYPES ", " T},
    {"operand of the mask",
     CONV("y", "x") NORM("n", "y") POSITIVE("m", "v") WHERE("dy", "m", "q") GRAD("d", "y", "n", "dy"), GRADS,
     GRAD_TYPES},
    {"residual",
     CONV("y", "x") NORM("n", "y") ADD("a", "n#0", "v") RELU("r", "a") POSITIVE("m", "r") WHERE("dy", "m", "q")
         GRAD("d", "y", "n", "dy"),
     GRADS ", %r, %dy", GRAD_TYPES ", " T ", " T},
    {"residual before a convolution", CONV("y", "v") NORM("n", "y") ADD("a", "v", "n#0") RELU("r", "a") CONV("u", "r"),
     "%u, %n#1", T ", " FEW},
    {"operand of relu", RELU("r", "v") CONV("y", "r") NORM("n", "y") POSITIVE("m", "r") WHERE("dy", "m", "n#0"),
     "%dy, %n#2", T ", " FEW},
    {"operand of a convolution", CONV("y", "v") NORM("n", "y") RELU("r", "n#0"), "%r, %n#1", T ", " FEW},
    {"gradient of a kernel",
     CONV("y", "x") "%k = stablehlo.convolution(%y, %v) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window "
                    "= {} {batch_group_count = 1 : i64, "
                    "feature_group_count = 1 : i64} : (" T ", " T ") -> " KERNEL "\n",
     "%k", KERNEL},
    {"operand of pooling",
     CONV("y", "x") "%low = stablehlo.constant dense<0xFF800000> : tensor<f32>\n%null = stablehlo.constant dense<0.0> "
                    ": tensor<f32>\n"
                    "%k = \"stablehlo.reduce_window\"(%v, %low) <{window_dimensions = array<i64: 1, 1, 3, 3>, padding "
                    "= dense<[[0, 0], [0, 0], [1, "
                    "1], [1, 1]]> : "
                    "tensor<4x2xi64>}> ({\n^bb0(%e: tensor<f32>, %f: tensor<f32>):\n%o = stablehlo.maximum %e, %f : "
                    "tensor<f32>\nstablehlo.return %o "
                    ": tensor<f32>\n}) : (" T ", tensor<f32>) -> " T
                    "\n%c = \"stablehlo.select_and_scatter\"(%y, %v, %null) <{window_dimensions = array<i64: 1, 1, 3, "
                    "3>, padding = "
                    "dense<[[0, 0], [0, 0], [1, 1], [1, 1]]> : tensor<4x2xi64>}> ({\n^bb0(%e: tensor<f32>, %f: "
                    "tensor<f32>):\n%o = stablehlo.compare "
                    "GE, %e, %f : "
                    "(tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %o : tensor<i1>\n}, {\n^bb0(%e: "
                    "tensor<f32>, %f: tensor<f32>):\n%o = "
                    "stablehlo.add %e, %f : "
                    "tensor<f32>\nstablehlo.return %o : tensor<f32>\n}) : (" T ", " T ", tensor<f32>) -> " T
                    "\n" ADD("a", "k", "c"),
     "%a", T},
    {"operand of loops",
     CONV("y", "x") "%h = stablehlo.tanh %y : " T "\n%p = stablehlo.multiply %h, %v : " T "\n" ADD("a", "v", "p")
         CONV("u", "a"),
     "%a, %u", T ", " T},
    {"operand of a norm for inference",
     CONV("y", "x") "%i = \"stablehlo.batch_norm_inference\"(%v, %s, %b, %b, %sq) " ATTRS " : (" T ", " FEW ", " FEW
                    ", " FEW ", " FEW ") -> " T "\n" ADD("a", "i", "y"),
     "%a", T},
};

/* The program of a view at a place; `again`: somebody else reads the view, too. */
static str program(size_t view, size_t place, int n, int c, bool again) {
    str form = STR_INIT, out = STR_INIT;
    str_printf(&form,
               "func.func @main(%%x: " T ", %%q: " T ", %%w: " KERNEL ", %%s: " FEW ", %%b: " FEW
               ", %%g: %s) -> (%s%s) {\n%%z = stablehlo.constant dense<0.0> : " T
               "\n%%sq = stablehlo.multiply %%s, %%s : " FEW "\n%s%s%sreturn %s%s : %s%s\n}\n",
               views[view].arg, places[place].types, again ? ", " T : "", views[view].text, places[place].text,
               again ? "%again = stablehlo.abs %v : " T "\n" : "", places[place].results, again ? ", %again" : "",
               places[place].types, again ? ", " T : "");
    static const char *const names[] = {"{N}", "{C}", "{H}", "{D}", "{3H}", "1+{N}"};
    const int numbers[] = {n, c, c / 2, 2 * c, c / 2 * 3, 1 + n};
    for (const char *p = str_cstr(&form); *p;) {
        size_t k = BASE_COUNT(names);
        while (k-- > 0 && strncmp(p, names[k], strlen(names[k])) != 0) {
        }
        if (k < BASE_COUNT(names)) {
            str_printf(&out, "%d", numbers[k]);
            p += strlen(names[k]);
        } else
            str_putc(&out, *p++);
    }
    str_free(&form);
    return out;
}

static const int images[] = {1, 2, 5}, features[] = {8, 16, 24, 32, 64};

static bool one_agrees(size_t view, size_t place, int n, int c, bool again, size_t n_layouts) {
    str text = program(view, place, n, c, again), name = STR_INIT;
    str_printf(&name, "%s as %s, %d images of %d features%s", views[view].name, places[place].name, n, c,
               again ? ", read again" : "");
    bool same = layouts_agree(str_cstr(&name), str_cstr(&text),
                              &(layout_terms){.tol = 1e-4, .n_layouts = n_layouts, .threads = 1 + n % 2});
    str_free(&text);
    str_free(&name);
    return same;
}

/* Each view at each place; the sizes take turns. XT_TEST_VIEWS=all: all sizes. */
static void views_agree(void **state) {
    (void)state;
    const char *wanted = getenv("XT_TEST_VIEWS");
    bool all = wanted && strcmp(wanted, "all") == 0;
    size_t turn = 0, failed = 0, run = 0;
    for (size_t v = 0; v < BASE_COUNT(views); v++)
        for (size_t p = 0; p < BASE_COUNT(places); p++, turn++)
            for (size_t k = 0; k < 30; k++) {
                size_t n = k % 3, c = k / 3 % 5, again = k / 15;
                if (!all && k != turn * 7 % 30 && (c != 1 || n != turn % 2 || again)) continue;
                failed += !one_agrees(v, p, images[n], features[c], again, all ? 3 : 1);
                run++;
            }
    if (failed) fail_msg("%zu of %zu programs give something else than the interpreter", failed, run);
}

#define CONV_OF(type, kernel, groups)                                                                                  \
    " = stablehlo.convolution(%r, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {pad = [[1, "    \
    "1], "                                                                                                             \
    "[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = " groups " : i64} : (" type ", " kernel ") -> " type \
    "\n"
#define NORM_OF(type, few)                                                                                             \
    " <{epsilon = 1.0e-01 : f32, feature_index = 1 : i64}> : (" type ", " few ", " few ") -> (" type ", " few ", " few \
    ")\n"
#define W16 "tensor<2x8x5x16xf32>"
#define C16 "tensor<2x16x4x6xf32>"
#define EIGHT "tensor<8xf32>"
#define SIXTEEN "tensor<16xf32>"
static const struct {
    const char *name, *text;
} others[] = {
    {"norm of images that lie blocked by another dim",
     "func.func @main(%x: " W16 ", %s: " EIGHT ", %b: " EIGHT ", %g: " W16 ") -> (" W16 ", " EIGHT ") {\n"
     "%r = stablehlo.tanh %x : " W16 "\n%n:3 = \"stablehlo.batch_norm_training\"(%r, %s, %b)" NORM_OF(
         W16, EIGHT) "%d:3 = \"stablehlo.batch_norm_grad\"(%r, %s, %n#1, %n#2, %g) <{epsilon = 1.0e-01 : f32, "
                     "feature_index = 1 : i64}> : "
                     "(" W16 ", " EIGHT ", " EIGHT ", " EIGHT ", " W16 ") -> (" W16 ", " EIGHT ", " EIGHT ")\n"
                     "%y = stablehlo.add %n#0, %d#0 : " W16 "\nreturn %y, %d#1 : " W16 ", " EIGHT "\n}\n"},
    {"convolution of images that lie blocked by another dim",
     "func.func @main(%x: " W16 ", %w: tensor<8x8x3x3xf32>) -> " W16 " {\n%r = stablehlo.tanh %x : " W16 "\n"
     "%c" CONV_OF(W16, "tensor<8x8x3x3xf32>", "1") "%y = stablehlo.abs %c : " W16 "\nreturn %y : " W16 "\n}\n"},
    {"grouped convolution of images that lie blocked by another dim",
     "func.func @main(%x: " W16 ", %w: tensor<8x4x3x3xf32>) -> " W16 " {\n%r = stablehlo.tanh %x : " W16 "\n"
     "%c" CONV_OF(W16, "tensor<8x4x3x3xf32>", "2") "%y = stablehlo.abs %c : " W16 "\nreturn %y : " W16 "\n}\n"},
    {"mask that others read, too",
     "func.func @main(%r: " C16 ", %w: tensor<16x16x3x3xf32>, %s: " SIXTEEN ", %b: " SIXTEEN ", %g: " C16 ") -> (" C16
     ", " C16 ") {\n"
     "%z = stablehlo.constant dense<0.0> : " C16
     "\n%c" CONV_OF(C16, "tensor<16x16x3x3xf32>", "1") "%n:3 = \"stablehlo.batch_norm_training\"(%c, %s, %b)" NORM_OF(
         C16, SIXTEEN) "%v = stablehlo.reverse %n#0, dims = [2] : " C16 "\n%a = stablehlo.add %n#0, %v : " C16 "\n"
                       "%m = stablehlo.compare GT, %a, %z, FLOAT : (" C16 ", " C16 ") -> tensor<2x16x4x6xi1>\n"
                       "%y = stablehlo.select %m, %n#0, %z : tensor<2x16x4x6xi1>, " C16 "\n"
                       "%dy = stablehlo.select %m, %g, %z : tensor<2x16x4x6xi1>, " C16 "\n"
                       "%d:3 = \"stablehlo.batch_norm_grad\"(%c, %s, %n#1, %n#2, %dy) <{epsilon = 1.0e-01 : f32, "
                       "feature_index = 1 : i64}> : "
                       "(" C16 ", " SIXTEEN ", " SIXTEEN ", " SIXTEEN ", " C16 ") -> (" C16 ", " SIXTEEN ", " SIXTEEN
                       ")\n"
                       "return %d#0, %y : " C16 ", " C16 "\n}\n"},
};

/* What random networks found (test_cpu_graphs), each reduced to its kind. */
static void other_places_agree(void **state) {
    (void)state;
    size_t failed = 0;
    for (size_t i = 0; i < BASE_COUNT(others); i++)
        failed +=
            !layouts_agree(others[i].name, others[i].text, &(layout_terms){.tol = 1e-4, .n_layouts = 3, .threads = 2});
    if (failed) fail_msg("%zu of %zu programs give something else than the interpreter", failed, BASE_COUNT(others));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(views_agree), cmocka_unit_test(other_places_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
