/* Scalars that are data: values that change from step to step travel in packs of 64 words, one upload a pack, and
 * none when a pack holds what it held last time. Doubles have packs of their own, of 32: a number beside an f64 tensor
 * is the caller's to the last bit, and devices that know no f64 meet none. The program sees a slice of the pack, so a
 * new value never makes a new program. */
#include "lazy/core/replay_log.h"

#include <time.h>

#include <xtrain/step.h>

static lazy_pack *pack_with_room(lazy_ctx *c, xt_dtype dtype, int words) {
    for (size_t i = 0; i < c->n_packs; i++)
        if (c->packs[i].dtype == dtype && c->packs[i].n + words <= LAZY_PACK) return &c->packs[i];
    lazy_pack fresh = {.dtype = dtype};
    if (!VEC_PUSH(c->packs, c->n_packs, c->cap_packs, fresh)) return NULL;
    return &c->packs[c->n_packs - 1];
}

ir_value *lazy_pack_arrives(lazy_ctx *c, lazy_pack *p) {
    if (p->leaf) return p->leaf;
    int64_t n = lazy_pack_elements(p->dtype, LAZY_PACK);
    const ir_type *type = ir_tensor(p->dtype, 1, &n);
    lazy_leaf leaf = {.pack = (int)(p - c->packs)};
    p->leaf = type ? ir_func_arg(c->func, type) : NULL;
    if (p->leaf && !VEC_PUSH(c->leaves, c->n_leaves, c->cap_leaves, leaf)) p->leaf = NULL;
    return p->leaf;
}

ir_value *lazy_pack_take(lazy_ctx *c, ir_builder *b, xt_dtype dtype, int words, lazy_pack **out_pack, int *out_at) {
    lazy_pack *p = pack_with_room(c, dtype, words);
    ir_value *leaf = p ? lazy_pack_arrives(c, p) : NULL;
    if (!leaf) {
        lazy_fail(status_oom(sizeof(lazy_pack), "a step's scalars"));
        return NULL;
    }
    int64_t start = lazy_pack_elements(dtype, p->n), limit = lazy_pack_elements(dtype, p->n + words);
    *out_pack = p;
    *out_at = p->n;
    p->n += words;
    return ir_slice(b, leaf, &start, &limit, NULL);
}

/* Integers travel as two words: exact to 64 bits, and no plugin needs to convert floats. */
void lazy_pack_scalar(lazy_pack *p, int at, double v) {
    if (p->dtype == XT_F32) {
        p->now.f[at] = (float)v;
        return;
    }
    if (p->dtype == XT_F64) {
        p->now.d[lazy_pack_elements(XT_F64, at)] = v;
        return;
    }
    int64_t i = v >= 9.2e18 ? INT64_MAX : v <= -9.2e18 ? INT64_MIN : (int64_t)v;
    p->now.u[at] = (uint32_t)(uint64_t)i;
    p->now.u[at + 1] = (uint32_t)((uint64_t)i >> 32);
}

/* What lies in a pack, as a number of that dtype. */
static ir_value *unpacked(ir_builder *b, ir_value *x, xt_dtype packed, xt_dtype dtype) {
    if (packed != XT_U32) return ir_convert(b, ir_reshape(b, x, 0, NULL), dtype);
    int64_t zero = 0, one = 1, two = 2;
    ir_value *lo = ir_convert(b, ir_reshape(b, ir_slice(b, x, &zero, &one, NULL), 0, NULL), XT_U64);
    ir_value *hi = ir_convert(b, ir_reshape(b, ir_slice(b, x, &one, &two, NULL), 0, NULL), XT_U64);
    ir_value *word = ir_or(b, lo, ir_shift_left(b, hi, ir_splat(b, ir_scalar(XT_U64), 32)));
    return ir_convert(b, word, dtype);
}

/* `value` NULL: v, which only the caller knows how to make again. */
static xt_tensor scalar(const xt_src *src, xt_dtype dtype, double v, double (*value)(void *), void *user) {
    lazy_ctx *c = lazy_ctx_get();
    ir_builder *b = lazy_begin(src);
    if (!c) return (xt_tensor){0};
    lazy_pack *p;
    int at;
    bool is_float = ir_dtype_is_float(dtype) || ir_dtype_is_complex(dtype);
    xt_dtype packed = !is_float ? XT_U32 : dtype == XT_F64 || dtype == XT_C128 ? XT_F64 : XT_F32;
    ir_op *before = b->block ? b->block->last : NULL;
    ir_value *x = lazy_pack_take(c, b, packed, packed == XT_F32 ? 1 : 2, &p, &at);
    if (!x) return lazy_wrap(NULL, "xt_scalar");
    lazy_pack_scalar(p, at, v);
    if (c->replay_log && value)
        lazy_replay_log_add(
            c, (lazy_replay_item){
                   .kind = LAZY_REPLAY_SCALAR, .pack = (int)(p - c->packs), .at = at, .value = value, .user = user});
    else if (c->replay_log)
        lazy_replay_log_volatile(c, b->src, "a number of the host's enters the step");
    x = unpacked(b, x, packed, dtype);
    for (ir_op *op = before ? before->next : b->block->first; op; op = op->next)
        if (op->n_out) op->out[0].user |= LAZY_V_NUMBER;
    return lazy_wrap(x, "xt_scalar");
}

