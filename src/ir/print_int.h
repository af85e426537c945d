/* The StableHLO printer's own header. */
#ifndef XT_SRC_IR_PRINT_INT_H
#define XT_SRC_IR_PRINT_INT_H

#include "ir/ir.h"
#include "ir/text.h"

typedef struct printer {
    str *out;
    unsigned flags;
    int indent;
    uint64_t next_value, next_arg; /* numbers for %3 and %arg3; both unique in a function */
    int64_t ordinal; /* of main's op being printed; -1 elsewhere */
} printer;

/* --- print_attr.c --- */
void print_quoted(str *out, const char *s, size_t n);
void print_symbol(str *out, const char *s); /* @main, @"with blank" */
void print_literal(str *out, const ir_literal *l);
/* `{a = 1, b}` of a plain list, sorted by name; nothing for an empty list. */
void print_attr_dict(str *out, const ir_attr *list, size_t n, const char *before);

/* Which of an op's attributes. */
typedef struct attr_filter {
    bool inherent, discardable;
    const pretty_row *skip_row; /* attributes that its clauses have printed; NULL = none */
    const ir_attr_key *skip; /* and these */
    size_t n_skip;
} attr_filter;
/* `BEFORE{...}AFTER` with structured attributes put together, sorted by name; nothing when there is none. */
void print_op_attrs(str *out, const ir_op *op, const attr_filter *filter, const char *before, const char *after);
/* [b, 0, f]x[0, i, o]->[b, 0, f]; false when the op has not all of its numbers. */
bool print_conv_dims(str *out, const ir_op *op);
void print_ints(str *out, size_t n, const int64_t *v); /* [1, 2] */

/* --- print.c --- */
void print_value(printer *p, const ir_value *v);
void print_op_line(printer *p, const ir_op *op); /* on a line of its own, with results and location */
void print_block_ops(printer *p, const ir_block *b); /* {...} */
/* %arg0: T, %arg1: U; names them. f: with its argument attributes */
void print_args(printer *p, const ir_block *b, const ir_func *f);
void print_newline(printer *p);

/* --- print_pretty.c --- */
/* The op's own syntax from its name on; false, and nothing printed, when it has none or lacks what that
 * syntax must show. */
bool print_pretty(printer *p, const ir_op *op);
void print_function_type(str *out, size_t n_in, ir_value *const *in, size_t n_out, const ir_value *out_values);

#endif
