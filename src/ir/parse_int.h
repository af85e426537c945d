/* The StableHLO text parser's own header: lexer, symbol scopes and the pieces that parse_*.c share.
 *
 * Invariants: 1. every parse_* function returns false after the first error, which stays in p->status with
 * file:line:col of the token it happened at; 2. nothing allocates more than a constant times the length of the text: a
 * count that the text only claims (dims, `%0:1000000`) is checked before memory is asked for; 3. nesting of regions,
 * types and attributes is bounded by PARSE_MAX_DEPTH, so hostile text cannot exhaust the stack. */
#ifndef XT_SRC_IR_PARSE_INT_H
#define XT_SRC_IR_PARSE_INT_H

#include "ir/ir.h"

enum { PARSE_MAX_DEPTH = 128 };

typedef enum tok_kind {
    TOK_END,
    TOK_WORD /* add, stablehlo.add */,
    TOK_VALUE /* %0 */,
    TOK_SYMBOL /* @main */,
    TOK_HASH /* #loc1, #stablehlo.gather */,
    TOK_BANG /* !stablehlo.token */,
    TOK_CARET /* ^bb0 */,
    TOK_INT /* 12, 0x1F; never signed */,
    TOK_FLOAT,
    TOK_STRING /* with quotes */,
    TOK_ARROW,
    TOK_PUNCT
} tok_kind;
typedef struct token {
    tok_kind kind;
    char punct; /* TOK_PUNCT */
    uint32_t line; /* from 1 */
    const char *text; /* points into the source */
    size_t n;
} token;

/* A name that stands for values: %3 of `%3:2 = ...` names two. Scopes are a stack: leaving a region pops to a mark; a
 * name that is visible cannot be given again, so nothing is ever shadowed. */
typedef struct parse_name {
    const char *text;
    size_t n;
    ir_value **values;
    size_t n_values;
} parse_name;

/* An op whose location is an alias defined later in the file. */
typedef struct parse_loc_use {
    ir_op *op;
    token alias;
} parse_loc_use;
typedef struct parse_loc {
    src_id src;
    uint32_t path;
} parse_loc;
/* `#name = attribute`: read again at each use, where the kind wanted is known; `uses` bounds what nested aliases
 * can unfold to. */
enum { PARSE_MAX_ALIAS_USES = 100000 };

typedef struct parser {
    const char *begin, *end, *file;
    token tok; /* the current token */
    const char *next; /* where the next one is read */
    uint32_t line; /* line of `next` */
    const char *last_end; /* end of the token before the current one */
    int depth;
    xt_status status;
    uint64_t allocations_failed; /* of this thread, before the parse */
    ir_module *m;
    ir_func *func;
    arena *scratch; /* freed when the parse ends */
    map *names; /* text -> parse_name */
    parse_name **scope;
    size_t n_scope, cap_scope;
    map *attr_aliases; /* "#map0" -> lex_state of its value */
    map *type_aliases; /* "!t" -> ir_type */
    map *quant_aliases; /* "!q" -> ir_quant */
    map *loc_aliases; /* "#loc1" -> parse_loc */
    parse_loc_use *loc_uses;
    size_t n_loc_uses, cap_loc_uses;
    size_t alias_uses;
    bool saw_index; /* an `index` type was read (it stands for i64, but is spelled back where text is kept) */
} parser;

/* --- parse_lex.c --- */
typedef struct lex_state { /* to read a stretch of text twice */
    token tok;
    const char *next;
    uint32_t line;
    const char *last_end;
} lex_state;
bool lex_advance(parser *p);
lex_state lex_save(const parser *p);
void lex_restore(parser *p, lex_state s);
/* From just after an opening '<' (the current token is the first inside) to the matching '>', which becomes the current
 * token; out_* is the text between. Brackets and strings inside must balance. */
bool lex_skip_angle(parser *p, const char **out_text, size_t *out_n);
/* Reads "2x?x" at the current token: dims go to the scratch arena; the current token is then the element type. */
bool lex_dims(parser *p, int64_t **out_dims, size_t *out_rank);

bool parse_fail(parser *p, const char *fmt, ...) BASE_PRINTF(2, 3); /* at the current token; always false */
bool parse_fail_at(parser *p, token at, const char *fmt, ...) BASE_PRINTF(3, 4);
bool parse_expected(parser *p, const char *what); /* "expected WHAT, found TOKEN" */
bool parse_oom(parser *p);
bool parse_enter(parser *p); /* one level deeper; balanced by parse_leave */
void parse_leave(parser *p);

bool parse_at(const parser *p, char punct);
bool parse_at_word(const parser *p, const char *word);
bool parse_accept(parser *p, char punct); /* true and past it when it was there; check p->status after a false */
bool parse_accept_word(parser *p, const char *word);
bool parse_expect(parser *p, char punct, const char *where);
bool parse_expect_word(parser *p, const char *word);
bool parse_arrow(parser *p);
bool parse_integer(parser *p, int64_t *out); /* with an optional '-' */
bool parse_integer_bits(parser *p, int64_t *out); /* the same up to 2^64 - 1, as bits */
bool parse_bool_word(parser *p, bool *out);
bool parse_string(parser *p, const char **out, size_t *out_n); /* unescaped, in the module's arena */
/* [1, 2, 3]; in the module's arena. `where` is for messages. */
bool parse_integer_list(parser *p, const char *where, int64_t **out, size_t *out_n);
bool parse_symbol(parser *p, const char **out, size_t *out_n); /* @name or @"name", without the @ */
/* Key `= ` with the word fixed: `dims = `. */
bool parse_key(parser *p, const char *word);

