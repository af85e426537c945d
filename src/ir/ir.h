/* The IR: StableHLO as C structs. A module holds functions; a function a region of one block; a block a list of ops in
 * SSA form; an op operands, results, attributes, regions, and who asked for it (source id, module path).
 *
 * Invariants: an op's operands are defined before it (in its block or an enclosing one); types are interned, so pointer
 * equality is type equality; everything of a module lives in the module's arena and dies with it; every op in a module
 * has passed its inference rule when it was built, and ir_verify checks the rest.
 *
 *     ir_module *m = ir_module_new();
 *     ir_func *f = ir_func_new(m, "main", true);
 *     ir_value *x = ir_func_arg(f, ir_tensor(XT_F32, 2, (int64_t[]){2, 3}));
 *     ir_builder b = ir_at_end(m, ir_func_block(f));
 *     ir_return(&b, 1, (ir_value *[]){ir_add(&b, x, x)});
 *     if (b.status) ...
 *
 * Threads: a module belongs to one thread at a time; types may be made from any thread. */
#ifndef XT_SRC_IR_H
#define XT_SRC_IR_H

#include "base/base.h"

typedef struct ir_type ir_type;
typedef struct ir_value ir_value;
typedef struct ir_op ir_op;
typedef struct ir_block ir_block;
typedef struct ir_region ir_region;
typedef struct ir_func ir_func;
typedef struct ir_module ir_module;
typedef struct ir_attr ir_attr;
typedef struct ir_quant ir_quant;

/* --- Types (types.c): interned for the whole process --- */
/* FUTURE: what async_start returns, elements as a tuple's */
typedef enum ir_kind { IR_TENSOR, IR_TOKEN, IR_TUPLE, IR_FUTURE } ir_kind;
#define IR_MAX_RANK 64
/* Types share their elements, so tuples of tuples that a few lines write can have more parts than there is memory for,
 * and whatever walks or prints one goes through them all, by recursion. */
#define IR_MAX_PARTS (1 << 16)
#define IR_MAX_TUPLE_DEPTH 64
#define IR_DYNAMIC INT64_MIN /* a dim that is not known, "?" in text */

struct ir_type {
    ir_kind kind;
    xt_dtype dtype; /* IR_TENSOR; of a quantized one the storage type */
    uint32_t rank; /* IR_TENSOR: dims; IR_TUPLE, IR_FUTURE: elements */
    uint32_t id; /* small number, unique in the process */
    const int64_t *dims;
    const ir_type *const *elems;
    int64_t count; /* elements; -1 when a dim is dynamic */
    uint32_t parts, depth; /* IR_TUPLE, IR_FUTURE: types that it is made of, and how deep; else 1 and 0 */
    const ir_quant *quant; /* IR_TENSOR: what its integers stand for; NULL: themselves */
};
/* NULL: overflow, bad dim, rank > IR_MAX_RANK or no memory */
const ir_type *ir_tensor(xt_dtype t, size_t rank, const int64_t *dims);
const ir_type *ir_scalar(xt_dtype t);
const ir_type *ir_token(void);
/* NULL: beyond IR_MAX_PARTS or IR_MAX_TUPLE_DEPTH (ir_tuple_fits), or no memory */
const ir_type *ir_tuple(size_t n, const ir_type *const *elems);
const ir_type *ir_future(size_t n, const ir_type *const *elems);
bool ir_tuple_fits(size_t n, const ir_type *const *elems);
const ir_type *ir_with_dtype(const ir_type *t, xt_dtype d);
bool ir_type_compatible(const ir_type *a, const ir_type *b); /* equal, where a dynamic dim equals any */
size_t ir_type_bytes(const ir_type *t); /* host bytes, 1 per sub-byte element */
void ir_type_print(const ir_type *t, str *out); /* tensor<2x3xf32> */