xt_tensor lazy_scalar(const xt_src *src, xt_dtype dtype, double v) {
    return scalar(src, dtype, v, NULL, NULL);
}

xt_tensor lazy_scalar_from(const xt_src *src, xt_dtype dtype, double (*value)(void *user), void *user) {
    return scalar(src, dtype, value(user), value, user);
}

/* For the reports of the programs that they make, which may come later: the numbers of a validation change in its last
 * batch, and the others' program is made in the next one. The newest, round about. */
static __thread struct {
    src_id src;
    int64_t step;
    double was, now;
} changes[64];
static __thread size_t n_changes;

void lazy_number_became_data(src_id at, double was, double now) {
    size_t i = n_changes++ % BASE_COUNT(changes);
    changes[i].src = at;
    changes[i].step = lazy_step();
    changes[i].was = was;
    changes[i].now = now;
}

bool lazy_number_changed(src_id at, int64_t *out_step, double *out_was, double *out_now) {
    for (size_t k = n_changes; at && k > 0 && n_changes - k < BASE_COUNT(changes); k--) {
        size_t i = (k - 1) % BASE_COUNT(changes);
        if (changes[i].src != at) continue;
        *out_step = changes[i].step;
        if (out_was) *out_was = changes[i].was;
        if (out_now) *out_now = changes[i].now;
        return true;
    }
    return false;
}

bool lazy_number_changed_since(int64_t step, src_id *out_at, double *out_was, double *out_now) {
    size_t first = n_changes > BASE_COUNT(changes) ? n_changes - BASE_COUNT(changes) : 0;
    for (size_t k = first; k < n_changes; k++) {
        size_t i = k % BASE_COUNT(changes);
        if (changes[i].step <= step) continue;
        *out_at = changes[i].src;
        *out_was = changes[i].was;
        *out_now = changes[i].now;
        return true;
    }
    return false;
}

static double number_at(void *user) {
    return *(const double *)user;
}

xt_tensor xt_scalar_ref_at(const xt_src *src, const double *value, xt_dtype dtype) {
    if (!value) return lazy_error(src, XT_INVALID_ARGUMENT, "xt_scalar_ref: the address of the number is NULL");
    if (!xt_dtype_size(dtype) || dtype == XT_TOKEN)
        return lazy_error(src, XT_INVALID_ARGUMENT, "xt_scalar_ref: %s is no dtype of a number", xt_dtype_name(dtype));
    return lazy_scalar_from(src, dtype, number_at, (void *)(uintptr_t)value);
}

xt_tensor xt_scalar_at(const xt_src *src, double value, xt_dtype dtype) {
    return lazy_scalar(src, dtype, value);
}

/* The first n words of a pack, unless the device has them already. */
xt_status lazy_upload_pack(lazy_ctx *c, lazy_pack *p) {
    memset((char *)&p->now + (size_t)p->n * 4, 0, (size_t)(LAZY_PACK - p->n) * 4);
    if (p->buf && memcmp(&p->now, &p->sent, sizeof p->now) == 0) return NULL;
    device_client *client;
    XT_TRY(lazy_device(&client));
    int64_t n = lazy_pack_elements(p->dtype, LAZY_PACK);
    device_buffer *dev;
    XT_TRY(device_upload(client, p->dtype, 1, &n, &p->now, &dev));
    lazy_buf_release(p->buf);
    p->buf = lazy_buf_new(dev, 0, intern("scalars of the step"), LAZY_VALUE, ir_tensor(p->dtype, 1, &n), c->step);
    if (!p->buf) return status_oom(sizeof(lazy_buf), "a step's scalars");
    p->sent = p->now;
    return NULL;
}

xt_status lazy_upload_packs(lazy_ctx *c) {
    for (size_t i = 0; i < c->n_packs; i++)
        if (c->packs[i].leaf) XT_TRY(lazy_upload_pack(c, &c->packs[i]));
    return NULL;
}
