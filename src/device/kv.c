/* The key-value callbacks that a plugin calls to meet the other processes of a client: PJRT's argument structs on one
 * side, device_kv on the other. They run on the plugin's threads. */
#include "device/kv.h"

static PJRT_Error *fail(PJRT_CallbackError *make, xt_status s) {
    const char *text = status_message(s);
    PJRT_Error *e = (*make)((PJRT_Error_Code)status_code(s), text, strlen(text));
    xt_status_free(s);
    return e;
}

static void value_free(char *value) {
    base_free(value);
}

PJRT_Error *device_kv_get(PJRT_KeyValueGetCallback_Args *a) {
    const device_kv *kv = a->user_arg;
    xt_status s = kv->get(kv->user, a->key, a->key_size, a->timeout_in_ms, &a->value, &a->value_size);
    if (s) return fail(a->callback_error, s);
    a->value_deleter_callback = value_free;
    return NULL;
}

PJRT_Error *device_kv_try_get(PJRT_KeyValueTryGetCallback_Args *a) {
    const device_kv *kv = a->user_arg;
    xt_status s = kv->get(kv->user, a->key, a->key_size, 0, &a->value, &a->value_size);
    if (s && status_code(s) == XT_DEADLINE_EXCEEDED) {
        xt_status_free(s);
        s = status_new(XT_NOT_FOUND, NULL, "the key %.*s is not there yet", (int)a->key_size, a->key);
    }
    if (s) return fail(a->callback_error, s);
    a->value_deleter_callback = value_free;
    return NULL;
}

PJRT_Error *device_kv_put(PJRT_KeyValuePutCallback_Args *a) {
    const device_kv *kv = a->user_arg;
    xt_status s = kv->put(kv->user, a->key, a->key_size, a->value, a->value_size);
    return s ? fail(a->callback_error, s) : NULL;
}
