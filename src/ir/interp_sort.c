/* sort and chlo.top_k.
 *
 * A slice at a time: a stable merge of element numbers, then every operand is written back in that order. Most
 * comparators compare a function of the left elements with the same function of the right ones (jax's float order:
 * canonical zeros and NaNs, then TOTALORDER). There the function runs once over the whole slice and its values become
 * signed 64-bit keys; otherwise the comparator runs per pair. */
#include "ir/interp_float.h"
#include "ir/interp_int.h"

typedef struct keyed {
    int64_t key, at;
} keyed;

/* --- Comparators by keys --- */
enum { SIDE_LEFT = 1, SIDE_RIGHT = 2, SIDE_OTHER = 4 };

/* Which arguments a value of the comparator depends on. Captured values belong to no side. */
static int sides_of(const ir_block *b, const ir_value *v, int depth) {
    if (!v->def) {
        for (size_t j = 0; j < b->n_args; j++)
            if (b->args[j] == v) return j % 2 ? SIDE_RIGHT : SIDE_LEFT;
        return 0;
    }
    if (v->def->block != b) return 0;
    if (depth > 64 || v->def->n_regions) return SIDE_OTHER; /* deep or odd: the general way is right too */
    int sides = 0;
    for (uint32_t j = 0; j < v->def->n_in; j++) sides |= sides_of(b, v->def->in[j], depth + 1);
    return sides;
}

typedef struct comparator {
    region_eval *pair; /* the comparator itself, per pair */
    region_eval *keys; /* left and right key of an element, or NULL */
    xt_dtype key_dtype;
    bool total, descending;
} comparator;

static xt_status comparator_init(interp *c, const ir_block *b, comparator *out) {
    *out = (comparator){0};
    const ir_op *ret = ir_block_return(b), *cmp = ret && ret->n_in == 1 ? ret->in[0]->def : NULL;
    if (cmp && cmp->block == b && cmp->code == OP_compare && !ir_dtype_is_complex(cmp->in[0]->type->dtype)) {
        int64_t dir = ir_get_int(cmp, IR_A_comparison_direction, IR_EQ);
        int l = sides_of(b, cmp->in[0], 0), r = sides_of(b, cmp->in[1], 0);
        bool straight = l == SIDE_LEFT && r == SIDE_RIGHT, crossed = l == SIDE_RIGHT && r == SIDE_LEFT;
        if ((straight || crossed) && dir != IR_EQ && dir != IR_NE) {
            ir_value *results[2] = {cmp->in[straight ? 0 : 1], cmp->in[straight ? 1 : 0]};
            out->key_dtype = cmp->in[0]->type->dtype;
            out->total = ir_get_int(cmp, IR_A_compare_type, IR_CMP_NOTYPE) == IR_CMP_TOTALORDER;
            out->descending = (dir == IR_GT || dir == IR_GE) == straight;
            XT_TRY(region_eval_new(c, b, 2, results, &out->keys));
        }
    }
    return region_eval_new(c, b, 0, NULL, &out->pair);
}

/* Keys of n <= INTERP_CHUNK values, in order; false when a NaN makes the order a matter of the comparator. */
static bool keys_of(const comparator *cmp, int64_t n, const void *values, int64_t *out) {
    xt_dtype t = dtype_compute(cmp->key_dtype);
    if (t == XT_U64) {
        for (int64_t i = 0; i < n; i++) out[i] = (int64_t)(((const uint64_t *)values)[i] ^ 1ull << 63);
    } else if (!ir_dtype_is_float(t)) {
        convert_elems(n, cmp->key_dtype, values, XT_I64, out);
    } else {
        double wide[INTERP_CHUNK];
        convert_elems(n, cmp->key_dtype, values, XT_F64, wide);
        for (int64_t i = 0; i < n; i++) {
            if (wide[i] != wide[i] && !cmp->total) return false;
            out[i] = total_f64(cmp->total ? wide[i] : wide[i] + 0.0); /* -0 + 0 is +0: equal without TOTALORDER */
        }
    }
    for (int64_t i = 0; i < n && cmp->descending; i++) out[i] = ~out[i];
    return true;
}

