/* The rewrites of rules.def, matched straight from their text. */
#ifndef XT_SRC_PASS_RULES_H
#define XT_SRC_PASS_RULES_H

#include "pass/rewrite.h"

typedef enum rule_kind { INEXACT, EXACT, AS_XLA } rule_kind;
typedef struct rule_row {
    const char *name, *from, *to, *dtypes;
    rule_kind kind;
} rule_row;
extern const rule_row rule_rows[];
extern const size_t rule_row_count;

bool rule_takes_dtype(const rule_row *r, xt_dtype t);
/* Values by variable name: vars['a' - 'a'], ... */
typedef struct rule_vars {
    ir_value *v[26];
} rule_vars;
/* True when `op` matches `r->from`; fills *out. */
bool rule_match(const rule_row *r, const ir_op *op, rule_vars *out);
/* Builds a pattern of this result type from bound variables. NULL on failure. For rewriting (r->to), and for tests,
 * which build both sides. */
ir_value *rule_build(ir_builder *b, const char *pattern, const rule_vars *vars, const ir_type *type);
/* The first rule that fits and c allows; its replacement is built before `op`. NULL when none fits or b->status is
 * set. */
ir_value *rule_apply(ir_builder *b, const ir_op *op, const pass_ctx *c);

#endif
