/* Host arrays: a type and its bytes. The data of a tuple (and of what an asynchronous op promises) is an array of
 * `array`, one per element; a token has none. */
#include "ir/interp_int.h"

enum { ALIGN = 64 };

static bool is_pack(const ir_type *t) {
    return t->kind == IR_TUPLE || t->kind == IR_FUTURE;
}

static xt_status make(const ir_type *type, bool zero, array *out) {
    *out = (array){type, NULL};
    if (type->kind == IR_TOKEN) return NULL;
    size_t bytes;
    if (is_pack(type)) {
        if (!size_mul(type->rank, sizeof(array), &bytes)) return status_oom(SIZE_MAX, "a tuple");
        zero = true;
    } else {
        if (type->count < 0)
            return status_new(XT_INVALID_ARGUMENT, NULL, "an array needs a shape without dynamic dims");
        if (!size_mul((size_t)type->count, xt_dtype_size(type->dtype), &bytes)) return status_oom(SIZE_MAX, "an array");
    }
    /* Whole cache lines, at least one: the executor's pool reuses memory by its rounded size. */
    size_t lines = bytes / ALIGN + (bytes % ALIGN != 0 || bytes == 0);
    void *data = size_mul(lines, ALIGN, &bytes) ? base_aligned(ALIGN, bytes) : NULL;
    if (!data) return status_oom(bytes, "an array");
    if (zero) memset(data, 0, bytes);
    out->data = data;
    live_add(LIVE_array, 1);
    for (uint32_t i = 0; is_pack(type) && i < type->rank; i++) {
        xt_status s = make(type->elems[i], true, &((array *)data)[i]);
        if (s) {
            array_free(out);
            return s;
        }
    }
    return NULL;
}

xt_status array_new(const ir_type *type, array *out) {
    return make(type, true, out);
}
xt_status array_new_raw(const ir_type *type, array *out) {
    return make(type, false, out);
}

void array_free(array *a) {
    if (!a || !a->data) return;
    if (is_pack(a->type))
        for (uint32_t i = 0; i < a->type->rank; i++) array_free(&((array *)a->data)[i]);
    base_free(a->data);
    a->data = NULL;
    live_add(LIVE_array, -1);
}

xt_status array_copy(const array *src, array *out) {
    XT_TRY(array_new_raw(src->type, out));
    if (src->type->kind == IR_TENSOR) memcpy(out->data, src->data, ir_type_bytes(src->type));
    if (!is_pack(src->type)) return NULL;
    for (uint32_t i = 0; i < src->type->rank; i++) {
        array *elem = &((array *)out->data)[i];
        array_free(elem);
        xt_status s = array_copy(&((const array *)src->data)[i], elem);
        if (s) {
            array_free(out);
            return s;
        }
    }
    return NULL;
}

double array_get(const array *a, int64_t i) {
    double v;
    convert_elems(1, a->type->dtype, (const char *)a->data + (size_t)i * xt_dtype_size(a->type->dtype), XT_F64, &v);
    return v;
}

void array_set(array *a, int64_t i, double v) {
    convert_elems(1, XT_F64, &v, a->type->dtype, (char *)a->data + (size_t)i * xt_dtype_size(a->type->dtype));
}