/* Quantized tensors (quant.c): integers i that stand for the floats (i - zero) * scale, with one scale and zero point,
 * or one of each for every slice along `axis`. Interned, so pointer equality is equality. pass_lower_quant takes them
 * out of a program. */
struct ir_quant {
    xt_dtype storage, expressed;
    int64_t min, max; /* what storage may hold */
    int64_t axis; /* -1: one scale */
    size_t n; /* scales */
    const double *scales; /* as the text has them: arithmetic rounds them to the expressed type */
    const int64_t *zeros;
    uint32_t id; /* small number, unique in the process */
};
/* Checks `like` (its id aside) against the specification's constraints on such types; copied. */
xt_status ir_quant_of(const ir_quant *like, const ir_quant **out);
void ir_quant_print(const ir_quant *q, str *out); /* !quant.uniform<i8:f32, 1.000000e-01:-30> */
bool ir_quant_same_base(const ir_quant *a, const ir_quant *b); /* alike but for scales and zero points */
/* t with its elements read as q says, which must have t's dtype for storage; q NULL: as they are. NULL: t has no such
 * axis, or one of another size than there are scales (ir_quant_fits), or no memory. */
const ir_type *ir_with_quant(const ir_type *t, const ir_quant *q);
bool ir_quant_fits(const ir_quant *q, size_t rank, const int64_t *dims);
const ir_type *
ir_element(const ir_type *t); /* a scalar of the element type; NULL of a tensor quantized along an axis */
/* A type as programs without quantized tensors have it, tuples through and through: of integers, or of floats. */
const ir_type *ir_storage(const ir_type *t);
const ir_type *ir_expressed(const ir_type *t);

bool ir_dtype_is_float(xt_dtype t); /* bf16, f16, f32, f64, f8 kinds */
bool ir_dtype_is_int(xt_dtype t); /* signed or unsigned, not bool */
bool ir_dtype_is_signed(xt_dtype t);
bool ir_dtype_is_complex(xt_dtype t);
int ir_dtype_bits(xt_dtype t); /* of one element's value: bool 1, i4 4 (xt_dtype_size: what it takes in memory) */
const char *ir_dtype_mlir(xt_dtype t); /* "i1", "ui8", "f8E4M3FN", "complex<f32>" */
bool ir_dtype_from_mlir(const char *s, size_t n, xt_dtype *out);

/* --- Attributes (attr.c): a key and a value. Keys are interned strings; those of StableHLO's own ops are fixed by
 * attrs.def as IR_A_name. Structured attributes of StableHLO are kept flat (dot_dimension_numbers is four integer
 * arrays); print and parse know the spelling.
 * ------------------------------------------------------------------------------------------------ */
