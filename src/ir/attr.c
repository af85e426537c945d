/* Attributes: the table of keys, the spelling of enumerations, making and reading values.
 *
 * An attribute's payload (integer lists, text, literals) lives in the module's arena or is static; attributes
 * themselves are copied by value. */
#include "ir/config.h"
#include "ir/ir.h"

static const struct key_info {
    const char *name;
    ir_attr_kind kind;
} keys[IR_A_COUNT] = {
    [IR_A_none] = {"", IR_AK_OPAQUE},
#define ATTR(name, kind) [IR_A_##name] = {#name, IR_AK_##kind},
#include "ir/attrs.def"
#undef ATTR
};

const char *ir_attr_key_name(ir_attr_key k) {
    return k > IR_A_none && k < IR_A_COUNT ? keys[k].name : "";
}
ir_attr_kind ir_attr_key_kind(ir_attr_key k) {
    return k > IR_A_none && k < IR_A_COUNT ? keys[k].kind : IR_AK_OPAQUE;
}

ir_attr_key ir_attr_key_from_name(const char *s, size_t n) {
    for (int k = 1; k < IR_A_COUNT; k++)
        if (keys[k].name[0] == s[0] && strlen(keys[k].name) == n && memcmp(keys[k].name, s, n) == 0)
            return (ir_attr_key)k;
    return IR_A_none;
}

