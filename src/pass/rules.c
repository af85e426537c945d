/* The rule engine: recursive descent over a pattern's text, against ops when matching, into ops when building. Patterns
 * are constants of the program, so a malformed one is our bug; a test builds both sides of every row. */
#include "pass/rules.h"

#include "ir/interp.h"

#include <assert.h>
#include <pthread.h>

const rule_row rule_rows[] = {
#define REWRITE(name, from, to, dtypes, kind) {#name, from, to, dtypes, kind},
#include "pass/rules.def"
#undef REWRITE
};
const size_t rule_row_count = BASE_COUNT(rule_rows);

bool rule_takes_dtype(const rule_row *r, xt_dtype t) {
    char class = t == XT_BOOL             ? 'b'
                 : ir_dtype_is_complex(t) ? 'c'
                 : ir_dtype_is_float(t)   ? 'f'
                 : ir_dtype_is_signed(t)  ? 'i'
                                          : 'u';
    return strchr(r->dtypes, class);
}

static const char *skip_space(const char *p) {
    while (*p == ' ') p++;
    return p;
}

/* Past one pattern. */
static const char *skip_pattern(const char *p) {
    int depth = 0;
    for (p = skip_space(p); *p; p++) {
        if (*p == '(') depth++;
        if (*p == ')' && --depth <= 0) return depth ? p : p + 1;
        if (*p == ' ' && !depth) return p;
    }
    return p;
}

/* "(name": the opcode, and where its operands begin. */
static const char *read_opcode(const char *p, ir_opcode *out) {
    char name[32];
    size_t n = strcspn(++p, " )");
    assert(n < sizeof name);
    memcpy(name, p, n);
    name[n] = 0;
    bool known = ir_opcode_from_name("stablehlo", name, out);
    assert(known);
    return known ? p + n : NULL;
}

/* --- Matching --- */
static bool is_number(const ir_value *v, const char *p) {
    pass_literal c;
    if (!pass_constant(v, &c) || !c.splat) return false;
    xt_dtype t = c.lit->type->dtype;
    size_t size = xt_dtype_size(t);
    const unsigned char *bytes = c.lit->data;
    if (*p == '~') {
        if (t == XT_BOOL) return bytes[0] != 0;
        uint64_t ones = UINT64_MAX;
        return ir_dtype_is_int(t) && size <= sizeof ones && xt_dtype_size(t) > 0 && t != XT_I2 && t != XT_I4 &&
               t != XT_U2 && t != XT_U4 && memcmp(bytes, &ones, size) == 0;
    }
    if (*p == '0') { /* plus zero is all zero bits in every format that has a zero */
        static const unsigned char zeros[16];
        return t != XT_F8E8M0FNU && memcmp(bytes, zeros, size) == 0;
    }
    if (ir_dtype_is_complex(t)) return false;
    array one = {.type = ir_scalar(t), .data = (void *)bytes};
    double value = array_get(&one, 0);
    if (*p == '-') return ir_dtype_is_float(t) && value == 0 && __builtin_signbit(value);
    return value == *p - '0';
}

static bool match(const char *p, ir_value *v, rule_vars *vars);

static bool match_op(const char *p, const ir_op *op, rule_vars *vars) {
    ir_opcode code;
    const char *first = read_opcode(p, &code);
    if (op->code != code) return false;
    rule_vars before = *vars;
    const char *arg = first;
    bool good = true;
    for (uint32_t i = 0; good && i < op->n_in; i++, arg = skip_pattern(arg))
        good = match(skip_space(arg), op->in[i], vars);
    if (good || !(ir_op_infos[code].flags & IR_COMMUTES) || op->n_in != 2) return good;
    *vars = before;
    return match(skip_space(first), op->in[1], vars) && match(skip_space(skip_pattern(first)), op->in[0], vars);
}

static bool match(const char *p, ir_value *v, rule_vars *vars) {
    if (*p == '(') return v->def && match_op(p, v->def, vars);
    if (*p < 'a' || *p > 'z') return is_number(v, p);
    ir_value **var = &vars->v[*p - 'a'];
    if (*p == 'p' && v->type->dtype != XT_BOOL) return false;
    if (*var) return *var == v;
    *var = v;
    return true;
}

bool rule_match(const rule_row *r, const ir_op *op, rule_vars *out) {
    *out = (rule_vars){0};
    return op->n_out == 1 && rule_takes_dtype(r, op->out[0].type->dtype) && match_op(r->from, op, out);
}

/* --- Building --- */
static ir_value *build_number(ir_builder *b, const char *p, const ir_type *type) {
    uint64_t ones = UINT64_MAX;
    if (*p == '-') return ir_splat(b, type, -0.0);
    if (*p != '~') return ir_splat(b, type, *p - '0');
    if (type->dtype == XT_BOOL) return ir_splat(b, type, 1);
    return ir_broadcast_scalar(b, ir_constant(b, ir_scalar(type->dtype), &ones), type);
}

/* What an operand's type is where a constant stands, given the op's result type: a select's predicate is i1. */
static const ir_type *operand_type(ir_opcode code, size_t i, const ir_type *type) {
    return code == OP_select && i == 0 ? ir_with_dtype(type, XT_BOOL) : type;
}

ir_value *rule_build(ir_builder *b, const char *p, const rule_vars *vars, const ir_type *type) {
    p = skip_space(p);
    if (*p >= 'a' && *p <= 'z') return vars->v[*p - 'a'];
    if (*p != '(') return build_number(b, p, type);
    ir_opcode code;
    ir_value *in[3];
    size_t n = 0;
    for (p = skip_space(read_opcode(p, &code)); *p && *p != ')'; p = skip_space(skip_pattern(p))) {
        assert(n < BASE_COUNT(in));
        in[n] = rule_build(b, p, vars, operand_type(code, n, type));
        n++;
    }
    if (code == OP_convert) return ir_convert(b, in[0], type->dtype);
    ir_op *op = ir_build(b, code, n, in, 0, NULL, 0, NULL, 0, NULL);
    return op ? &op->out[0] : NULL;
}

/* Opcodes of the patterns' roots, looked up once: most ops are the root of no pattern. */
static ir_opcode roots[BASE_COUNT(rule_rows)];
static pthread_once_t roots_once = PTHREAD_ONCE_INIT;
static void find_roots(void) {
    for (size_t i = 0; i < BASE_COUNT(rule_rows); i++) read_opcode(rule_rows[i].from, &roots[i]);
}

ir_value *rule_apply(ir_builder *b, const ir_op *op, const pass_ctx *c) {
    const bool allowed[] = {[INEXACT] = c->inexact, [EXACT] = true, [AS_XLA] = c->as_xla};
    pthread_once(&roots_once, find_roots);
    for (size_t i = 0; i < BASE_COUNT(rule_rows); i++) {
        const rule_row *r = &rule_rows[i];
        rule_vars vars;
        if (roots[i] != op->code || !allowed[r->kind] || !rule_match(r, op, &vars)) continue;
        const ir_type *type = op->out[0].type;
        if (r->to[0] >= 'a' && r->to[0] <= 'z') {
            ir_value *v = vars.v[r->to[0] - 'a'];
            if (v->type == type) return v;
            continue;
        }
        if (type->count < 0 && r->to[0] != '(') continue; /* a constant needs a known shape */
        return rule_build(b, r->to, &vars, type);
    }
    return NULL;
}
