/* Inference as data. Good rows: the op is accepted, and where its results can be inferred, inference alone gives what
 * the row states. Bad rows: each breaks one constraint, and the message names it. Rows are written in MLIR's generic
 * form, put together from their parts: operand types with ';' between ("2x3xf32" is short for tensor<2x3xf32>),
 * attributes, regions, result types. */
#ifndef XT_TESTS_INFER_ROWS_H
#define XT_TESTS_INFER_ROWS_H

#include "ir/infer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

typedef struct row {
    const char *constraint; /* NULL: a good row */
    const char *op, *in, *attrs, *regions, *out;
} row;

#define BINARY(op, e)                                                                                                \
    "({\n^bb0(%p: tensor<" e ">, %q: tensor<" e ">):\n%s = \"stablehlo." op "\"(%p, %q) : (tensor<" e ">, tensor<" e \
    ">) -> tensor<" e ">\n"                                                                                          \
    "\"stablehlo.return\"(%s) : (tensor<" e ">) -> ()\n})"
#define COMPARE(e)                                                                                                   \
    "({\n^bb0(%p: tensor<" e ">, %q: tensor<" e ">):\n"                                                              \
    "%s = \"stablehlo.compare\"(%p, %q) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<" e \
    ">, tensor<" e ">) -> tensor<i1>\n\"stablehlo.return\"(%s) : (tensor<i1>) -> ()\n})"
#define UNARY(e) "({\n^bb0(%p: tensor<" e ">):\n\"stablehlo.return\"(%p) : (tensor<" e ">) -> ()\n})"
#define BRANCH                                                                                 \
    "{\n"                                                                                      \
    "%s = \"stablehlo.constant\"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>\n" \
    "\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n"                                         \
    "}"
#define BRANCH_I32                                                                           \
    "{\n"                                                                                    \
    "%s = \"stablehlo.constant\"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>\n" \
    "\"stablehlo.return\"(%s) : (tensor<i32>) -> ()\n"                                       \
    "}"
#define LOOP(cond_type)                                                                                    \
    "({\n"                                                                                                 \
    "^bb0(%p: tensor<f32>):\n"                                                                             \
    "%s = \"stablehlo.constant\"() <{value = dense<0> : tensor<" cond_type ">}> : () -> tensor<" cond_type \
    ">\n\"stablehlo.return\"(%s) : (tensor<" cond_type ">) -> ()\n"                                        \
    "}, {\n"                                                                                               \
    "^bb0(%p: tensor<f32>):\n"                                                                             \
    "\"stablehlo.return\"(%p) : (tensor<f32>) -> ()\n"                                                     \
    "})"
#define DOT(lb, rb, lc, rc)                                                                                     \
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [" lb "], rhs_batching_dimensions = [" rb \
    "], lhs_contracting_dimensions = [" lc "], rhs_contracting_dimensions = [" rc "]>"
#define CONV_DIMS "dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>"
#define GROUPS "feature_group_count = 1 : i64, batch_group_count = 1 : i64"
#define GATHER(offset, collapsed, batch, start_batch, map, vector)                                                     \
    "dimension_numbers = #stablehlo.gather<offset_dims = [" offset "], collapsed_slice_dims = [" collapsed             \
    "], operand_batching_dims = [" batch "], start_indices_batching_dims = [" start_batch "], start_index_map = [" map \
    "], index_vector_dim = " vector ">"
#define SCATTER(window, inserted, batch, index_batch, map, vector)                               \
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [" window               \
    "], inserted_window_dims = [" inserted "], input_batching_dims = [" batch                    \
    "], scatter_indices_batching_dims = [" index_batch "], scatter_dims_to_operand_dims = [" map \
    "], index_vector_dim = " vector ">"

static int n_sizes(const char *p, size_t n) {
    int count = 1;
    for (size_t i = 0; i < n; i++) count += p[i] == ',';
    return count;
}

/* An operand "SIZES 2, 4" is a constant, tensor<2xi64>, instead of an argument. */
static bool is_constant(const char *p) {
    return strncmp(p, "SIZES ", 6) == 0;
}

static void put_constants(str *s, const char *types) {
    char name = 'a';
    for (const char *p = types; *p; p += strcspn(p, ";"), p += *p == ';', name++) {
        int n = (int)strcspn(p, ";");
        if (is_constant(p))
            str_printf(
                s,
                "%%%c = \"stablehlo.constant\"() <{value = dense<[%.*s]> : tensor<%dxi64>}> : () -> tensor<%dxi64>\n",
                name, n - 6, p + 6, n_sizes(p, (size_t)n), n_sizes(p, (size_t)n));
    }
}

