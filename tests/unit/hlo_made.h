/* HLO modules made field by field (xla/service/hlo.proto), and what the reader makes of them. Included once, by a test
 * program. */
#ifndef XT_TESTS_HLO_MADE_H
#define XT_TESTS_HLO_MADE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/proto.h"
#include "format/hlo.h"
#include "ir/ir.h"

enum { F32 = 11, S4 = 21, TUPLE = 13 };

static inline void packed(str *out, uint32_t field, size_t n, const int64_t *v) {
    str list = STR_INIT;
    for (size_t i = 0; i < n; i++) proto_varint(&list, (uint64_t)v[i]);
    proto_message(out, field, &list);
    str_free(&list);
}

/* A shape; its layout's order where one is given. */
static inline str shape(int type, size_t rank, const int64_t *dims, const int64_t *order) {
    str s = STR_INIT, layout = STR_INIT;
    proto_int(&s, 2, type);
    packed(&s, 3, rank, dims);
    if (order) {
        packed(&layout, 1, rank, order);
        proto_message(&s, 5, &layout);
    }
    str_free(&layout);
    return s;
}

static inline str pair_of(const str *a, const str *b) {
    str s = STR_INIT;
    proto_int(&s, 2, TUPLE);
    proto_message(&s, 4, a);
    proto_message(&s, 4, b);
    return s;
}

typedef struct inst {
    const char *op;
    const str *shape;
    int64_t id, number; /* number: of a parameter */
    size_t n;
    const int64_t *operands;
    const str *sharding, *literal, *more; /* NULL: none; more: fields as they are */
} inst;

static inline void add(str *comp, inst i) {
    str m = STR_INIT;
    proto_bytes(&m, 1, i.op, strlen(i.op));
    proto_bytes(&m, 2, i.op, strlen(i.op));
    proto_message(&m, 3, i.shape);
    if (i.literal) proto_message(&m, 8, i.literal);
    proto_int(&m, 9, i.number);
    proto_int(&m, 35, i.id);
    if (i.n) packed(&m, 36, i.n, i.operands);
    if (i.sharding) proto_message(&m, 40, i.sharding);
    if (i.more) str_appendn(&m, i.more->data, i.more->len);
    proto_message(comp, 2, &m);
    str_free(&m);
}

/* A computation with these instructions, whose text is freed. */
static inline str computation(int64_t id, str *insts, int64_t root, const str *program) {
    str comp = STR_INIT;
    proto_bytes(&comp, 1, id == 1 ? "entry" : "called", id == 1 ? 5 : 6);
    str_appendn(&comp, insts->data, insts->len);
    proto_message(&comp, 4, program);
    proto_int(&comp, 5, id);
    proto_int(&comp, 6, root);
    str_free(insts);
    return comp;
}

/* The module of a computation with these instructions and parameters, and of another that they call (or NULL); its
 * text, or what is wrong with it. */
static inline str text_with(const str *called, str *insts, int64_t root, const str *result, size_t n_params,
                            const str *const *params) {
    str program = STR_INIT, module = STR_INIT, text = STR_INIT;
    ir_module *m = NULL;
    for (size_t i = 0; i < n_params; i++) proto_message(&program, 1, params[i]);
    proto_message(&program, 2, result);
    str comp = computation(1, insts, root, &program);
    proto_bytes(&module, 1, "made", 4);
    proto_bytes(&module, 2, "entry", 5);
    if (called) proto_message(&module, 3, called);
    proto_message(&module, 3, &comp);
    proto_message(&module, 4, &program);
    proto_int(&module, 6, 1);
    assert_true(hlomod_is(module.data, module.len));
    xt_status s = hlomod_read(module.data, module.len, "made", &m);
    if (!s) s = ir_verify(m);
    if (s)
        str_append(&text, xt_status_message(s));
    else
        assert_null(ir_print(m, 0, &text));
    xt_status_free(s);
    ir_module_free(m);
    str_free(&comp);
    str_free(&program);
    str_free(&module);
    return text;
}

/* The same, of parameters of one shape. */
static inline str text_calling(const str *called, str *insts, int64_t root, const str *result, size_t n_params,
                               const str *param) {
    const str *params[8] = {0};
    assert_true(n_params <= BASE_COUNT(params));
    for (size_t i = 0; i < n_params; i++) params[i] = param;
    return text_with(called, insts, root, result, n_params, params);
}

static inline str text_of(str *insts, int64_t root, const str *result, size_t n_params, const str *param) {
    return text_calling(NULL, insts, root, result, n_params, param);
}

static inline void has(const str *text, const char *want) {
    if (!strstr(str_cstr(text), want)) fail_msg("no '%s' in\n%s", want, str_cstr(text));
}

#endif
