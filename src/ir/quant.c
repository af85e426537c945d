/* What the elements of quantized tensors stand for, interned for the whole process as types are. */
#include "ir/text.h"
#include "ir/types.h"

#include <math.h>
#include <pthread.h>

typedef struct node {
    ir_quant q;
    struct node *next;
} node;
enum { BUCKETS = 1024 };
static node *buckets[BUCKETS];
static uint32_t made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static uint64_t hash_of(const ir_quant *q) {
    uint64_t h = mix((uint64_t)q->storage << 8 | (uint64_t)q->expressed, (uint64_t)q->axis), bits;
    h = mix(mix(h, (uint64_t)q->min), (uint64_t)q->max);
    for (size_t i = 0; i < q->n; i++) {
        memcpy(&bits, &q->scales[i], sizeof bits);
        h = mix(mix(h, bits), (uint64_t)q->zeros[i]);
    }
    return h ^ (h >> 32);
}

bool ir_quant_same_base(const ir_quant *a, const ir_quant *b) {
    if (a == b) return true;
    return a && b && a->storage == b->storage && a->expressed == b->expressed && a->min == b->min && a->max == b->max &&
           a->axis == b->axis;
}

static bool same(const ir_quant *a, const ir_quant *b) {
    return ir_quant_same_base(a, b) && a->n == b->n && !memcmp(a->scales, b->scales, a->n * sizeof *a->scales) &&
           !memcmp(a->zeros, b->zeros, a->n * sizeof *a->zeros);
}

static node *make(const ir_quant *like) {
    node *n = base_calloc(1, sizeof *n + like->n * (sizeof *like->scales + sizeof *like->zeros));
    if (!n) return NULL;
    double *scales = (double *)(n + 1);
    int64_t *zeros = (int64_t *)(scales + like->n);
    memcpy(scales, like->scales, like->n * sizeof *scales);
    memcpy(zeros, like->zeros, like->n * sizeof *zeros);
    n->q = *like;
    n->q.scales = scales;
    n->q.zeros = zeros;
    n->q.id = ++made;
    return n;
}

static const ir_quant *find_or_make(const ir_quant *like) {
    node **bucket = &buckets[hash_of(like) % BUCKETS], *n;
    pthread_mutex_lock(&lock);
    for (n = *bucket; n && !same(&n->q, like);) n = n->next;
    if (!n && (n = make(like)) != NULL) {
        n->next = *bucket;
        *bucket = n;
    }
    pthread_mutex_unlock(&lock);
    return n ? &n->q : NULL;
}

/* --- Constraints: quantized_element_c1 is C1 of the specification's chapter on types --- */
static xt_status bad(int c, const char *fmt, ...) BASE_PRINTF(2, 3);
static xt_status bad(int c, const char *fmt, ...) {
    str s = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_append(&s, "quantized type: ");
    str_vprintf(&s, fmt, ap);
    va_end(ap);
    xt_status status = status_new(XT_INVALID_ARGUMENT, NULL, "%s (quantized_element_c%d)", str_cstr(&s), c);
    str_free(&s);
    return status;
}

/* The least and the largest normal number of a float: a scale beyond them is none of its values, or one that loses
 * digits. */
static bool scale_range(xt_dtype t, double *least, double *most) {
    switch (t) {
    case XT_F16: *least = 0x1p-14, *most = 65504; return true;
    case XT_BF16: *least = 0x1p-126, *most = 0x1.fep127; return true;
    case XT_F32: *least = 0x1p-126, *most = 0x1.fffffep127; return true;
    case XT_F64: *least = 0x1p-1022, *most = 0x1.fffffffffffffp1023; return true;
    default: return false;
    }
}

static xt_status check_scale(const ir_quant *q, size_t i, double least, double most) {
    double s = q->scales[i];
    if (!isfinite(s)) return bad(6, "scale %zu is not finite", i);
    if (!(s > 0)) return bad(5, "scale %zu is %g, expected more than 0", i, s);
    if (s < least || s > most)
        return bad(4, "scale %zu is %g, beyond the normal numbers of %s (%g to %g)", i, s, ir_dtype_mlir(q->expressed),
                   least, most);
    if (q->zeros[i] < q->min || q->zeros[i] > q->max)
        return bad(7, "zero point %zu is %lld, expected %lld to %lld", i, (long long)q->zeros[i], (long long)q->min,
                   (long long)q->max);
    return NULL;
}