typedef enum ir_attr_key {
    IR_A_none = 0,
#define ATTR(name, kind) IR_A_##name,
#include "ir/attrs.def"
#undef ATTR
    IR_A_COUNT
} ir_attr_key;
typedef enum ir_attr_kind {
    IR_AK_INT,
    IR_AK_FLOAT,
    IR_AK_BOOL,
    IR_AK_STRING,
    IR_AK_SYMBOL,
    IR_AK_INTS,
    IR_AK_BOOLS,
    IR_AK_DENSE,
    IR_AK_TYPE,
    IR_AK_ENUM,
    IR_AK_ENUMS,
    IR_AK_ARRAY,
    IR_AK_DICT,
    IR_AK_UNIT,
    IR_AK_OPAQUE
} ir_attr_kind;
typedef struct ir_literal {
    const ir_type *type;
    const void *data; /* row-major host bytes; one element when splat */
    bool splat;
} ir_literal;
struct ir_attr {
    ir_attr_key key; /* IR_A_none: a discardable attribute, named by `name` */
    ir_attr_kind kind;
    const char *name; /* spelling; set for every attribute */
    xt_dtype dtype; /* of INT and FLOAT: i64, i32, f32, ...; of ENUM: none */
    uint32_t rank2; /* INTS: 0 = 1-D; else the length of the second dim ([n,2] padding, [g,n] replica groups) */
    size_t n; /* INTS, BOOLS, ENUMS, ARRAY, DICT: elements; STRING, SYMBOL, OPAQUE: bytes */
    union {
        int64_t i;
        double f;
        bool b;
        const char *s; /* STRING, SYMBOL (without the @), OPAQUE (text as read) */
        /* INTS; BOOLS as 0/1; ENUMS as numbers; an ENUM's number is in i. Spelling: ir_enum_name */
        const int64_t *ints;
        ir_literal dense;
        const ir_type *type;
        const ir_attr *list; /* ARRAY (keys none), DICT */
    } v;
};
/* Enumerations of StableHLO, in VHLO's order. */
typedef enum ir_cmp_dir { IR_EQ, IR_NE, IR_GE, IR_GT, IR_LE, IR_LT } ir_cmp_dir;
typedef enum ir_cmp_type { IR_CMP_NOTYPE, IR_CMP_FLOAT, IR_CMP_TOTALORDER, IR_CMP_SIGNED, IR_CMP_UNSIGNED } ir_cmp_type;
typedef enum ir_precision { IR_PREC_DEFAULT, IR_PREC_HIGH, IR_PREC_HIGHEST } ir_precision;
typedef enum ir_fft_type { IR_FFT, IR_IFFT, IR_RFFT, IR_IRFFT } ir_fft_type;
typedef enum ir_transpose_kind { IR_TRANSPOSE_INVALID, IR_NO_TRANSPOSE, IR_TRANSPOSE, IR_ADJOINT } ir_transpose_kind;
typedef enum ir_rng_distribution { IR_RNG_UNIFORM = 1, IR_RNG_NORMAL } ir_rng_distribution;
typedef enum ir_rng_algorithm { IR_RNG_DEFAULT, IR_RNG_THREE_FRY, IR_RNG_PHILOX } ir_rng_algorithm;
const char *ir_attr_key_name(ir_attr_key k); /* "window_strides" */
ir_attr_kind ir_attr_key_kind(ir_attr_key k); /* what attrs.def says; OPAQUE = any */
ir_attr_key ir_attr_key_from_name(const char *s, size_t n); /* IR_A_none when no op knows the name */
/* Spelling of an ENUM or ENUMS member: comparison_direction 0 = "EQ". NULL/false for an unknown number or name. */
const char *ir_enum_name(ir_attr_key k, int64_t v);
bool ir_enum_from_name(ir_attr_key k, const char *s, size_t n, int64_t *out);

/* --- Ops --- */
typedef enum ir_opcode {
#define OP(name, ...) OP_##name,
#include "ir/ops.def"
#undef OP
    OP_COUNT
} ir_opcode;
typedef enum ir_class {
    IR_CLASS_UNARY,
    IR_CLASS_BINARY,
    IR_CLASS_TERNARY,
    IR_CLASS_SHAPE,
    IR_CLASS_CONTRACT,
    IR_CLASS_REDUCE,
    IR_CLASS_INDEX,
    IR_CLASS_CONTROL,
    IR_CLASS_COLLECTIVE,
    IR_CLASS_CONSTANT,
    IR_CLASS_NORM,
    IR_CLASS_RANDOM,
    IR_CLASS_LINALG,
    IR_CLASS_OTHER
} ir_class;
enum {
    IR_PURE = 1,
    IR_COMMUTES = 2,
    IR_ELEMENTWISE = 4,
    IR_TERMINATOR = 8,
    IR_TRANSCENDENTAL = 16 /* what an element costs is a function's evaluation, not a flop */
};

