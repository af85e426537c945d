/* Loops over windows and broadcasts that are read in place, row by row, and transposes by squares of a cache line: rows
 * of op x type x shape, interpreter against compiler, the same bits on one thread and on two. Rows are shorter and
 * longer than what the loops divide by, and so are the sides of the transposed. */
#include "cpu_check.h"
#include "cpu_levels.h"

static void replace_all(char *text, size_t room, const char *what, const char *by) {
    size_t n = strlen(what), m = strlen(by);
    for (char *at = text; (at = strstr(at, what)); at += m) {
        assert_true(strlen(text) + m < room + n);
        memmove(at + m, at + n, strlen(at + n) + 1);
        memcpy(at, by, m);
    }
}

/* @W: elements of a row, @H: one more; @T: the type. */
#define F(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "}\n"
#define LOOP "tensor<3x5x@Wx@T>"
static const struct row {
    const char *name, *types, *text;
} rows[] = {
    {"a slice, one number a row, one a column, and what lies dense", "f32 i32 ui32 bf16 f64 i8",
     F("%x: tensor<3x6x@Hx@T>, %y: " LOOP ", %r: tensor<@Wx@T>, %c: tensor<3x5x@T>", LOOP,
       "%s = stablehlo.slice %x [0:3, 1:6, 1:@H] : (tensor<3x6x@Hx@T>) -> " LOOP "\n"
       "%b = stablehlo.broadcast_in_dim %r, dims = [2] : (tensor<@Wx@T>) -> " LOOP "\n"
       "%d = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<3x5x@T>) -> " LOOP "\n"
       "%0 = stablehlo.add %s, %b : " LOOP "\n%1 = stablehlo.multiply %0, %d : " LOOP
       "\n%2 = stablehlo.subtract %1, %y : " LOOP "\nreturn %2 : " LOOP "\n")},
    {"read by machine code and by a loop for one op", "f32 bf16 f64",
     F("%x: tensor<3x6x@Hx@T>, %c: tensor<3x5x@T>", LOOP ", " LOOP,
       "%s = stablehlo.slice %x [0:3, 0:5, 0:@W] : (tensor<3x6x@Hx@T>) -> " LOOP "\n"
       "%d = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<3x5x@T>) -> " LOOP "\n"
       "%0 = stablehlo.tanh %s : " LOOP "\n%1 = stablehlo.add %0, %d : " LOOP "\n"
       "%2 = stablehlo.exponential %d : " LOOP "\n%3 = stablehlo.multiply %2, %s : " LOOP "\nreturn %1, %3 : " LOOP
       ", " LOOP "\n")},
    {"predicates of a row, and neighbours", "f32 i32",
     F("%x: tensor<3x5x@Hx@T>, %p: tensor<3x5xi1>, %q: tensor<@Wxi1>", LOOP,
       "%l = stablehlo.slice %x [0:3, 0:5, 0:@W] : (tensor<3x5x@Hx@T>) -> " LOOP "\n"
       "%r = stablehlo.slice %x [0:3, 0:5, 1:@H] : (tensor<3x5x@Hx@T>) -> " LOOP "\n"
       "%a = stablehlo.broadcast_in_dim %p, dims = [0, 1] : (tensor<3x5xi1>) -> tensor<3x5x@Wxi1>\n"
       "%b = stablehlo.broadcast_in_dim %q, dims = [2] : (tensor<@Wxi1>) -> tensor<3x5x@Wxi1>\n"
       "%0 = stablehlo.select %a, %l, %r : tensor<3x5x@Wxi1>, " LOOP "\n"
       "%1 = stablehlo.subtract %l, %r : " LOOP "\n%2 = stablehlo.select %b, %0, %1 : tensor<3x5x@Wxi1>, " LOOP
       "\nreturn %2 : " LOOP "\n")},
    {"rows of several lengths, backwards and transposed", "f32 bf16",
     F("%x: tensor<4x8x@Hx@T>, %y: tensor<@Wx4x8x@T>, %c: tensor<4x@T>, %r: tensor<@Wx@T>", "tensor<4x8x@Wx@T>",
       "%s = stablehlo.slice %x [0:4, 0:8, 1:@H] : (tensor<4x8x@Hx@T>) -> tensor<4x8x@Wx@T>\n"
       "%t = stablehlo.transpose %y, dims = [1, 2, 0] : (tensor<@Wx4x8x@T>) -> tensor<4x8x@Wx@T>\n"
       "%d = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<4x@T>) -> tensor<4x8x@Wx@T>\n"
       "%b = stablehlo.broadcast_in_dim %r, dims = [2] : (tensor<@Wx@T>) -> tensor<4x8x@Wx@T>\n"
       "%e = stablehlo.reverse %b, dims = [2] : tensor<4x8x@Wx@T>\n"
       "%0 = stablehlo.add %s, %d : tensor<4x8x@Wx@T>\n%1 = stablehlo.multiply %0, %t : tensor<4x8x@Wx@T>\n"
       "%2 = stablehlo.subtract %1, %e : tensor<4x8x@Wx@T>\nreturn %2 : tensor<4x8x@Wx@T>\n")},
    {"sums of what is read by rows", "f32 bf16",
     F("%x: tensor<20x@Wx@T>, %y: tensor<30x@Wx@T>", "tensor<20x30x@T>",
       "%a = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<20x@Wx@T>) -> tensor<20x30x@Wx@T>\n"
       "%b = stablehlo.broadcast_in_dim %y, dims = [1, 2] : (tensor<30x@Wx@T>) -> tensor<20x30x@Wx@T>\n"
       "%0 = stablehlo.subtract %a, %b : tensor<20x30x@Wx@T>\n%1 = stablehlo.multiply %0, %0 : tensor<20x30x@Wx@T>\n"
       "%i = stablehlo.constant dense<0.0> : tensor<@T>\n"
       "%2 = stablehlo.reduce(%1 init: %i) applies stablehlo.add across dimensions = [2] : (tensor<20x30x@Wx@T>, "
       "tensor<@T>) -> tensor<20x30x@T>\nreturn %2 : tensor<20x30x@T>\n")},
    {"windows that go where they are, and repeated elements", "f32 i8 f64",
     F("%x: tensor<7x@Hx@T>, %c: tensor<2200x@T>, %d: tensor<70x@T>",
       "tensor<7x@Wx@T>, tensor<2200x4x@T>, tensor<70x@Wx@T>, tensor<6x5x@Wxi32>",
       "%0 = stablehlo.slice %x [0:7, 1:@H] : (tensor<7x@Hx@T>) -> tensor<7x@Wx@T>\n"
       "%1 = stablehlo.broadcast_in_dim %c, dims = [0] : (tensor<2200x@T>) -> tensor<2200x4x@T>\n"
       "%2 = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<70x@T>) -> tensor<70x@Wx@T>\n"
       "%3 = stablehlo.iota dim = 1 : tensor<6x5x@Wxi32>\n"
       "return %0, %1, %2, %3 : tensor<7x@Wx@T>, tensor<2200x4x@T>, tensor<70x@Wx@T>, tensor<6x5x@Wxi32>\n")},
};

