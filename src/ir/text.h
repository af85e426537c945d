/* What the printer and the parser of StableHLO text share: the table of pretty forms, and numbers that do not depend on
 * the process's locale. */
#ifndef XT_SRC_IR_TEXT_H
#define XT_SRC_IR_TEXT_H

#include "ir/ir.h"

/* --- pretty.c: ops whose own syntax is `op operands, word = value, ... {attributes} : types` --- */
typedef enum clause_kind {
    CLAUSE_INTS, /* [1, 2] */
    CLAUSE_INT, /* 3 */
    CLAUSE_BOOL, /* true */
    CLAUSE_ENUM, /* FFT */
    CLAUSE_ENUMS, /* [DEFAULT, HIGHEST] */
    CLAUSE_STRING, /* "ab,bc->ac" */
    CLAUSE_PAIR, /* [0] x [1]: two integer lists, key and key2 */
    CLAUSE_FORMAT, /* e5m10: key and key2 */
    CLAUSE_STRUCT /* <a = 1, ...>: text of #stablehlo.dot_algorithm */
} clause_kind;
typedef struct clause {
    const char *word;
    clause_kind kind;
    ir_attr_key key, key2;
    bool optional; /* left out when the attribute is absent, or a PAIR of empty lists */
} clause;
typedef enum types_form {
    TYPES_NONE, /* the op has no row here */
    TYPES_SAME, /* `T` when operands and result agree, else as FUNCTION */
    TYPES_FUNCTION, /* `(A, B) -> C` */
    TYPES_RESULT, /* the result's type only */
    TYPES_SELECT, /* predicate's type, result's type */
    TYPES_OPERANDS /* types of the operands, which are the results' too, if there are results */
} types_form;
enum { PRETTY_CLAUSES = 4 };
typedef struct pretty_row {
    types_form types;
    clause clauses[PRETTY_CLAUSES]; /* up to the first without a word */
} pretty_row;
extern const pretty_row pretty_rows[OP_COUNT];
bool pretty_has_key(const pretty_row *row, ir_attr_key key); /* one of its clauses spells this attribute */

/* Attributes that MLIR types as i32; all other integers of ops are i64. */
bool text_key_is_i32(ir_attr_key key);
/* Integer lists that MLIR writes as dense<...> : tensor<NxMxi64> and not as array<i64: ...>. */
bool text_key_is_matrix(ir_attr_key key);

/* --- print_attr.c */
void print_attr_value(str *out, const ir_attr *a, const ir_op *op); /* op: whose attribute, or NULL */

/* --- number_double.c --- */
double number_parse(const char *s, size_t n);
void number_format(char *buf, size_t n, int digits, double v); /* %.*e */
void number_print_double(double v, str *out); /* as number_print */
/* --- number.c --- */
/* The shortest of a few forms that reads back to the same bits of type t; hexadecimal for infinities and NaN. `bits`
 * holds one element. */
void number_print(xt_dtype t, const void *bits, str *out);

#endif