struct ir_value {
    const ir_type *type;
    ir_op *def; /* NULL for a block argument */
    ir_block *block; /* owner of a block argument, block of `def` otherwise */
    uint32_t index; /* which result or argument */
    uint32_t uses; /* number of operand slots that read it; kept by the builder and ir_set_operand */
    uint64_t user; /* belongs to the layer that owns the module (lazy keeps its flags here) */
    /* scratch of whole-module services and passes; meaningless between calls (ir_new_epoch tells fresh from stale) */
    uint64_t mark;
};
struct ir_op {
    ir_opcode code;
    src_id src;
    uint32_t path; /* interned module path ("h.3.attn"), 0 = none */
    uint32_t n_in, n_out, n_attrs, n_regions;
    ir_value **in;
    ir_value *out; /* array of n_out */
    ir_attr *attrs;
    ir_region *regions;
    ir_block *block;
    ir_op *prev, *next;
    uint64_t user;
};
struct ir_block {
    ir_value **args;
    size_t n_args, cap_args;
    ir_op *first, *last;
    ir_op *owner; /* op whose region this is; NULL for a function body, and until the op is built */
    ir_func *func; /* function whose body this is; NULL for a region's block */
    ir_module *module;
};
struct ir_region {
    ir_block *block; /* StableHLO regions have exactly one block; NULL when the region is empty */
};
struct ir_func {
    const char *name;
    bool is_public;
    ir_block *body; /* NULL for a declaration */
    ir_attr **arg_attrs; /* per argument: array; NULL when none */
    size_t *n_arg_attrs;
    size_t n_results;
    const ir_type **result_types; /* set by ir_return or the parser */
    ir_attr **result_attrs;
    size_t *n_result_attrs;
    /* entries that arg_attrs and n_arg_attrs have: at least body->n_args when they are there */
    size_t cap_arg_attrs;
    ir_func *next;
    ir_module *module;
};
struct ir_module {
    arena *mem;
    const char *name; /* NULL or "jit_step" */
    ir_func *funcs, *last_func;
    ir_func **by_name; /* ir_func_find's table */
    size_t n_by_name, cap_by_name;
    ir_attr *attrs; /* mhlo.num_replicas, ... */
    size_t n_attrs;
    ir_attr *meshes; /* of sdy: their names, and their spelling #sdy.mesh<["x"=2]> as OPAQUE texts */
    size_t n_meshes;
};

typedef struct ir_op_info {
    const char *name; /* "add" */
    const char *dialect; /* "stablehlo", "chlo", "func", "sdy", ... */
    ir_class cls;
    int n_in, n_out; /* -1 = variadic */
    int n_regions;
    /* Result types of an op that has operands, attributes and regions. Types stated by the caller are in op->out (n_out
     * = 0 when none), for ops whose results no operand tells. Fills at most 16 + n_in + op->n_out types, plus the
     * operands of each region's terminator. */
    xt_status (*infer)(const ir_op *op, const ir_type **out_types, size_t *out_n);
    unsigned flags;
    const char *properties; /* attributes as bytecode has them, "a b? c": alphabetical, "?" one that may be missing */
    const char *doc;
} ir_op_info;
extern const ir_op_info ir_op_infos[OP_COUNT];
bool ir_op_is_pure(const ir_op *op); /* no effect but its results, regions included */
bool ir_opcode_from_name(const char *dialect, const char *name, ir_opcode *out);

/* --- Modules and functions (module.c) --- */
ir_module *ir_module_new(void);
void ir_module_free(ir_module *m);
/* An empty module in m's memory; m and all it held are gone. Needs no allocation. */
ir_module *ir_module_reset(ir_module *m);
ir_func *ir_func_new(ir_module *m, const char *name, bool is_public);
ir_func *ir_func_find(const ir_module *m, const char *name);
/* static, or in the arena; the only way to another name, as ir_func_find has a table */
void ir_func_rename(ir_func *f, const char *name);
/* Takes functions out of the module: those for which `drop` is true. */
void ir_funcs_drop(ir_module *m, bool (*drop)(const ir_func *f, void *user), void *user);
ir_block *ir_func_block(ir_func *f);
ir_value *ir_func_arg(ir_func *f, const ir_type *type);
bool ir_func_set_arg_attr(ir_func *f, size_t arg, ir_attr attr); /* tf.aliasing_output, mhlo.sharding, ... */
bool ir_func_set_result_attr(ir_func *f, size_t result, ir_attr attr);
bool ir_module_set_attr(ir_module *m, ir_attr attr);
bool ir_module_set_mesh(ir_module *m, const char *name, const char *text); /* both static or in the arena */
ir_block *ir_block_new(ir_module *m); /* for a region */
ir_value *ir_block_arg(ir_module *m, ir_block *b, const ir_type *type);
ir_op *ir_block_return(const ir_block *b); /* the terminator, or NULL */

