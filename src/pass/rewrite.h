/* Replacing values while a module is walked once, in order. Replacements are remembered in the values' marks and
 * applied to each op when the walk reaches it, so a pass with many replacements stays linear (ir_replace_uses walks the
 * module for each). */
#ifndef XT_SRC_PASS_REWRITE_H
#define XT_SRC_PASS_REWRITE_H

#include "pass/pass.h"

typedef struct rewriter {
    uint64_t epoch;
    ir_value **to;
    size_t n, cap;
} rewriter;
#define REWRITER_INIT \
    { .epoch = ir_new_epoch() }
void rewriter_deinit(rewriter *r);

bool rewrite_value(rewriter *r, ir_value *old, ir_value *with); /* false without memory */
bool rewrite_operands(rewriter *r, ir_op *op); /* true when one changed */

/* Calls `visit` for each op of each function: operands rewritten before, regions walked before the op itself. */
typedef xt_status (*rewrite_visit)(rewriter *r, pass_ctx *c, ir_op *op, void *user);
xt_status rewrite_module(rewriter *r, pass_ctx *c, ir_module *m, rewrite_visit visit, void *user);

/* The literal behind a value: of a constant, or of a constant that is only repeated (then one element is
 * meant for all). */
typedef struct pass_literal {
    const ir_literal *lit;
    bool splat; /* all elements of the value are the first of lit */
} pass_literal;
bool pass_constant(const ir_value *v, pass_literal *out);

#endif