/* Keys of a whole slice, or false when they cannot stand for the comparator. rows[j]: operand j's slice. */
static bool slice_keys(const comparator *cmp, int64_t n, size_t n_rows, char *const *rows, const size_t *sizes,
                       const void **args, keyed *out) {
    uint64_t left[2 * INTERP_CHUNK], right[2 * INTERP_CHUNK];
    int64_t keys[INTERP_CHUNK];
    size_t size = xt_dtype_size(cmp->key_dtype);
    for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
        int64_t m = n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK;
        for (size_t j = 0; j < n_rows; j++) args[2 * j] = args[2 * j + 1] = rows[j] + (size_t)at * sizes[j];
        xt_status s = region_eval_run(cmp->keys, m, args, (void *const[]){left, right});
        if (s) { /* cannot happen to a lifted region; the general way reports it if it does */
            xt_status_free(s);
            return false;
        }
        if (memcmp(left, right, (size_t)m * size) != 0 || !keys_of(cmp, m, left, keys)) return false;
        for (int64_t i = 0; i < m; i++) out[at + i] = (keyed){keys[i], at + i};
    }
    return true;
}

/* --- Merging --- */
/* Stable, bottom-up, after insertion runs of 8; the result is in `a`. */
static void sort_keys(keyed *a, keyed *tmp, int64_t n) {
    enum { RUN = 8 };
    for (int64_t lo = 0; lo < n; lo += RUN)
        for (int64_t i = lo + 1; i < n && i < lo + RUN; i++) {
            keyed v = a[i];
            int64_t j = i;
            for (; j > lo && v.key < a[j - 1].key; j--) a[j] = a[j - 1];
            a[j] = v;
        }
    keyed *from = a, *to = tmp;
    for (int64_t width = RUN; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n, i = lo,
                    j = mid;
            for (int64_t k = lo; k < hi; k++)
                to[k] = i < mid && (j >= hi || from[j].key >= from[i].key) ? from[i++] : from[j++];
        }
        keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

/* The same by the comparator: the right one goes first only if comparator(right, left). */
static xt_status sort_pairs(const comparator *cmp, int64_t n, size_t n_rows, char *const *rows, const size_t *sizes,
                            const void **args, keyed *a, keyed *tmp) {
    keyed *from = a, *to = tmp;
    for (int64_t i = 0; i < n; i++) a[i].at = i;
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n, hi = lo + 2 * width < n ? lo + 2 * width : n, i = lo,
                    j = mid;
            for (int64_t k = lo; k < hi; k++) {
                uint8_t right_first = i >= mid;
                if (i < mid && j < hi) {
                    for (size_t r = 0; r < n_rows; r++) {
                        args[2 * r] = rows[r] + (size_t)from[j].at * sizes[r];
                        args[2 * r + 1] = rows[r] + (size_t)from[i].at * sizes[r];
                    }
                    XT_TRY(region_eval_run(cmp->pair, 1, args, (void *const[]){&right_first}));
                }
                to[k] = right_first ? from[j++] : from[i++];
            }
        }
        keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
    return NULL;
}

