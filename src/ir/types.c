/* Types, interned for the whole process.
 *
 * A type is found by hashing its content into an open-addressed table of atomic pointers. Readers take no lock: they
 * load the current table and probe it; a miss takes the mutex, looks again and inserts. A table that is full is
 * replaced by one of twice the size; the old one stays allocated, since a reader may still be probing it (the sum of
 * all old tables is smaller than the current one). Types are never freed. */
#include "ir/ir.h"
#include "ir/types.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct table {
    size_t mask; /* slots - 1, slots a power of two */
    struct table *older;
    _Atomic(const ir_type *) slots[];
} table;

static _Atomic(table *) current;
static pthread_mutex_t grow_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t type_count; /* under grow_lock */
static _Atomic(const ir_type *) scalars[XT_DTYPE_COUNT]; /* rank 0: the shortest way for the most frequent types */
static _Atomic(const ir_type *) the_token;

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

/* What tells one type from another. */
static uint64_t hash_type(const ir_type *t) {
    uint64_t h = mix((uint64_t)t->kind << 32 | (uint64_t)t->dtype << 8 | t->rank, 0x51ED27);
    if (t->quant) h = mix(h, t->quant->id);
    for (size_t i = 0; i < t->rank; i++) h = mix(h, t->elems ? t->elems[i]->id : (uint64_t)t->dims[i]);
    return h ^ (h >> 32);
}

static bool same_type(const ir_type *t, const ir_type *u) {
    if (t->kind != u->kind || t->dtype != u->dtype || t->rank != u->rank || t->quant != u->quant) return false;
    if (!t->rank) return true;
    if (u->elems) return memcmp(t->elems, u->elems, u->rank * sizeof *u->elems) == 0;
    return memcmp(t->dims, u->dims, u->rank * sizeof *u->dims) == 0;
}

/* The slot that holds the type, or the empty one where it belongs. */
static _Atomic(const ir_type *) *probe(table *tab, uint64_t h, const ir_type *like, const ir_type **out) {
    for (size_t i = h & tab->mask;; i = (i + 1) & tab->mask) {
        const ir_type *t = atomic_load_explicit(&tab->slots[i], memory_order_acquire);
        if (!t || same_type(t, like)) {
            *out = t;
            return &tab->slots[i];
        }
    }
}

/* Under grow_lock. The table has at least one free slot afterwards; NULL without memory. */
static table *table_with_room(void) {
    table *old = atomic_load_explicit(&current, memory_order_relaxed);
    if (old && 2 * (type_count + 1) <= old->mask) return old;
    size_t n = old ? 2 * (old->mask + 1) : 256;
    table *tab = base_calloc(1, sizeof *tab + n * sizeof tab->slots[0]);
    if (!tab) return NULL;
    tab->mask = n - 1;
    tab->older = old;
    for (size_t i = 0; old && i <= old->mask; i++) {
        const ir_type *t = atomic_load_explicit(&old->slots[i], memory_order_relaxed), *none;
        if (!t) continue;
        atomic_store_explicit(probe(tab, hash_type(t), t, &none), t, memory_order_relaxed);
    }
    atomic_store_explicit(&current, tab, memory_order_release);
    return tab;
}

static ir_type *make_type(const ir_type *like) {
    size_t item = like->elems ? sizeof *like->elems : sizeof *like->dims, rank = like->rank;
    ir_type *t = base_calloc(1, sizeof *t + rank * item);
    if (!t) return NULL;
    *t = *like;
    t->parts = 1;
    for (size_t i = 0; like->elems && i < rank; i++) {
        t->parts += like->elems[i]->parts;
        if (like->elems[i]->depth >= t->depth) t->depth = like->elems[i]->depth + 1;
    }
    if (rank) memcpy(t + 1, like->elems ? (const void *)like->elems : (const void *)like->dims, rank * item);
    if (like->elems)
        t->elems = (const ir_type *const *)(t + 1);
    else
        t->dims = (const int64_t *)(t + 1);
    return t;
}

static _Thread_local bool lacked_memory;
xt_status ir_type_oom(const char *what) {
    return lacked_memory ? status_oom(sizeof(ir_type), what) : NULL;
}

static const ir_type *no_type(void) {
    lacked_memory = false;
    return NULL;
}

static const ir_type *intern_type(const ir_type *like) {
    uint64_t h = hash_type(like);
    const ir_type *found = NULL;
    table *tab = atomic_load_explicit(&current, memory_order_acquire);
    if (tab) probe(tab, h, like, &found);
    if (found) return found;

    pthread_mutex_lock(&grow_lock);
    tab = table_with_room();
    if (tab) {
        _Atomic(const ir_type *) *slot = probe(tab, h, like, &found);
        ir_type *t = found ? NULL : make_type(like);
        if (t) {
            t->id = (uint32_t)++type_count;
            atomic_store_explicit(slot, t, memory_order_release);
            found = t;
        }
    }
    pthread_mutex_unlock(&grow_lock);
    if (!found) lacked_memory = true;
    return found;
}