static void test_rows(void **state) {
    (void)state;
    static const int widths[] = {63, 64, 65, 96, 255, 256, 300, 1000, 4096, 5001};
    enum { ROOM = 8192 };
    char *text = base_malloc(ROOM);
    assert_non_null(text);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char types[64];
        snprintf(types, sizeof types, "%s", rows[r].types);
        for (char *rest = types, *type; (type = strtok_r(rest, " ", &rest));)
            for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                char width[16], more[16], name[256];
                /* Long rows of one type are enough, and of long sums. */
                if (widths[w] > 1000 && (strcmp(type, "f32") != 0 || strncmp(rows[r].name, "sums", 4) == 0)) continue;
                snprintf(width, sizeof width, "%d", widths[w]);
                snprintf(more, sizeof more, "%d", widths[w] + 1);
                snprintf(name, sizeof name, "%s, %s, %d", rows[r].name, type, widths[w]);
                snprintf(text, ROOM, "%s", rows[r].text);
                replace_all(text, ROOM, "@W", width);
                replace_all(text, ROOM, "@H", more);
                replace_all(text, ROOM, "@T", type);
                check(name, text, strcmp(type, "bf16") == 0 ? 0.03 : strcmp(type, "f32") == 0 ? 1e-5 : 1e-12);
            }
    }
    base_free(text);
}

static void test_transposes(void **state) {
    (void)state;
    static const char *const types[] = {"i8", "bf16", "f32", "f64"};
    static const int sides[][2] = {{64, 64}, {128, 65}, {67, 200}, {16, 130}, {192, 320}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            char text[512];
            int a = sides[s][0], b = sides[s][1];
            const char *type = types[t];
            snprintf(text, sizeof text,
                     "func.func @main(%%x: tensor<3x%dx%dx%s>) -> (tensor<3x%dx%dx%s>) {\n%%0 = stablehlo.transpose "
                     "%%x, dims = [0, 2, 1] : (tensor<3x%dx%dx%s>) -> tensor<3x%dx%dx%s>\n"
                     "return %%0 : tensor<3x%dx%dx%s>\n}\n",
                     a, b, type, b, a, type, a, b, type, b, a, type, b, a, type);
            check(text, text, 0);
        }
}

