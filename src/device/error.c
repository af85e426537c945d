/* PJRT errors and events turned into statuses. Every PJRT_Error that a plugin hands out passes through device_error and
 * is destroyed there. */
#include <unistd.h>

#include "device/device_int.h"

static xt_code code_of(const PJRT_Api *api, const PJRT_Error *e) {
    PJRT_Error_GetCode_Args a = PJRT_INIT(Error_GetCode, .error = e);
    PJRT_Error *second = api->Error_GetCode(&a);
    if (second) {
        PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = second);
        api->Error_Destroy(&d);
        return XT_UNKNOWN;
    }
    return a.code > PJRT_OK && a.code <= PJRT_UNAUTHENTICATED ? (xt_code)a.code : XT_UNKNOWN;
}

/* "; " and what to try, or nothing. `text` need not end with NUL. */
static const char *advice_for(const char *text, size_t n) {
    static const char *const rows[][2] = {
#define ADVICE(words, advice) {words, "; " advice},
#include "device/errors.def"
#undef ADVICE
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (memmem(text, n, rows[i][0], strlen(rows[i][0]))) return rows[i][1];
    return "";
}

xt_status device_error(const PJRT_Api *api, PJRT_Error *e, const char *what) {
    if (!e) return NULL;
    PJRT_Error_Message_Args m = PJRT_INIT(Error_Message, .error = e);
    api->Error_Message(&m);
    const char *text = m.message ? m.message : "";
    size_t n = m.message ? m.message_size : 0;
    xt_status s = status_new(code_of(api, e), NULL, "%s: %.*s%s", what, n > 1 << 20 ? 1 << 20 : (int)n, text,
                             advice_for(text, n));
    PJRT_Error_Destroy_Args d = PJRT_INIT(Error_Destroy, .error = e);
    api->Error_Destroy(&d);
    return s;
}

xt_status device_missing(const PJRT_Api *api, const char *function) {
    return status_new(XT_UNIMPLEMENTED, NULL,
                      "the plugin (PJRT API %d.%d) does not have PJRT_%s; a newer version of it may",
                      api->pjrt_api_version.major_version, api->pjrt_api_version.minor_version, function);
}

void device_event_destroy(const PJRT_Api *api, PJRT_Event *e) {
    if (!e) return;
    PJRT_Event_Destroy_Args d = PJRT_INIT(Event_Destroy, .event = e);
    xt_status_free(device_error(api, api->Event_Destroy(&d), "destroying an event"));
}

/* A wait that failed may have been refused, while the event is yet to come, and with it what it writes to the caller's
 * memory. One that has come with an error is ready. */
static void let_come(const PJRT_Api *api, PJRT_Event *e) {
    enum { MOST_MS = 2000 };
    for (int ms = 0; ms < MOST_MS; ms++) {
        PJRT_Event_IsReady_Args a = PJRT_INIT(Event_IsReady, .event = e);
        xt_status s = DEVICE_CALL(api, Event_IsReady, &a, "waiting");
        bool over = s || a.is_ready;
        xt_status_free(s);
        if (over) return;
        usleep(1000);
    }
}

xt_status device_event_finish(const PJRT_Api *api, PJRT_Event *e, const char *what) {
    if (!e) return NULL;
    PJRT_Event_Await_Args a = PJRT_INIT(Event_Await, .event = e);
    xt_status s = DEVICE_CALL(api, Event_Await, &a, what);
    if (s) let_come(api, e);
    device_event_destroy(api, e);
    return s;
}

char *device_text(const char *p, size_t n) {
    return base_strndup(p ? p : "", p ? n : 0);
}

const char *device_shape_text(xt_dtype t, size_t rank, const int64_t *dims, char *buf, size_t n) {
    size_t at = 0;
    int w = snprintf(buf, n, "%s[", xt_dtype_name(t));
    for (size_t i = 0; i <= rank && w >= 0; i++) {
        at += (size_t)w;
        if (at >= n) return buf;
        if (i < rank) w = snprintf(buf + at, n - at, "%s%lld", i ? "," : "", (long long)dims[i]);
    }
    if (at < n) snprintf(buf + at, n - at, "]");
    return buf;
}