/* --- Building (build.c). A builder inserts before `before`, or at the end of `block`. The first failure stays in
 * `status` (yours to take); after it, and whenever an operand is NULL, builders return NULL and record nothing: a
 * caller checks once at the end. -------- */
typedef struct ir_builder {
    ir_module *m;
    ir_block *block;
    ir_op *before;
    src_id src;
    uint32_t path;
    xt_status status;
} ir_builder;
ir_builder ir_at_end(ir_module *m, ir_block *block);
ir_builder ir_before(ir_module *m, ir_op *op);
/* The one way an op is made. Attributes and regions' blocks are copied by reference into the arena (their payload
 * must be in the module's arena or static); `out_types` may be NULL: then inference decides; if given, it must agree
 * with inference. */
ir_op *ir_build(ir_builder *b, ir_opcode code, size_t n_in, ir_value *const *in, size_t n_attrs, const ir_attr *attrs,
                size_t n_regions, ir_block *const *regions, size_t n_out, const ir_type *const *out_types);
void ir_set_operand(ir_op *op, size_t i, ir_value *v);
/* walks from `old` to its last reader; regions included */
void ir_replace_uses(ir_module *m, ir_value *old, ir_value *with);
void ir_erase(ir_op *op); /* results must be unused */
/* Upper half of marks that nobody has used before (bit 63 is set, so no pointer or small number looks like
 * one): a service sets mark = epoch | index and believes a mark only when its upper half is the epoch, so
 * nothing need be cleared. */
uint64_t ir_new_epoch(void);

/* Attribute values in the module's arena. */
ir_attr ir_attr_int(ir_attr_key k, int64_t v); /* i64 */
ir_attr ir_attr_bool(ir_attr_key k, bool v);
ir_attr ir_attr_enum(ir_attr_key k, int v);
ir_attr ir_attr_unit(ir_attr_key k);
ir_attr ir_attr_float(ir_attr_key k, xt_dtype t, double v);
ir_attr ir_attr_ints(ir_builder *b, ir_attr_key k, size_t n, const int64_t *v); /* copied */
ir_attr ir_attr_ints2(ir_builder *b, ir_attr_key k, size_t n, size_t width, const int64_t *v);
ir_attr ir_attr_string(ir_builder *b, ir_attr_key k, const char *s); /* SYMBOL where the key says so */
ir_attr ir_attr_dense(ir_builder *b, ir_attr_key k, const ir_type *t, const void *data, bool splat); /* data copied */
/* discardable; `name` must be static or in the arena */
ir_attr ir_attr_named_int(const char *name, xt_dtype t, int64_t v);
ir_attr ir_attr_named_string(ir_module *m, const char *name, const char *s);
/* Reading. NULL/defaults when absent. */
const ir_attr *ir_attr_find(const ir_op *op, ir_attr_key k);
int64_t ir_get_int(const ir_op *op, ir_attr_key k, int64_t fallback);
double ir_get_float(const ir_op *op, ir_attr_key k, double fallback);
bool ir_get_bool(const ir_op *op, ir_attr_key k, bool fallback); /* true for a UNIT that is there */
/* also BOOLS, ENUMS; NULL and 0 when absent */
const int64_t *ir_get_ints(const ir_op *op, ir_attr_key k, size_t *n);
const char *ir_get_string(const ir_op *op, ir_attr_key k);
const ir_literal *ir_get_literal(const ir_op *op); /* of OP_constant */

