/* The bytecode writer's own header: tables whose entries are found again by their bytes, and the pieces that
 * bytecode_out*.c share.
 *
 * Invariants: 1. the first failure stays in w->status, and everything after it goes on with indices of zero: who asks
 * looks once, at the end; 2. equal strings, types, attributes and properties have one entry, so equal programs give
 * equal bytes; 3. what an entry refers to stands before it. */
#ifndef XT_SRC_FORMAT_BYTECODE_OUT_H
#define XT_SRC_FORMAT_BYTECODE_OUT_H

#include "format/bytecode_int.h"

typedef struct bw_entry {
    size_t dialect;
    bool custom; /* else assembly text */
    const char *bytes;
    size_t n;
} bw_entry;
typedef struct bw_table {
    map *found; /* from an entry's dialect and bytes to its index + 1 */
    bw_entry *items;
    size_t n, cap;
} bw_table;

typedef struct bw {
    const ir_module *m;
    int version;
    unsigned locs;
    xt_status status;
    arena *mem;
    bw_table strings, dialects, ops, attrs, types, properties;
    size_t n_values; /* of all open regions */
} bw;

/* In which dialect types and attributes are spelled: vhlo's ops want its own, others the builtin ones. */
typedef enum bw_form { BW_VHLO, BW_BUILTIN } bw_form;

/* --- bytecode_out.c --- */
void bw_fail(bw *w, const ir_op *op, const char *fmt, ...) BASE_PRINTF(3, 4);
void bw_varint(str *s, uint64_t v);
void bw_svarint(str *s, int64_t v);
void bw_flagged(str *s, uint64_t v, bool flag);
void bw_bits(str *s, int width, uint64_t v); /* MLIR's APInt */
void bw_blob(str *s, const void *p, size_t n);
void bw_section(str *s, unsigned id, const str *data);
size_t bw_string(bw *w, const char *s, size_t n);
size_t bw_dialect(bw *w, const char *name);
size_t bw_op(bw *w, const char *dialect, const char *name);
/* The index of an entry of these bytes, which are freed. */
size_t bw_attr_entry(bw *w, const char *dialect, bool custom, str *bytes);
size_t bw_type_entry(bw *w, const char *dialect, bool custom, str *bytes);
size_t bw_properties(bw *w, str *bytes);

/* --- bytecode_out_attr.c --- */
size_t bw_type(bw *w, const ir_type *t, bw_form f);
size_t bw_element(bw *w, xt_dtype t, bw_form f);
size_t bw_function_type(bw *w, const ir_func *f);
size_t bw_attr(bw *w, const ir_op *op, const ir_attr *a, bw_form f); /* op: for messages, and whose enumeration it is */
size_t bw_string_attr(bw *w, const char *s, size_t n, bw_form f);
size_t bw_enum(bw *w, ir_attr_key key, int64_t v, bc_dialect d);
size_t bw_int(bw *w, int64_t v, xt_dtype t, bw_form f);
size_t bw_array(bw *w, size_t n, const size_t *attrs, bw_form f);
/* A builtin dictionary whose values have the form f. */
size_t bw_dictionary(bw *w, const ir_op *op, const ir_attr *list, size_t n, bw_form f);
size_t bw_loc(bw *w, const ir_op *op, int64_t ordinal); /* ordinal < 0: none */

/* --- bytecode_out_text.c: attributes that the IR keeps as text --- */
size_t bw_text_attr(bw *w, const ir_op *op, const ir_attr *a, bw_form f);
size_t bw_accuracy(bw *w, const ir_attr *a); /* NULL: the default */
/* of dot_general's algorithm; a NULL: there is none */
size_t bw_algorithm_member(bw *w, const ir_attr *a, const char *member);

/* --- bytecode_out_props.c --- */
/* What an op carries: the index of its properties and of its dictionary, each where there is one. */
typedef struct bw_carried {
    bool has_props, has_dict;
    size_t props, dict;
} bw_carried;
/* props: the row's names; NULL: all into the dictionary */
void bw_op_attrs(bw *w, const ir_op *op, const char *props, bw_carried *out);

/* --- bytecode_out_ops.c: the IR section --- */
void bw_module(bw *w, str *out);

#endif
