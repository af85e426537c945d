/* The bytecode reader's own header: cursors over bytes, the tables of a file, and the pieces that bytecode_*.c share.
 *
 * Invariants: 1. every function that can fail returns false (or NULL) after the first error, which stays in r->status
 * and names the offset in the file; 2. a count that the file only claims is compared with the bytes that are left
 * before memory is asked for; 3. nesting of attributes, types and regions is bounded by BC_MAX_DEPTH; 4. attributes and
 * types are decoded when first asked for, once.
 *
 * Source of the format: MLIR's "Bytecode Format" and the tables of codes in StableHLO's VhloBytecode.cpp and
 * StablehloBytecode.cpp. */
#ifndef XT_SRC_FORMAT_BYTECODE_INT_H
#define XT_SRC_FORMAT_BYTECODE_INT_H

#include "format/bytecode.h"

enum { BC_MAX_WEIGHT = 1 << 20, BC_MAX_DEPTH = 128, BC_MAX_VERSION = 6, BC_MAX_TEXT = 1 << 20 };

typedef struct bc_cursor { /* a stretch of the file; what is read moves `at` */
    const unsigned char *at, *end;
} bc_cursor;

typedef enum bc_dialect { BC_OTHER, BC_BUILTIN, BC_VHLO, BC_STABLEHLO, BC_CHLO, BC_SDY, BC_FUNC, BC_QUANT } bc_dialect;

typedef enum bc_type_kind {
    BC_TYPE_IR, /* tensor, token, tuple, future */
    BC_TYPE_ELEMENT, /* f32, i64, index: what tensors are made of */
    BC_TYPE_QUANTIZED, /* the same, integers that stand for floats */
    BC_TYPE_FUNCTION,
    BC_TYPE_NONE,
    BC_TYPE_UNKNOWN /* a type that the IR has none for; an error only where a value has it */
} bc_type_kind;
typedef struct bc_type {
    bc_type_kind kind;
    const ir_type *ir;
    xt_dtype dtype; /* ELEMENT, QUANTIZED */
    const ir_quant *quant; /* QUANTIZED */
    bool index; /* ELEMENT, or a tensor of them: spelled `index`, computed as i64 */
    const struct bc_type *const *in, *const *out; /* FUNCTION */
    size_t n_in, n_out;
    const char *name; /* spelling, for texts and messages */
} bc_type;

/* An attribute as the IR holds it, but with neither key nor name. Members of a structure (dimension numbers) are a DICT
 * with `structure` set; an element type is the OPAQUE text of it with `type` set. */
typedef struct bc_attr {
    ir_attr a;
    const bc_type *type;
    const struct bc_attr *const *members; /* of a DICT */
    bool structure;
    size_t weight; /* attributes it unfolds to; bounded, since a few lists of lists can spell very much */
} bc_attr;
typedef struct bc_loc {
    src_id src;
    uint32_t path;
} bc_loc;

typedef struct bc_entry { /* one attribute or type of the file */
    bc_cursor bytes;
    bc_dialect dialect;
    bool custom; /* else assembly text */
    bool busy; /* being decoded: meeting it again means a cycle */
    bool loc_known;
    bc_loc loc;
    void *value; /* bc_attr or bc_type, once decoded */
} bc_entry;
typedef struct bc_string {
    const char *s; /* NUL-terminated, in the file */
    size_t n;
} bc_string;
typedef struct bc_op_name {
    bc_dialect dialect;
    const char *dialect_name, *name;
    /* names of its properties in the file's order, "name?" one that may be missing; NULL: not known */
    const char *props;
    ir_opcode code; /* OP_COUNT: not an op of the IR */
} bc_op_name;
typedef struct bc_resource {
    bc_string key;
    bc_cursor data; /* of a blob */
} bc_resource;

typedef struct bc_left_out { /* a function that the IR has no form for */
    const char *name, *why;
    const struct bc_left_out *next;
} bc_left_out;