static void put_types(str *s, const char *types, bool named) {
    char names[] = "a";
    for (const char *p = types; *p; p += *p == ';', names[0]++) {
        size_t n = strcspn(p, ";");
        bool whole = (*p == '!' && strncmp(p, "!quant", 6) != 0) || strncmp(p, "tuple", 5) == 0;
        if (is_constant(p) && named) {
            p += n;
            continue;
        }
        if (p != types) str_append(s, ", ");
        if (is_constant(p)) {
            str_printf(s, "tensor<%dxi64>", n_sizes(p, n));
            p += n;
            continue;
        }
        if (named) str_printf(s, "%%%s: ", names);
        str_printf(s, whole ? "%.*s" : "tensor<%.*s>", (int)n, p);
        p += n;
    }
}

static char *text_of(const row *r) {
    str s = STR_INIT;
    if (strcmp(r->op, "composite") == 0)
        str_append(&s, "func.func private @half(%x: tensor<f32>) -> tensor<f32> {\n"
                       "return %x : tensor<f32>\n"
                       "}\n");
    str_append(&s, "func.func public @main(");
    put_types(&s, r->in, true);
    str_append(&s, ") {\n");
    put_constants(&s, r->in);
    str_append(&s, "%r = \"stablehlo.");
    if (strchr(r->out, ';')) { /* several results have a number */
        int n = 1;
        for (const char *p = r->out; *p; p++) n += *p == ';';
        s.len -= strlen("%r = \"stablehlo.");
        str_printf(&s, "%%r:%d = \"stablehlo.", n);
    }
    str_printf(&s, "%s\"(", r->op);
    char name = 'a';
    for (const char *p = r->in; *p; p += strcspn(p, ";"), p += *p == ';')
        str_printf(&s, "%s%%%c", name > 'a' ? ", " : "", name), name++;
    str_append(&s, ")");
    if (*r->attrs) str_printf(&s, " <{%s}>", r->attrs);
    if (strcmp(r->regions, "SELECT") == 0)
        str_append(&s, " ("
                       "{\n"
                       "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                       "%s = \"stablehlo.compare\"(%p, %q) <{comparison_direction = "
                       "#stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
                       "\"stablehlo.return\"(%s) : (tensor<i1>) -> "
                       "()\n"
                       "}, {\n"
                       "^bb0(%p: tensor<f32>, %q: tensor<f32>):\n"
                       "%s = \"stablehlo.add\"(%p, %q) : (tensor<f32>, tensor<f32>) -> "
                       "tensor<f32>\n\"stablehlo.return\"(%s) : (tensor<f32>) -> ()\n})");
    else if (*r->regions)
        str_printf(&s, " %s", r->regions);
    str_append(&s, " : (");
    put_types(&s, r->in, false);
    str_append(&s, ") -> (");
    put_types(&s, r->out, false);
    str_append(&s, ")\nreturn\n}\n");
    return s.data;
}

/* Inference without the stated types gives what was stated, or says that they must be. */
static void infer_alone(const row *r, const ir_op *op) {
    const ir_type *types[64];
    size_t n;
    ir_op bare = *op;
    bare.n_out = 0;
    xt_status s = ir_infer(&bare, types, &n);
    if (s) {
        if (!strstr(xt_status_message(s), "must be stated") && !strstr(xt_status_message(s), "convert one of them"))
            fail_msg("%s alone: %s", r->op, xt_status_message(s));
        xt_status_free(s);
        return;
    }
    if (n == 0) return; /* custom_call: any results, all stated */
    assert_int_equal(n, op->n_out);
    for (size_t i = 0; i < n; i++)
        if (!ir_type_compatible(types[i], op->out[i].type))
            fail_msg("%s: result %zu is inferred differently", r->op, i);
}

static const ir_op *last_but_return(const ir_module *m) {
    return m->last_func->body->last->prev;
}

static void judge_rows(const row *rows, size_t n) {
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        char *text = text_of(r);
        ir_module *m = NULL;
        xt_status s = ir_parse(text, strlen(text), "row", &m);
        if (!s) s = ir_verify(m);
        bool right = r->constraint ? s && strstr(xt_status_message(s), r->constraint) : !s;
        if (!right) {
            print_error("row %zu, %s: expected %s, got %s\n%s\n", i, r->op, r->constraint ? r->constraint : "no error",
                        s ? xt_status_message(s) : "no error", text);
            wrong++;
        }
        if (right && !s) infer_alone(r, last_but_return(m));
        xt_status_free(s);
        ir_module_free(m);
        base_free(text);
    }
    assert_int_equal(wrong, 0);
}

#endif