/* Transposes that a loop reads where their operand lies: with its lines turned on the way, or kept where the last dim
 * stays; under another name; of a slice, backwards; beside rows of another length, and twice. */
static void test_read_transposes(void **state) {
    (void)state;
    static const char *const types[] = {"i8", "bf16", "f32", "f64"};
    static const int sides[][2] = {{64, 64}, {128, 65}, {67, 200}, {16, 2050}, {2050, 16}, {192, 320}};
    static const char *const text =
        F("%x: tensor<3x@Ax@Bx@T>, %y: tensor<5x@Ax@Bx@T>, %r: tensor<@Ax@T>",
          "tensor<3x@Bx@Ax@T>, tensor<3x@Nx@T>, tensor<@Ax3x@Bx@T>, tensor<3x@Bx@T>",
          "%t = stablehlo.transpose %x, dims = [0, 2, 1] : (tensor<3x@Ax@Bx@T>) -> tensor<3x@Bx@Ax@T>\n"
          "%s = stablehlo.slice %y [1:4, 0:@A, 0:@B] : (tensor<5x@Ax@Bx@T>) -> tensor<3x@Ax@Bx@T>\n"
          "%u = stablehlo.transpose %s, dims = [0, 2, 1] : (tensor<3x@Ax@Bx@T>) -> tensor<3x@Bx@Ax@T>\n"
          "%v = stablehlo.reverse %u, dims = [1, 2] : tensor<3x@Bx@Ax@T>\n"
          "%b = stablehlo.broadcast_in_dim %r, dims = [2] : (tensor<@Ax@T>) -> tensor<3x@Bx@Ax@T>\n"
          "%0 = stablehlo.add %t, %v : tensor<3x@Bx@Ax@T>\n%1 = stablehlo.subtract %0, %u : tensor<3x@Bx@Ax@T>\n"
          "%2 = stablehlo.add %1, %b : tensor<3x@Bx@Ax@T>\n"
          "%n = stablehlo.reshape %t : (tensor<3x@Bx@Ax@T>) -> tensor<3x@Nx@T>\n"
          "%3 = stablehlo.negate %n : tensor<3x@Nx@T>\n"
          "%k = stablehlo.transpose %x, dims = [1, 0, 2] : (tensor<3x@Ax@Bx@T>) -> tensor<@Ax3x@Bx@T>\n"
          "%4 = stablehlo.add %k, %k : tensor<@Ax3x@Bx@T>\n"
          "%z = stablehlo.constant dense<0> : tensor<@T>\n"
          "%m = stablehlo.maximum %t, %u : tensor<3x@Bx@Ax@T>\n"
          "%5 = stablehlo.reduce(%m init: %z) applies stablehlo.maximum across dimensions = [2] : (tensor<3x@Bx@Ax@T>, "
          "tensor<@T>) -> tensor<3x@Bx@T>\n"
          "return %2, %3, %4, %5 : tensor<3x@Bx@Ax@T>, tensor<3x@Nx@T>, tensor<@Ax3x@Bx@T>, tensor<3x@Bx@T>\n");
    enum { ROOM = 8192 };
    char *program = base_malloc(ROOM);
    assert_non_null(program);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
            char a[16], b[16], n[16], name[64];
            snprintf(a, sizeof a, "%d", sides[s][0]);
            snprintf(b, sizeof b, "%d", sides[s][1]);
            snprintf(n, sizeof n, "%d", sides[s][0] * sides[s][1]);
            snprintf(name, sizeof name, "%s x %s, %s", a, b, types[t]);
            snprintf(program, ROOM, "%s", text);
            replace_all(program, ROOM, "@A", a);
            replace_all(program, ROOM, "@B", b);
            replace_all(program, ROOM, "@N", n);
            replace_all(program, ROOM, "dense<0>", types[t][0] == 'i' ? "dense<0>" : "dense<0.0>");
            replace_all(program, ROOM, "@T", types[t]);
            check(name, program, 0);
        }
    base_free(program);
}

int main(int argc, char **argv) {
    (void)argc;
    self = argv[0];
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_transposes),
                                       cmocka_unit_test(test_read_transposes),
                                       cmocka_unit_test(other_instruction_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