typedef struct bc_reader {
    const unsigned char *begin;
    const char *file;
    xt_status status;
    bool refused; /* status names something well formed that the IR has no form for */
    const bc_left_out *left_out;
    ir_module *m;
    arena *scratch; /* freed when the reading ends */
    uint64_t version;
    int depth;
    size_t weight; /* of the attribute being decoded, so far */
    size_t text_made; /* bytes of text that attributes became; bounded, since few bytes can spell much */
    bc_cursor section[9]; /* by id; at NULL: not there */
    bc_string *strings;
    size_t n_strings;
    bc_string *dialects;
    bc_dialect *dialect_ids;
    size_t n_dialects;
    bc_op_name *ops;
    size_t n_ops, cap_ops;
    bc_entry *attrs, *types;
    size_t n_attrs, n_types;
    bc_cursor *properties;
    size_t n_properties;
    bc_resource *resources;
    size_t n_resources;
    ir_value **values; /* of all open regions; ids count from `base` */
    size_t n_values, cap_values, base;
} bc_reader;

/* --- bytecode_cursor.c --- */
bool bc_fail(bc_reader *r, const void *at, const char *fmt, ...) BASE_PRINTF(3, 4); /* `at` points into the file */
/* As bc_fail, where the file is well formed but says what the IR cannot: the function around it may be left out. */
#define bc_refuse(r, at, ...) ((r)->refused = !(r)->status, bc_fail((r), (at), __VA_ARGS__))
bool bc_oom(bc_reader *r);
void *bc_alloc(bc_reader *r, size_t n, size_t size); /* from the scratch arena, zeroed; NULL has failed r */
void *bc_keep(bc_reader *r, const void *p, size_t n); /* a copy in the module's arena, NUL after it */
bool bc_byte(bc_reader *r, bc_cursor *c, unsigned *out);
bool bc_varint(bc_reader *r, bc_cursor *c, uint64_t *out);
bool bc_svarint(bc_reader *r, bc_cursor *c, int64_t *out);
/* value in the upper bits, flag in the lowest */
bool bc_flagged(bc_reader *r, bc_cursor *c, uint64_t *out, bool *flag);
/* A count of things that take at least one byte each. */
bool bc_count(bc_reader *r, bc_cursor *c, const char *what, size_t *out);
bool bc_index(bc_reader *r, bc_cursor *c, size_t n, const char *what, size_t *out); /* below n */
bool bc_bytes(bc_reader *r, bc_cursor *c, size_t n, bc_cursor *out);
bool bc_blob(bc_reader *r, bc_cursor *c, bc_cursor *out); /* size, bytes */
bool bc_section(bc_reader *r, bc_cursor *c, unsigned *out_id, bc_cursor *out);
bool bc_svarints(bc_reader *r, bc_cursor *c, int64_t **out, size_t *n); /* a list; in the module's arena */
bool bc_string_at(bc_reader *r, bc_cursor *c, bc_string *out); /* a reference to the string table */
bool bc_bits(bc_reader *r, bc_cursor *c, int width, uint64_t *out); /* MLIR's APInt of at most 64 bits, zero-extended */
bool bc_enter(bc_reader *r, const void *at);
void bc_leave(bc_reader *r);

/* --- bytecode_file.c: sections and tables --- */
bool bc_read_tables(bc_reader *r, const void *data, size_t n);