const ir_type *ir_tensor(xt_dtype t, size_t rank, const int64_t *dims) {
    if (t <= XT_DTYPE_NONE || t >= XT_DTYPE_COUNT || t == XT_TOKEN || rank > IR_MAX_RANK) return no_type();
    if (rank == 0) return ir_scalar(t);
    int64_t count = 1;
    bool dynamic = false;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] == IR_DYNAMIC)
            dynamic = true;
        else if (dims[i] < 0)
            return no_type();
    }
    if (dynamic)
        count = -1;
    else if (!dims_count(dims, rank, &count))
        return no_type();
    size_t bytes;
    if (!dynamic && (!size_mul((size_t)count, xt_dtype_size(t), &bytes) || bytes > PTRDIFF_MAX)) return no_type();
    return intern_type(&(ir_type){.kind = IR_TENSOR, .dtype = t, .rank = (uint32_t)rank, .dims = dims, .count = count});
}

const ir_type *ir_with_quant(const ir_type *t, const ir_quant *q) {
    if (!t || t->quant == q) return t;
    if (!q) return ir_tensor(t->dtype, t->rank, t->dims);
    if (t->kind != IR_TENSOR || t->dtype != q->storage || !ir_quant_fits(q, t->rank, t->dims)) return no_type();
    ir_type like = *t;
    like.quant = q;
    return intern_type(&like);
}

const ir_type *ir_scalar(xt_dtype t) {
    if (t <= XT_DTYPE_NONE || t >= XT_DTYPE_COUNT || t == XT_TOKEN) return no_type();
    const ir_type *s = atomic_load_explicit(&scalars[t], memory_order_acquire);
    if (s) return s;
    s = intern_type(&(ir_type){.kind = IR_TENSOR, .dtype = t, .count = 1});
    if (s) atomic_store_explicit(&scalars[t], s, memory_order_release);
    return s;
}

const ir_type *ir_token(void) {
    const ir_type *t = atomic_load_explicit(&the_token, memory_order_acquire);
    if (t) return t;
    t = intern_type(&(ir_type){.kind = IR_TOKEN, .dtype = XT_TOKEN});
    if (t) atomic_store_explicit(&the_token, t, memory_order_release);
    return t;
}

bool ir_tuple_fits(size_t n, const ir_type *const *elems) {
    size_t parts = 1;
    bool shallow = true;
    for (size_t i = 0; i < n && parts <= IR_MAX_PARTS; i++) {
        parts += elems[i]->parts;
        shallow = shallow && elems[i]->depth < IR_MAX_TUPLE_DEPTH;
    }
    return shallow && parts <= IR_MAX_PARTS;
}

static const ir_type *aggregate(ir_kind kind, size_t n, const ir_type *const *elems) {
    for (size_t i = 0; i < n; i++)
        if (!elems[i]) return NULL;
    if (!ir_tuple_fits(n, elems)) return no_type();
    return intern_type(&(ir_type){.kind = kind, .rank = (uint32_t)n, .elems = n ? elems : NULL});
}

const ir_type *ir_tuple(size_t n, const ir_type *const *elems) {
    return aggregate(IR_TUPLE, n, elems);
}
const ir_type *ir_future(size_t n, const ir_type *const *elems) {
    return aggregate(IR_FUTURE, n, elems);
}

const ir_type *ir_with_dtype(const ir_type *t, xt_dtype d) {
    if (!t || t->kind != IR_TENSOR) return NULL;
    return t->dtype == d && !t->quant ? t : ir_tensor(d, t->rank, t->dims);
}

bool ir_type_compatible(const ir_type *a, const ir_type *b) {
    if (a == b) return true;
    if (!a || !b || a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->quant != b->quant)
        return false;
    if (a->kind == IR_TOKEN) return true;
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->kind != IR_TENSOR) {
            if (!ir_type_compatible(a->elems[i], b->elems[i])) return false;
        } else if (a->dims[i] != b->dims[i] && a->dims[i] != IR_DYNAMIC && b->dims[i] != IR_DYNAMIC) {
            return false;
        }
    }
    return true;
}

size_t ir_type_bytes(const ir_type *t) {
    if (t->kind == IR_TENSOR) return t->count < 0 ? 0 : (size_t)t->count * xt_dtype_size(t->dtype);
    size_t n = 0;
    for (uint32_t i = 0; t->kind != IR_TOKEN && i < t->rank; i++) n += ir_type_bytes(t->elems[i]);
    return n;
}