xt_status ir_quant_of(const ir_quant *like, const ir_quant **out) {
    double least, most;
    int bits = ir_dtype_bits(like->storage);
    if (!ir_dtype_is_int(like->storage) || bits > 32)
        return bad(1, "the storage type is %s, expected an integer of at most 32 bits", ir_dtype_mlir(like->storage));
    if (!scale_range(like->expressed, &least, &most))
        return bad(4, "the expressed type is %s, expected f16, bf16, f32 or f64", ir_dtype_mlir(like->expressed));
    bool is_signed = ir_dtype_is_signed(like->storage);
    int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0, high = ((int64_t)1 << (bits - is_signed)) - 1;
    if (like->min < low || like->max > high || like->min >= like->max)
        return bad(3, "the storage range is %lld to %lld, expected one within %lld to %lld", (long long)like->min,
                   (long long)like->max, (long long)low, (long long)high);
    if (like->axis < 0 && like->n != 1)
        return bad(10, "%zu scales are given without the dimension that they belong to", like->n);
    for (size_t i = 0; i < like->n; i++) XT_TRY(check_scale(like, i, least, most));
    *out = find_or_make(like);
    return *out ? NULL : status_oom(sizeof **out, "a quantized type");
}

bool ir_quant_fits(const ir_quant *q, size_t rank, const int64_t *dims) {
    if (q->axis < 0) return true;
    return (size_t)q->axis < rank && (dims[q->axis] == IR_DYNAMIC || dims[q->axis] == (int64_t)q->n);
}

static void print_pair(const ir_quant *q, size_t i, str *out) {
    number_print_double(q->scales[i], out);
    if (q->zeros[i]) str_printf(out, ":%lld", (long long)q->zeros[i]);
}

void ir_quant_print(const ir_quant *q, str *out) {
    int bits = ir_dtype_bits(q->storage);
    bool is_signed = ir_dtype_is_signed(q->storage);
    str_printf(out, "!quant.uniform<%c%d", is_signed ? 'i' : 'u', bits);
    if (q->min != (is_signed ? -((int64_t)1 << (bits - 1)) : 0) || q->max != ((int64_t)1 << (bits - is_signed)) - 1)
        str_printf(out, "<%lld:%lld>", (long long)q->min, (long long)q->max);
    str_printf(out, ":%s", ir_dtype_mlir(q->expressed));
    if (q->axis >= 0) str_printf(out, ":%lld", (long long)q->axis);
    str_append(out, q->axis >= 0 ? ", {" : ", ");
    for (size_t i = 0; i < q->n; i++) {
        if (i) str_putc(out, ',');
        print_pair(q, i, out);
    }
    str_append(out, q->axis >= 0 ? "}>" : ">");
}

/* --- Types without them --- */
const ir_type *ir_element(const ir_type *t) {
    return ir_with_quant(ir_scalar(t->dtype), t->quant);
}

static const ir_type *plain(const ir_type *t, bool expressed) {
    if (t->kind == IR_TENSOR)
        return t->quant ? ir_tensor(expressed ? t->quant->expressed : t->dtype, t->rank, t->dims) : t;
    if (t->kind == IR_TOKEN || !t->rank) return t;
    const ir_type *few[8], **elems = t->rank <= BASE_COUNT(few) ? few : base_calloc(t->rank, sizeof *elems), *r = NULL;
    bool ok = elems != NULL, changed = false;
    for (uint32_t i = 0; ok && i < t->rank; i++) {
        elems[i] = plain(t->elems[i], expressed);
        changed |= elems[i] != t->elems[i];
        ok = elems[i] != NULL;
    }
    if (ok) r = !changed ? t : t->kind == IR_TUPLE ? ir_tuple(t->rank, elems) : ir_future(t->rank, elems);
    if (elems != few) base_free(elems);
    return r;
}

const ir_type *ir_storage(const ir_type *t) {
    return plain(t, false);
}
const ir_type *ir_expressed(const ir_type *t) {
    return plain(t, true);
}