/* --- bytecode_attr.c: by index; builtin ones --- */
bool bc_attr_get(bc_reader *r, size_t index, const void *at, const bc_attr **out);
bool bc_type_get(bc_reader *r, size_t index, const void *at, const bc_type **out);
bool bc_attr_ref(bc_reader *r, bc_cursor *c, const bc_attr **out); /* the index read first */
bool bc_attr_ref_optional(bc_reader *r, bc_cursor *c, const bc_attr **out); /* NULL: none */
bool bc_type_ref(bc_reader *r, bc_cursor *c, const bc_type **out);
bool bc_attr_list(bc_reader *r, bc_cursor *c, ir_attr *out); /* a list of references, as an ARRAY */
bool bc_int_list(bc_reader *r, bc_cursor *c, ir_attr *out); /* svarints, as INTS */
bool bc_value_type(bc_reader *r, size_t index, const void *at, const ir_type **out); /* of an operand or result */
bool bc_tensor_type(bc_reader *r, const void *at, const int64_t *dims, size_t rank, const bc_type *element,
                    bc_type *out);
bool bc_type_list(bc_reader *r, bc_cursor *c, const bc_type *const **out, size_t *n);
bool bc_function_type(bc_reader *r, bc_cursor *c, bc_type *out);
bool bc_aggregate_type(bc_reader *r, bc_cursor *c, ir_kind kind, bc_type *out);
/* --- bytecode_type.c */
bool bc_builtin_type(bc_reader *r, bc_cursor *c, bc_type *out);
enum { QUANT_SIGNED = 1 }; /* of a type's flags */
enum { QT_UNIFORM = 4, QT_UNIFORM_AXIS = 5 };
bool bc_quantized(bc_reader *r, bc_cursor *c, bool by_axis, bc_type *out); /* what follows the code */
bool bc_quant_type(bc_reader *r, bc_cursor *c, bc_type *out); /* of MLIR's own dialect */
bool bc_text_type(bc_reader *r, bc_cursor *c, bc_type *out);
/* Elements of a tensor from MLIR's raw form: little-endian, one element for a splat, booleans packed. */
bool bc_dense(bc_reader *r, const bc_type *type, bc_cursor raw, bc_attr *out);
bool bc_number(bc_reader *r, bc_cursor *c, const bc_type *type, bc_attr *out, bool is_float);
bool bc_type_attr(bc_reader *r, bc_cursor *c, bc_attr *out); /* a reference to a type */
bool bc_string_attr(bc_reader *r, bc_cursor *c, bc_attr *out);
bool bc_dictionary(bc_reader *r, bc_cursor *c, bc_attr *out);
bool bc_number_attr(bc_reader *r, bc_cursor *c, bool is_float, bc_attr *out); /* type, number */
bool bc_dense_attr(bc_reader *r, bc_cursor *c, bc_attr *out); /* type, blob */
bool bc_complex_type(bc_reader *r, bc_cursor *c, bc_type *out);
bool bc_ranked_type(bc_reader *r, bc_cursor *c, bool encoded, bc_type *out);
bool bc_text(bc_reader *r, str *s, ir_attr *out); /* OPAQUE of s, which is freed */

/* --- one file per dialect --- */
bool bc_vhlo_attr(bc_reader *r, bc_cursor *c, bc_attr *out);
bool bc_vhlo_type(bc_reader *r, bc_cursor *c, bc_type *out);
bool bc_stablehlo_attr(bc_reader *r, bc_cursor *c, bc_attr *out);
bool bc_stablehlo_type(bc_reader *r, bc_cursor *c, bc_type *out);
bool bc_enumeration(bc_reader *r, bc_cursor *c, bc_attr *out); /* a number without its key: ENUM */
bool bc_bounds(bc_reader *r, bc_cursor *c, bc_attr *out);
/* Parts of replica groups by mesh axes, as ir_sdy_groups_of reads them. */
void bc_spell_axis(str *s, const char *name, int64_t size);
void bc_spell_axis_ref(str *s, const char *name, const ir_attr *part);
void bc_spell_mesh(str *s, const ir_attr *axes, const ir_attr *ids);
void bc_spell_groups(str *s, const ir_attr *mesh, const ir_attr *axes);
bool bc_output_alias(bc_reader *r, bc_cursor *c, bc_attr *out);
bool bc_result_accuracy(bc_reader *r, bc_cursor *c, bc_attr *out);
bool bc_dot_algorithm_text(bc_reader *r, const char *const types[3], const int64_t counts[3], bool imprecise,
                           ir_attr *out);
