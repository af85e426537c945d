/* Quantized tensors in the interpreter: the specification's dequantize and quantize, each of their steps rounded to the
 * expressed type, around what an op does with floats. */
#include "ir/interp_int.h"
#include "ir/quant.h"

#include <math.h>

/* A double as a number of type t; twice as many digits make one rounding of a step enough. */
static double rounded(xt_dtype t, double v) {
    uint64_t cell;
    if (t == XT_F64) return v;
    if (t == XT_F32) return (float)v;
    convert_elems(1, XT_F64, &v, t, &cell);
    convert_elems(1, t, &cell, XT_F64, &v);
    return v;
}

/* Elements that share a scale lie `inner` side by side. */
static int64_t inner_of(const ir_quant *q, const ir_type *t) {
    int64_t n = 1;
    for (uint32_t i = t->rank; q->axis >= 0 && i > (uint32_t)q->axis + 1; i--) n *= t->dims[i - 1];
    return q->axis < 0 || !n ? INT64_MAX : n;
}

/* Runs of elements that share a scale, INTERP_CHUNK at most, widened to doubles on the way in and narrowed on the way
 * out. */
typedef struct runs {
    const ir_quant *q;
    int64_t inner, at, n;
} runs;
static bool next_run(runs *r, size_t *scale, int64_t *n) {
    if (r->at >= r->n) return false;
    int64_t k = r->at / r->inner, left = r->inner - r->at % r->inner;
    *scale = (size_t)(k % (int64_t)r->q->n);
    *n = left < r->n - r->at ? left : r->n - r->at;
    if (*n > INTERP_CHUNK) *n = INTERP_CHUNK;
    return true;
}

static void dequantize(const ir_quant *q, const array *x, array *out) {
    double v[INTERP_CHUNK];
    size_t size = xt_dtype_size(q->storage), wide = xt_dtype_size(q->expressed), k;
    runs r = {.q = q, .inner = inner_of(q, x->type), .n = x->type->count};
    for (int64_t n; next_run(&r, &k, &n); r.at += n) {
        double scale = rounded(q->expressed, q->scales[k]), zero = (double)q->zeros[k];
        convert_elems(n, q->storage, (const char *)x->data + (size_t)r.at * size, XT_F64, v);
        for (int64_t i = 0; i < n; i++) v[i] = rounded(q->expressed, rounded(q->expressed, v[i] - zero) * scale);
        convert_elems(n, XT_F64, v, q->expressed, (char *)out->data + (size_t)r.at * wide);
    }
}

static void quantize(const ir_quant *q, const array *x, array *out) {
    double v[INTERP_CHUNK], least = rounded(q->expressed, (double)q->min), most = rounded(q->expressed, (double)q->max);
    size_t size = xt_dtype_size(q->storage), wide = xt_dtype_size(q->expressed), k;
    runs r = {.q = q, .inner = inner_of(q, x->type), .n = x->type->count};
    for (int64_t n; next_run(&r, &k, &n); r.at += n) {
        double scale = rounded(q->expressed, q->scales[k]), zero = rounded(q->expressed, (double)q->zeros[k]);
        convert_elems(n, q->expressed, (const char *)x->data + (size_t)r.at * wide, XT_F64, v);
        for (int64_t i = 0; i < n; i++) {
            double y = rounded(q->expressed, rounded(q->expressed, v[i] / scale) + zero);
            v[i] = nearbyint(y < least ? least : y > most ? most : y);
        }
        convert_elems(n, XT_F64, v, q->storage, (char *)out->data + (size_t)r.at * size);
    }
}

xt_status interp_uniform_dequantize(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    dequantize(op->in[0]->type->quant, in, out);
    return NULL;
}

xt_status interp_uniform_quantize(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const ir_quant *from = in->type->quant;
    array floats = *in;
    (void)op;
    if (from) {
        const ir_type *t = ir_expressed(in->type);
        if (!t) return status_oom(sizeof *t, "a type");
        XT_TRY(array_new_raw(t, &floats));
        dequantize(from, in, &floats);
    }
    quantize(out->type->quant, &floats, out);
    if (from) array_free(&floats);
    return NULL;
}

xt_status interp_quantized(interp *c, const ir_op *op, const array *in, array *out) {
    quant_shadow s;
    array xs[QUANT_VALUES] = {{0}}, ys[QUANT_VALUES] = {{0}};
    XT_TRY(quant_shadow_of(op, &s));
    xt_status st = NULL;
    for (uint32_t i = 0; i < op->n_in && !st; i++) {
        if (!in[i].type->quant) continue;
        st = array_new_raw(s.in[i].type, &xs[i]);
        if (!st) dequantize(in[i].type->quant, &in[i], &xs[i]);
    }
    for (uint32_t i = 0; i < op->n_out && !st; i++)
        if (out[i].type->quant) st = array_new_raw(s.out[i].type, &ys[i]);
    array all_in[QUANT_VALUES], all_out[QUANT_VALUES];
    for (uint32_t i = 0; i < op->n_in; i++) all_in[i] = xs[i].data ? xs[i] : in[i];
    for (uint32_t i = 0; i < op->n_out; i++) all_out[i] = ys[i].data ? ys[i] : out[i];
    if (!st) st = interp_dispatch(c, &s.op, all_in, all_out);
    for (uint32_t i = 0; i < op->n_out && !st; i++)
        if (ys[i].data) quantize(out[i].type->quant, &ys[i], &out[i]);
    for (uint32_t i = 0; i < QUANT_VALUES; i++) array_free(&xs[i]), array_free(&ys[i]);
    return st;
}