xt_status interp_sort(interp *c, const ir_op *op, const array *in, array *out) {
    const ir_type *t = in->type;
    size_t n_rows = op->n_in;
    int64_t dim = ir_get_int(op, IR_A_dimension, -1);
    if (dim < 0) dim += t->rank;
    if (t->count == 0 || t->rank == 0) {
        for (size_t j = 0; j < n_rows && t->count; j++) memcpy(out[j].data, in[j].data, ir_type_bytes(in[j].type));
        return NULL;
    }
    int64_t n = t->dims[dim], inner = 1, outer = 1, one = 1;
    for (uint32_t d = (uint32_t)dim + 1; d < t->rank; d++) inner *= t->dims[d];
    for (int64_t d = 0; d < dim; d++) outer *= t->dims[d];
    comparator cmp;
    keyed *order = NULL;
    char *row_memory = NULL, **rows = base_calloc(n_rows, sizeof *rows);
    size_t *sizes = base_calloc(n_rows, sizeof *sizes), row_bytes = 0;
    const void **args = base_calloc(2 * n_rows, sizeof *args);
    xt_status s = comparator_init(c, op->regions[0].block, &cmp);
    if (!s && (!rows || !sizes || !args)) s = status_oom(n_rows * sizeof *rows, "a sort");
    for (size_t j = 0; j < n_rows && !s; j++) row_bytes += sizes[j] = xt_dtype_size(in[j].type->dtype);
    if (!s) s = interp_temp((size_t)n + 8, row_bytes, &row_memory); /* 8 more: rows start aligned */
    if (!s) s = interp_temp((size_t)n, 2 * sizeof *order, &order);
    char *free_row = row_memory;
    for (size_t j = 0; j < n_rows && !s; j++) {
        rows[j] = free_row;
        free_row += ((size_t)n * sizes[j] + 7) & ~(size_t)7;
    }
    for (int64_t slice = 0; slice < outer * inner && !s; slice++) {
        int64_t base = slice / inner * n * inner + slice % inner;
        for (size_t j = 0; j < n_rows; j++)
            copy_strided(1, &n, rows[j], &one, (const char *)in[j].data + (size_t)base * sizes[j], &inner, sizes[j]);
        if (cmp.keys && slice_keys(&cmp, n, n_rows, rows, sizes, args, order))
            sort_keys(order, order + n, n);
        else
            s = sort_pairs(&cmp, n, n_rows, rows, sizes, args, order, order + n);
        for (size_t j = 0; j < n_rows && !s; j++) {
            char *dst = (char *)out[j].data + (size_t)base * sizes[j];
            for (int64_t i = 0; i < n; i++)
                memcpy(dst + (size_t)(i * inner) * sizes[j], rows[j] + (size_t)order[i].at * sizes[j], sizes[j]);
        }
    }
    region_eval_free(cmp.pair);
    region_eval_free(cmp.keys);
    base_free(order);
    base_free(row_memory);
    base_free(rows);
    base_free(sizes);
    base_free(args);
    return s;
}

/* The k largest of the last dim, in descending total order (NaN first), equal ones by position. */
xt_status interp_top_k(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_type *t = in->type;
    int64_t n = t->rank ? t->dims[t->rank - 1] : 1, k = ir_get_int(op, IR_A_k, 1);
    size_t size = xt_dtype_size(t->dtype);
    if (out[0].type->count == 0) return NULL;
    comparator by = {.key_dtype = t->dtype, .total = true, .descending = true};
    keyed *order;
    int64_t keys[INTERP_CHUNK];
    XT_TRY(interp_temp((size_t)n, 2 * sizeof *order, &order));
    for (int64_t row = 0; row < t->count / n; row++) {
        const char *x = (const char *)in->data + (size_t)(row * n) * size;
        for (int64_t at = 0; at < n; at += INTERP_CHUNK) {
            int64_t m = n - at < INTERP_CHUNK ? n - at : INTERP_CHUNK;
            keys_of(&by, m, x + (size_t)at * size, keys);
            for (int64_t i = 0; i < m; i++) order[at + i] = (keyed){keys[i], at + i};
        }
        sort_keys(order, order + n, n);
        for (int64_t i = 0; i < k; i++) {
            memcpy((char *)out[0].data + (size_t)(row * k + i) * size, x + (size_t)order[i].at * size, size);
            array_set(&out[1], row * k + i, (double)order[i].at);
        }
    }
    base_free(order);
    return NULL;
}