bool bc_chlo_attr(bc_reader *r, bc_cursor *c, bc_attr *out);
#define BC_SDY_UNKNOWN "#sdy.unknown" /* stands for an attribute of sdy that has no form here */
bool bc_sdy_attr(bc_reader *r, bc_cursor *c, bc_attr *out);

/* --- bytecode_loc.c --- */
bool bc_loc_get(bc_reader *r, size_t index, const void *at, bc_loc *out);

/* --- bytecode_op_attr.c: attributes of an op, from those of the file --- */
typedef struct bc_attrs {
    ir_attr *items;
    size_t n, cap;
} bc_attrs;
bool bc_push(bc_reader *r, const void *at, bc_attrs *l, ir_attr a);
/* `name` as the file spells it: a key of attrs.def gets the kind it wants, structures become flat. */
bool bc_push_op_attr(bc_reader *r, const void *at, const bc_op_name *op, const char *name, const bc_attr *a,
                     bc_attrs *out);
/* Defaults are dropped, members that old versions lack added, groups of attributes joined. */
bool bc_finish_op_attrs(bc_reader *r, const void *at, const bc_op_name *op, bc_attrs *l);

/* --- bytecode_defaults.c --- */
/* What vhlo must say and StableHLO leaves out: `value` for integers and lists (all members equal to it).
 * OP_COUNT: of any op. */
typedef enum bc_when { BC_IF_FALSE, BC_IF_ZERO, BC_IF_EMPTY, BC_IF_ALL, BC_IF_UNIT } bc_when;
typedef struct bc_default {
    ir_attr_key key;
    bc_when when;
    int64_t value;
    ir_opcode op;
} bc_default;
extern const bc_default bc_defaults[];
extern const size_t bc_n_defaults;
const bc_default *bc_default_of(ir_opcode op, ir_attr_key key); /* NULL: the attribute must be there */
bool bc_is_default(const bc_default *d, const ir_attr *a);
void bc_drop_defaults(ir_opcode code, ir_attr *items, size_t *n);

/* --- bytecode_module.c: the IR section --- */
bool bc_read_module(bc_reader *r);

/* --- vhlo.c: the versioned ops --- */
enum { VHLO_NOW = 9999 };
typedef struct vhlo_row {
    const char *name; /* without its _vN */
    int version;
    int since, until; /* 100 * major + minor of the StableHLO versions it belongs to */
    const char *props; /* names of its properties, alphabetical, one blank between */
} vhlo_row;
const vhlo_row *vhlo_find(const char *name, size_t n, int version);
/* the one that belongs to a version of StableHLO; NULL: none does */
const vhlo_row *vhlo_at(const char *name, int stablehlo);
bool vhlo_element(uint64_t code, xt_dtype *out);
bool vhlo_element_code(xt_dtype t, uint64_t *out_code, int *out_since);
/* of the attribute that is a member of the key's enumeration; -1: there is none */
int vhlo_enum_code(ir_attr_key key, bc_dialect d);
/* Codes of types that are no elements. */
enum {
    VT_COMPLEX = 1,
    VT_FUNCTION = 8,
    VT_INDEX = 9,
    VT_TENSOR = 20,
    VT_TENSOR_ENCODED = 21,
    VT_TOKEN = 22,
    VT_TUPLE = 23,
    VT_QUANTIZED = 24,
    VT_UNRANKED = 25,
    VT_WITNESS = 26,
    VT_QUANTIZED_AXIS = 30,
    VT_NONE = 33,
    VT_TF32 = 34,
    VT_BUFFER = 41,
    VT_FUTURE = 42
};
/* Properties of an op of another dialect, as its generated code writes them; NULL: not known. */
const char *plain_props(const char *dialect, const char *name);

#endif