static const char *const cmp_dirs[] = {"EQ", "NE", "GE", "GT", "LE", "LT", NULL};
static const char *const cmp_types[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED", NULL};
static const char *const precisions[] = {"DEFAULT", "HIGH", "HIGHEST", NULL};
static const char *const transposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT", NULL};
static const char *const fft_types[] = {"FFT", "IFFT", "RFFT", "IRFFT", NULL};
static const char *const rng_distributions[] = {"", "UNIFORM", "NORMAL", NULL};
static const char *const rng_algorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX", NULL};

static const char *const *enum_names(ir_attr_key k) {
    switch (k) {
    case IR_A_comparison_direction: return cmp_dirs;
    case IR_A_compare_type: return cmp_types;
    case IR_A_precision_config: return precisions;
    case IR_A_transpose_a: return transposes;
    case IR_A_fft_type: return fft_types;
    case IR_A_rng_distribution: return rng_distributions;
    case IR_A_rng_algorithm: return rng_algorithms;
    default: return NULL;
    }
}

const char *ir_enum_name(ir_attr_key k, int64_t v) {
    const char *const *names = enum_names(k);
    for (int64_t i = 0; names && names[i]; i++)
        if (i == v && names[i][0]) return names[i];
    return NULL;
}

bool ir_enum_from_name(ir_attr_key k, const char *s, size_t n, int64_t *out) {
    const char *const *names = enum_names(k);
    for (int64_t i = 0; n && names && names[i]; i++) {
        if (strlen(names[i]) != n || memcmp(names[i], s, n) != 0) continue;
        *out = i;
        return true;
    }
    return false;
}

/* --- Making --- */
ir_attr ir_attr_int(ir_attr_key k, int64_t v) {
    return (ir_attr){.key = k, .kind = IR_AK_INT, .name = ir_attr_key_name(k), .dtype = XT_I64, .v.i = v};
}
ir_attr ir_attr_bool(ir_attr_key k, bool v) {
    return (ir_attr){.key = k, .kind = IR_AK_BOOL, .name = ir_attr_key_name(k), .v.b = v};
}
ir_attr ir_attr_enum(ir_attr_key k, int v) {
    return (ir_attr){.key = k, .kind = IR_AK_ENUM, .name = ir_attr_key_name(k), .v.i = v};
}
ir_attr ir_attr_unit(ir_attr_key k) {
    return (ir_attr){.key = k, .kind = IR_AK_UNIT, .name = ir_attr_key_name(k)};
}
ir_attr ir_attr_float(ir_attr_key k, xt_dtype t, double v) {
    return (ir_attr){.key = k, .kind = IR_AK_FLOAT, .name = ir_attr_key_name(k), .dtype = t, .v.f = v};
}

static void *attr_memory(ir_builder *b, const void *p, size_t count, size_t size) {
    size_t bytes;
    if (b->status) return NULL;
    void *copy = size_mul(count, size, &bytes) ? arena_alloc(b->m->mem, bytes ? bytes : 1) : NULL;
    if (!copy)
        b->status = status_oom(count * size, "an attribute");
    else if (bytes)
        memcpy(copy, p, bytes);
    return copy;
}

ir_attr ir_attr_ints(ir_builder *b, ir_attr_key k, size_t n, const int64_t *v) {
    return (ir_attr){.key = k,
                     .kind = keys[k].kind == IR_AK_OPAQUE ? IR_AK_INTS : keys[k].kind,
                     .name = ir_attr_key_name(k),
                     .dtype = XT_I64,
                     .n = n,
                     .v.ints = attr_memory(b, v, n, sizeof *v)};
}

ir_attr ir_attr_ints2(ir_builder *b, ir_attr_key k, size_t n, size_t width, const int64_t *v) {
    ir_attr a = ir_attr_ints(b, k, n * width, v);
    a.rank2 = (uint32_t)width;
    return a;
}

ir_attr ir_attr_string(ir_builder *b, ir_attr_key k, const char *s) {
    size_t n = strlen(s);
    return (ir_attr){.key = k,
                     .kind = keys[k].kind == IR_AK_SYMBOL ? IR_AK_SYMBOL : IR_AK_STRING,
                     .name = ir_attr_key_name(k),
                     .n = n,
                     .v.s = attr_memory(b, s, n + 1, 1)};
}

ir_attr ir_attr_numbers(ir_builder *b, ir_attr_key k, size_t n, const char *const *names, const int64_t *values) {
    enum { MOST = 8 };
    ir_attr list[MOST];
    for (size_t i = 0; i < n && i < MOST; i++)
        list[i] = (ir_attr){.kind = IR_AK_INT, .name = names[i], .dtype = XT_U8, .v.i = values[i]};
    return (ir_attr){.key = k,
                     .kind = IR_AK_DICT,
                     .name = ir_attr_key_name(k),
                     .n = n < MOST ? n : MOST,
                     .v.list = attr_memory(b, list, n < MOST ? n : MOST, sizeof *list)};
}

ir_attr ir_attr_dense(ir_builder *b, ir_attr_key k, const ir_type *t, const void *data, bool splat) {
    ir_literal lit = {.type = t, .splat = splat};
    size_t n = splat ? 1 : (size_t)t->count;
    lit.data = attr_memory(b, data, n, xt_dtype_size(t->dtype));
    return (ir_attr){.key = k, .kind = IR_AK_DENSE, .name = ir_attr_key_name(k), .v.dense = lit};
}

ir_attr ir_attr_named_int(const char *name, xt_dtype t, int64_t v) {
    return (ir_attr){.key = IR_A_none, .kind = IR_AK_INT, .name = name, .dtype = t, .v.i = v};
}

ir_attr ir_attr_named_string(ir_module *m, const char *name, const char *s) {
    const char *copy = arena_strdup(m->mem, s);
    return (ir_attr){
        .key = IR_A_none, .kind = IR_AK_STRING, .name = name, .n = copy ? strlen(s) : 0, .v.s = copy ? copy : ""};
}

/* --- Reading --- */
const ir_attr *ir_attr_find(const ir_op *op, ir_attr_key k) {
    for (uint32_t i = 0; i < op->n_attrs; i++)
        if (op->attrs[i].key == k) return &op->attrs[i];
    return NULL;
}

int64_t ir_get_int(const ir_op *op, ir_attr_key k, int64_t fallback) {
    const ir_attr *a = ir_attr_find(op, k);
    return a && (a->kind == IR_AK_INT || a->kind == IR_AK_ENUM) ? a->v.i : fallback;
}

double ir_get_float(const ir_op *op, ir_attr_key k, double fallback) {
    const ir_attr *a = ir_attr_find(op, k);
    return a && a->kind == IR_AK_FLOAT ? a->v.f : fallback;
}

bool ir_get_bool(const ir_op *op, ir_attr_key k, bool fallback) {
    const ir_attr *a = ir_attr_find(op, k);
    if (!a) return fallback;
    if (a->kind == IR_AK_UNIT) return true;
    return a->kind == IR_AK_BOOL ? a->v.b : fallback;
}

const int64_t *ir_get_ints(const ir_op *op, ir_attr_key k, size_t *n) {
    const ir_attr *a = ir_attr_find(op, k);
    bool list = a && (a->kind == IR_AK_INTS || a->kind == IR_AK_BOOLS || a->kind == IR_AK_ENUMS);
    *n = list ? a->n : 0;
    return list ? a->v.ints : NULL;
}

const char *ir_get_string(const ir_op *op, ir_attr_key k) {
    const ir_attr *a = ir_attr_find(op, k);
    return a && (a->kind == IR_AK_STRING || a->kind == IR_AK_SYMBOL || a->kind == IR_AK_OPAQUE) ? a->v.s : NULL;
}

const ir_literal *ir_get_literal(const ir_op *op) {
    const ir_attr *a = ir_attr_find(op, IR_A_value);
    return a && a->kind == IR_AK_DENSE ? &a->v.dense : NULL;
}