/* --- Element types --- */
enum { FLOAT = 1, INT = 2, SIGNED = 4, COMPLEX = 8 };
static const struct dtype_info {
    const char *mlir;
    unsigned flags;
} dtypes[XT_DTYPE_COUNT] = {
    [XT_BOOL] = {"i1", 0},
    [XT_I2] = {"i2", INT | SIGNED},
    [XT_I4] = {"i4", INT | SIGNED},
    [XT_I8] = {"i8", INT | SIGNED},
    [XT_I16] = {"i16", INT | SIGNED},
    [XT_I32] = {"i32", INT | SIGNED},
    [XT_I64] = {"i64", INT | SIGNED},
    [XT_U2] = {"ui2", INT},
    [XT_U4] = {"ui4", INT},
    [XT_U8] = {"ui8", INT},
    [XT_U16] = {"ui16", INT},
    [XT_U32] = {"ui32", INT},
    [XT_U64] = {"ui64", INT},
    [XT_F16] = {"f16", FLOAT | SIGNED},
    [XT_BF16] = {"bf16", FLOAT | SIGNED},
    [XT_F32] = {"f32", FLOAT | SIGNED},
    [XT_F64] = {"f64", FLOAT | SIGNED},
    [XT_C64] = {"complex<f32>", COMPLEX},
    [XT_C128] = {"complex<f64>", COMPLEX},
    [XT_F8E5M2] = {"f8E5M2", FLOAT | SIGNED},
    [XT_F8E4M3FN] = {"f8E4M3FN", FLOAT | SIGNED},
    [XT_F8E4M3B11FNUZ] = {"f8E4M3B11FNUZ", FLOAT | SIGNED},
    [XT_F8E5M2FNUZ] = {"f8E5M2FNUZ", FLOAT | SIGNED},
    [XT_F8E4M3FNUZ] = {"f8E4M3FNUZ", FLOAT | SIGNED},
    [XT_F8E4M3] = {"f8E4M3", FLOAT | SIGNED},
    [XT_F8E3M4] = {"f8E3M4", FLOAT | SIGNED},
    [XT_F8E8M0FNU] = {"f8E8M0FNU", FLOAT},
    [XT_F4E2M1FN] = {"f4E2M1FN", FLOAT | SIGNED},
    [XT_F6E2M3FN] = {"f6E2M3FN", FLOAT | SIGNED},
    [XT_F6E3M2FN] = {"f6E3M2FN", FLOAT | SIGNED},
};

static unsigned dtype_flags(xt_dtype t) {
    return t > XT_DTYPE_NONE && t < XT_DTYPE_COUNT ? dtypes[t].flags : 0;
}
bool ir_dtype_is_float(xt_dtype t) {
    return dtype_flags(t) & FLOAT;
}
bool ir_dtype_is_int(xt_dtype t) {
    return dtype_flags(t) & INT;
}
bool ir_dtype_is_signed(xt_dtype t) {
    return dtype_flags(t) & SIGNED;
}
bool ir_dtype_is_complex(xt_dtype t) {
    return dtype_flags(t) & COMPLEX;
}

int ir_dtype_bits(xt_dtype t) {
    switch (t) {
    case XT_BOOL:
    case XT_I1:
    case XT_U1: return 1;
    case XT_I2:
    case XT_U2: return 2;
    case XT_I4:
    case XT_U4:
    case XT_F4E2M1FN: return 4;
    case XT_F6E2M3FN:
    case XT_F6E3M2FN: return 6;
    default: return (int)xt_dtype_size(t) * 8;
    }
}

const char *ir_dtype_mlir(xt_dtype t) {
    return t > XT_DTYPE_NONE && t < XT_DTYPE_COUNT && dtypes[t].mlir ? dtypes[t].mlir : "none";
}

bool ir_dtype_from_mlir(const char *s, size_t n, xt_dtype *out) {
    for (int t = 1; t < XT_DTYPE_COUNT; t++) {
        const char *name = dtypes[t].mlir;
        if (!name || strlen(name) != n || memcmp(name, s, n) != 0) continue;
        *out = (xt_dtype)t;
        return true;
    }
    return false;
}

static void print_list(const ir_type *t, const char *open, str *out) {
    str_append(out, open);
    for (uint32_t i = 0; i < t->rank; i++) {
        if (i) str_append(out, ", ");
        ir_type_print(t->elems[i], out);
    }
    str_putc(out, '>');
}

void ir_type_print(const ir_type *t, str *out) {
    switch (t->kind) {
    case IR_TOKEN: str_append(out, "!stablehlo.token"); return;
    case IR_TUPLE: print_list(t, "tuple<", out); return;
    case IR_FUTURE: print_list(t, "!stablehlo.future<", out); return;
    case IR_TENSOR: break;
    }
    str_append(out, "tensor<");
    for (uint32_t i = 0; i < t->rank; i++) {
        if (t->dims[i] == IR_DYNAMIC)
            str_append(out, "?x");
        else
            str_printf(out, "%lldx", (long long)t->dims[i]);
    }
    if (t->quant)
        ir_quant_print(t->quant, out);
    else
        str_append(out, ir_dtype_mlir(t->dtype));
    str_putc(out, '>');
}