/* --- parse_type.c --- */
bool parse_type(parser *p, const ir_type **out);
bool parse_dtype(parser *p, xt_dtype *out); /* f32, ui8, complex<f32>; `index` reads as i64 */
typedef struct type_list {
    const ir_type **types;
    size_t n;
} type_list;
bool parse_type_list(parser *p, char close, type_list *out); /* types up to `close`, which is consumed */
bool parse_types_plain(parser *p, type_list *out); /* T, T, T: at least one */
/* `(A, B) -> C`, `(A, B) -> (C, D)`. */
bool parse_function_type(parser *p, type_list *in, type_list *out);

/* --- parse_quant.c --- */
bool parse_quant(parser *p, const ir_quant **out); /* !quant.uniform<...>, its name being current */

/* --- parse_literal.c --- */
/* `dense<...> : type` with the word `dense` current. */
bool parse_dense(parser *p, ir_literal *out);
/* One number of type t at the current token, stored at dst (1 element). */
bool parse_element(parser *p, xt_dtype t, void *dst);

/* --- parse_attr.c --- */
typedef struct attr_list { /* attributes as they are collected for one op */
    ir_attr *items;
    size_t n, cap;
    uint32_t *places; /* of a long list, by the hash of their names: places in `items`, from 1 on */
    size_t n_places; /* a power of two, at most half full */
} attr_list;
bool attr_push(parser *p, attr_list *l, ir_attr a);
bool attr_push_ints(parser *p, attr_list *l, ir_attr_key k, size_t n, const int64_t *v); /* v in the module's arena */
/* Any attribute as it comes, with neither key nor name. */
bool parse_attr(parser *p, ir_attr *out);
/* `{a = 1, b}`: named, none looked up (arguments, results, modules). */
bool parse_attr_dict(parser *p, attr_list *out);
bool parse_op_attr(parser *p, attr_list *out); /* one `name = value` of an op */
/* The same of an op, up to `}`: names of attrs.def get their key and the kind it wants, structured attributes
 * become flat. */
bool parse_op_attr_dict(parser *p, attr_list *out);

/* --- parse_struct.c: StableHLO's structured attributes and enumerations --- */
/* If `name` is a structured attribute, reads its value into its flat members and answers true in *out_known. */
bool parse_struct_attr(parser *p, const char *name, attr_list *out, bool *out_known);
bool parse_enum_word(parser *p, ir_attr_key k, int64_t *out); /* EQ */
bool parse_conv_dims(parser *p, attr_list *out); /* [b, 0, f]x[0, i, o]->[b, 0, f] */

/* --- parse_loc.c --- */
bool parse_op_loc(parser *p, ir_op *op); /* `loc(...)` after an op, if there is one; op may be NULL: read and dropped */
bool parse_loc_alias(parser *p, token name); /* after `#name =`, with `loc` current */
bool parse_resolve_locs(parser *p);

/* --- parse_scope.c: names of values, operands, regions --- */
/* What the text says about an op before it is built. */
typedef struct op_parts {
    token at; /* the op's name */
    ir_opcode code;
    ir_value **in;
    size_t n_in, cap_in;
    attr_list attrs;
    ir_block **regions; /* NULL entries are empty regions */
    size_t n_regions, cap_regions;
    bool out_given;
    type_list out;
} op_parts;
void parts_free(op_parts *o);
bool parse_define(parser *p, token name, size_t n, ir_value **values);
size_t parse_scope_enter(const parser *p);
void parse_scope_leave(parser *p, size_t mark);
bool parse_use(parser *p, ir_value **out); /* %x or %x#1 */
bool parse_operand(parser *p, op_parts *o);
bool parse_operands_in_parens(parser *p, op_parts *o);
/* The types written for the operands must be theirs. */
bool parse_check_operands(parser *p, const op_parts *o, token at, size_t n, const ir_type *const *types);
/* `: (A, B) -> C` from the colon on: operands checked, results noted. */
bool parse_function_type_of(parser *p, op_parts *o);
bool parse_set_results(parser *p, op_parts *o, size_t n, const ir_type *const *types);
/* `%a: T, %b: T` up to `close`, which is consumed: new arguments of `block`, named. `f` (may be NULL) receives `{...}`
 * after a type. */
bool parse_block_args(parser *p, ir_block *block, char close, ir_func *f);
bool parse_region(parser *p, op_parts *o); /* `{ ops }` or `{ ^bb0(...): ops }` as another region of o */
bool parse_region_body(parser *p, ir_block *b); /* `{ ops }` into b, whose arguments are named already */
bool parse_push_region(parser *p, op_parts *o, ir_block *b);

/* --- parse_op.c --- */
bool parse_block_ops(parser *p, ir_block *block); /* ops up to '}', which is consumed */
ir_op *parse_build(parser *p, op_parts *o, ir_block *block);
bool parse_opcode(parser *p, token at, const char *text, size_t n, ir_opcode *out);
bool parse_properties(parser *p, attr_list *out); /* `<{...}>` if it is there */

/* --- parse_pretty.c, parse_pretty_big.c --- */
bool parse_pretty(parser *p, op_parts *o); /* the op's own syntax from after its name up to its location */
bool parse_clause_word(parser *p, op_parts *o); /* `name = value` of any attribute */
bool parse_optional_dict(parser *p, op_parts *o);
bool parse_reduce(parser *p, op_parts *o);
bool parse_while(parser *p, op_parts *o);
bool parse_scan(parser *p, op_parts *o);
bool parse_manual_computation(parser *p, op_parts *o);
bool parse_convolution(parser *p, op_parts *o);

/* --- parse_module.c, parse_func.c --- */
bool parse_func(parser *p); /* with func.func current */
bool parse_generic_func(parser *p); /* with "func.func" current */

#endif