/* Reading values (loop.c). True when v is a constant, seen through broadcasts, reshapes and converts; *out (may be
 * NULL) is its value when it is a splat, else NaN. */
bool ir_is_constant(const ir_value *v, double *out);
/* The one number that v is in every iteration of `loop`, an OP_while: a constant, also one that is handed
 * through unchanged. */
bool ir_loop_constant(const ir_op *loop, const ir_value *v, double *out);
/* iterations of an OP_while whose counter goes from a constant by a constant to a constant; -1: cannot be read */
int64_t ir_trip_count(const ir_op *loop);

/* Typed builders (build_ops.c): one per op or family; results are values, NULL after a failure. */
#define OP(name, ...)
#define UNARY_OP(name, ...) ir_value *ir_##name(ir_builder *b, ir_value *x);
#define BINARY_OP(name, ...) ir_value *ir_##name(ir_builder *b, ir_value *x, ir_value *y);
#include "ir/ops.def"
#undef OP
ir_value *ir_unary(ir_builder *b, ir_opcode code, ir_value *x);
ir_value *ir_binary(ir_builder *b, ir_opcode code, ir_value *x, ir_value *y);
ir_value *ir_constant(ir_builder *b, const ir_type *t, const void *data); /* data copied: all elements */
/* v converted to the dtype; complex: imag 0 */
ir_value *ir_splat(ir_builder *b, const ir_type *t, double v);
ir_value *ir_compare(ir_builder *b, ir_cmp_dir dir, ir_value *x, ir_value *y); /* compare type chosen by dtype */
ir_value *ir_select(ir_builder *b, ir_value *pred, ir_value *on_true, ir_value *on_false);
ir_value *ir_convert(ir_builder *b, ir_value *x, xt_dtype t); /* x itself when it has that dtype */
ir_value *ir_reshape(ir_builder *b, ir_value *x, size_t rank, const int64_t *dims);
ir_value *ir_broadcast_in_dim(ir_builder *b, ir_value *x, const ir_type *to, size_t n, const int64_t *dims);
ir_value *ir_broadcast_scalar(ir_builder *b, ir_value *scalar, const ir_type *to);
ir_value *ir_transpose(ir_builder *b, ir_value *x, size_t n, const int64_t *perm);
/* stride NULL = 1 */
ir_value *ir_slice(ir_builder *b, ir_value *x, const int64_t *start, const int64_t *limit, const int64_t *stride);
ir_value *ir_pad(ir_builder *b, ir_value *x, ir_value *value, const int64_t *low, const int64_t *high,
                 const int64_t *interior);
ir_value *ir_concatenate(ir_builder *b, size_t n, ir_value *const *x, int64_t dim);
ir_value *ir_reverse(ir_builder *b, ir_value *x, size_t n, const int64_t *dims);
ir_value *ir_iota(ir_builder *b, const ir_type *t, int64_t dim);
/* One-input reduction by a binary op (OP_add, OP_maximum, OP_multiply, OP_and, ...) whose region is made here; init =
 * its identity. */
ir_value *ir_reduce(ir_builder *b, ir_opcode code, ir_value *x, size_t n, const int64_t *dims);
ir_value *ir_dot_general(ir_builder *b, ir_value *x, ir_value *y, size_t n_batch, const int64_t *x_batch,
                         const int64_t *y_batch, size_t n_contract, const int64_t *x_contract,
                         const int64_t *y_contract, ir_precision prec);
typedef struct ir_conv_dims { /* positions of batch, feature, spatial in lhs, kernel (in, out feature), output */
    int64_t lhs_batch, lhs_feature, rhs_in, rhs_out, out_batch, out_feature;
    const int64_t *lhs_spatial, *rhs_spatial, *out_spatial;
    size_t n_spatial;
    const int64_t *strides, *pad_low, *pad_high, *lhs_dilation, *rhs_dilation; /* NULL = ones / zeros */
    const bool *reverse; /* NULL = none */
    int64_t feature_groups, batch_groups; /* 0 = 1 */
} ir_conv_dims;
ir_value *ir_convolution(ir_builder *b, ir_value *x, ir_value *w, const ir_conv_dims *d, ir_precision prec);
/* Window reduction by a binary op; pad/dilation NULL = none. */
ir_value *ir_reduce_window(ir_builder *b, ir_opcode code, ir_value *x, const int64_t *window, const int64_t *strides,
                           const int64_t *pad_low, const int64_t *pad_high, const int64_t *base_dilation,
                           const int64_t *window_dilation);
/* Gradient of max pooling: selects by GE, scatters by add. */
ir_value *ir_select_and_scatter_max(ir_builder *b, ir_value *x, ir_value *source, const int64_t *window,
                                    const int64_t *strides, const int64_t *pad_low, const int64_t *pad_high);
/* StableHLO gather/scatter with all their dimension numbers. */
typedef struct ir_gather_dims {
    size_t n_offset, n_collapsed, n_operand_batching, n_start_batching, n_index_map;
    const int64_t *offset, *collapsed, *operand_batching, *start_batching, *index_map;
    int64_t index_vector_dim;
} ir_gather_dims;
ir_value *ir_gather(ir_builder *b, ir_value *x, ir_value *indices, const ir_gather_dims *d, const int64_t *slice_sizes,
                    bool sorted);
typedef struct ir_scatter_dims {
    size_t n_window, n_inserted, n_input_batching, n_indices_batching, n_scatter_to_operand;
    const int64_t *window, *inserted, *input_batching, *indices_batching, *scatter_to_operand;
    int64_t index_vector_dim;
} ir_scatter_dims;
ir_value *ir_scatter(ir_builder *b, ir_opcode combine, ir_value *x, ir_value *indices, ir_value *updates,
                     const ir_scatter_dims *d, bool sorted,
                     bool unique); /* combine = OP_add, OP_maximum, ..., OP_COUNT = replace */
ir_value *ir_dynamic_slice(ir_builder *b, ir_value *x, size_t n, ir_value *const *start, const int64_t *sizes);
ir_value *ir_dynamic_update_slice(ir_builder *b, ir_value *x, ir_value *update, size_t n, ir_value *const *start);
ir_value *ir_clamp(ir_builder *b, ir_value *lo, ir_value *x, ir_value *hi);
/* Sorts along dim by the first operand, ascending or descending; all operands permuted alike. out: n values. */
bool ir_sort(ir_builder *b, size_t n, ir_value *const *x, int64_t dim, bool descending, bool stable, ir_value **out);
/* out: {output, batch_mean, batch_var} and {d_operand, d_scale, d_offset}. epsilon is f32, var is biased
 * (StableHLO). */
bool ir_batch_norm_training(ir_builder *b, ir_value *x, ir_value *scale, ir_value *offset, float epsilon,
                            int64_t feature, ir_value *out[3]);
bool ir_batch_norm_grad(ir_builder *b, ir_value *x, ir_value *scale, ir_value *mean, ir_value *var, ir_value *d_out,
                        float epsilon, int64_t feature, ir_value *out[3]);
ir_value *ir_batch_norm_inference(ir_builder *b, ir_value *x, ir_value *scale, ir_value *offset, ir_value *mean,
                                  ir_value *var, float epsilon, int64_t feature);
/* A collective in which the ranks of each row of `ranks` [n, size] work together (g NULL: it has no groups), with the
 * attributes `more` beside; combine: the op of its computation, OP_COUNT for those without one; types: of the n results
 * where they are not inferred. NULL when an operand is. */
typedef struct ir_rank_groups {
    size_t n, size;
    const int64_t *ranks;
    int64_t channel; /* 0 = none */
} ir_rank_groups;
ir_op *ir_collective(ir_builder *b, ir_opcode code, ir_opcode combine, const ir_rank_groups *g, size_t n,
                     ir_value *const *x, size_t n_more, const ir_attr *more, const ir_type *const *types);
/* Variadic all_reduce over `members` replicas in one group (cross-replica); out: n values. */
bool ir_all_reduce(ir_builder *b, ir_opcode combine, size_t n, ir_value *const *x, int64_t members, int64_t channel,
                   ir_value **out);
/* The parts of all `members` joined along dim, in the order of their numbers. */
ir_value *ir_all_gather(ir_builder *b, ir_value *x, int64_t dim, int64_t members, int64_t channel);
/* func.return or stablehlo.return, by where the block is */
void ir_return(ir_builder *b, size_t n, ir_value *const *v);

/* --- Whole-module services --- */
/* verify.c: every rule; the message names op, numbered constraint, shapes and source line. */
xt_status ir_verify(const ir_module *m);
/* print.c: StableHLO text. */
enum {
    IR_PRINT_GENERIC = 1, /* "stablehlo.add"(%0, %1) ... ; default is the pretty form */
    IR_PRINT_LOC_ORDINAL = 2, /* loc("n17"): for programs sent to a device; counts main's ops in order */
    /* loc("h.3.attn"("train.c":41:1)); with LOC_ORDINAL too: loc("h.3.attn/n17"("train.c":41:1)) */
    IR_PRINT_LOC_SOURCE = 4,
};
xt_status ir_print(const ir_module *m, unsigned flags, str *out);
void ir_op_print(const ir_op *op, str *out); /* one line, for messages */
/* " {dimension = 1}"; nothing when there are none; long literals are left out */
void ir_op_attrs_print(const ir_op *op, str *out);
/* parse_*.c: pretty and generic form, functions, calls, regions, loc, attribute aliases; chlo ops are decomposed by
 * pass/lower_chlo. Hostile text gives an error with line:column, never a crash or a large allocation. `name` is the
 * file in messages. */
xt_status ir_parse(const char *text, size_t n, const char *name, ir_module **out);
/* clone.c: a new module with `roots` as the results of its main; arguments are the values for which `is_leaf` says
 * true, in the order of their first use; out_leaves (arena of the new module) lists them. Only what the roots need is
 * copied. `value.mark` is used as scratch. */
xt_status ir_extract(size_t n, ir_value *const *roots, const char *name, bool (*is_leaf)(const ir_value *, void *),
                     void *user, ir_module **out, ir_value ***out_leaves, size_t *out_n_leaves);
xt_status ir_module_clone(const ir_module *m, ir_module **out);

/* Copies the ops of a function's body before `call`, the arguments replaced by its operands; out_results: what the body
 * returns, one for each operand of its return. `call` itself stays. */
xt_status ir_inline_body(ir_module *m, const ir_block *body, ir_op *call, ir_value **out_results);
/* What `root` needs of the block it lies in, copied in order to where b stands (another module, or further up: nothing
 * of it is there yet). Arguments of that block, and the results in `stops`, become what `leaf` gives (k: the argument's
 * index; behind the arguments the stop's); `made` hears of every copy, ops of regions apart. Marks are lost. */
typedef struct ir_copy_hooks {
    size_t n_stops;
    ir_value *const *stops;
    xt_status (*leaf)(void *user, size_t k, const ir_value *from, ir_value **out);
    void (*made)(void *user, const ir_op *from, ir_op *copy);
    void *user;
} ir_copy_hooks;
xt_status ir_copy_needed(const ir_builder *b, ir_value *root, const ir_copy_hooks *h, ir_value **out);
/* Copies the ops first..last of one block to where b stands, from[i] replaced by to[i]; other values from outside are
 * read as they are. The marks of from and of what is copied are lost. */
xt_status ir_copy_range(const ir_builder *b, const ir_op *first, const ir_op *last, size_t n, ir_value *const *from,
                        ir_value *const *to);

#endif
