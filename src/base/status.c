/* Status values: a code, a message and the user's line. The whole text ("file:line: message") is kept beside its two
 * parts, rebuilt whenever one changes, so that readers only read. Without memory there is one constant status per code,
 * which may be passed around, given context (ignored) and freed (ignored) like any other: an error never turns into
 * success for lack of memory. A failure has a number that its copies share, so that reading any of them counts as
 * looking at it; inside the library status_code and status_message read without that. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/handle.h"
#include "base/shown.h"

struct xt_status_s {
    xt_code code;
    src_id where;
    uint64_t failure; /* 0: of a static one */
    char *whole; /* owned */
    const char *text; /* the part of `whole` behind "file:line: " */
    /* of one that the program was given and has not looked at (status_give): */
    const char *given_by; /* the public function; NULL: seen, or never given */
    src_id given_at;
    const void *returns_to, *thread;
    xt_status older, newer;
    struct given *list; /* of these */
};

static const char *const code_names[] = {
    [XT_OK] = "OK",
    [XT_CANCELLED] = "CANCELLED",
    [XT_UNKNOWN] = "UNKNOWN",
    [XT_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
    [XT_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
    [XT_NOT_FOUND] = "NOT_FOUND",
    [XT_ALREADY_EXISTS] = "ALREADY_EXISTS",
    [XT_PERMISSION_DENIED] = "PERMISSION_DENIED",
    [XT_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
    [XT_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
    [XT_ABORTED] = "ABORTED",
    [XT_OUT_OF_RANGE] = "OUT_OF_RANGE",
    [XT_UNIMPLEMENTED] = "UNIMPLEMENTED",
    [XT_INTERNAL] = "INTERNAL",
    [XT_UNAVAILABLE] = "UNAVAILABLE",
    [XT_DATA_LOSS] = "DATA_LOSS",
    [XT_UNAUTHENTICATED] = "UNAUTHENTICATED",
};

enum { CODE_COUNT = XT_UNAUTHENTICATED + 1 };

static char no_memory[] = "out of memory while describing an error";
#define STATIC(code_) [code_] = {.code = code_, .whole = no_memory, .text = no_memory}
static struct xt_status_s without_memory[CODE_COUNT] = {
    STATIC(XT_CANCELLED),
    STATIC(XT_UNKNOWN),
    STATIC(XT_INVALID_ARGUMENT),
    STATIC(XT_DEADLINE_EXCEEDED),
    STATIC(XT_NOT_FOUND),
    STATIC(XT_ALREADY_EXISTS),
    STATIC(XT_PERMISSION_DENIED),
    STATIC(XT_RESOURCE_EXHAUSTED),
    STATIC(XT_FAILED_PRECONDITION),
    STATIC(XT_ABORTED),
    STATIC(XT_OUT_OF_RANGE),
    STATIC(XT_UNIMPLEMENTED),
    STATIC(XT_INTERNAL),
    STATIC(XT_UNAVAILABLE),
    STATIC(XT_DATA_LOSS),
    STATIC(XT_UNAUTHENTICATED),
};
#undef STATIC

static xt_code sound_code(xt_code code) {
    return (unsigned)code < CODE_COUNT && code != XT_OK ? code : XT_UNKNOWN;
}

bool status_is_static(const void *p) {
    const struct xt_status_s *s = p;
    return s >= without_memory && s < without_memory + CODE_COUNT;
}

static xt_status static_status(xt_code code) {
    return &without_memory[sound_code(code)];
}

/* Puts position and text together; on failure `s` stays as it was. */
static bool compose(xt_status s, src_id where, const char *text) {
    str whole = STR_INIT;
    char position[512];
    if (src_hidden(where)) where = 0;
    if (where) str_printf(&whole, "%s: ", src_text(where, position, sizeof position));
    size_t prefix = whole.len;
    str_append_shown(&whole, text, strlen(text), "\n\t");
    if (whole.failed) {
        str_free(&whole);
        return false;
    }
    base_free(s->whole);
    s->whole = whole.data;
    s->text = whole.data + prefix;
    s->where = where;
    return true;
}

static xt_status make(xt_code code, src_id where, const char *text, uint64_t failure) {
    static atomic_uint_fast64_t failures;
    xt_status s = handle_new(HANDLE_status, sizeof *s);
    if (!s) return static_status(code);
    s->code = sound_code(code);
    s->failure = failure ? failure : atomic_fetch_add(&failures, 1) + 1;
    if (!compose(s, where, text)) {
        handle_free(s);
        return static_status(code);
    }
    live_add(LIVE_status, 1);
    return s;
}

/* Room for the first ones is there before memory can run out. */
__attribute__((constructor)) static void make_room(void) {
    handle_free(handle_new(HANDLE_status, sizeof(struct xt_status_s)));
}

xt_status status_newv(xt_code code, const xt_src *where, const char *fmt, va_list ap) {
    str text = STR_INIT;
    str_vprintf(&text, fmt, ap);
    xt_status s = text.failed ? static_status(code) : make(code, src_intern(where), str_cstr(&text), 0);
    str_free(&text);
    return s;
}

xt_status status_new(xt_code code, const xt_src *where, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    xt_status s = status_newv(code, where, fmt, ap);
    va_end(ap);
    return s;
}

XT_API xt_status(xt_status_new)(xt_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    xt_status s = status_newv(code, NULL, fmt ? fmt : "xt_status_new was given no text", ap);
    va_end(ap);
    return s;
}

xt_status status_context(xt_status s, const char *fmt, ...) {
    if (!s || status_is_static(s)) return s;
    str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    str_append(&text, ": ");
    str_append(&text, s->text);
    if (!text.failed) compose(s, s->where, str_cstr(&text)); /* without memory the message is merely shorter */
    str_free(&text);
    return s;
}

xt_status status_at(xt_status s, const xt_src *where) {
    if (!s || status_is_static(s) || s->where) return s;
    str text = STR_INIT;
    str_append(&text, s->text);
    src_id id = src_intern(where);
    if (id && !text.failed) compose(s, id, str_cstr(&text));
    str_free(&text);
    return s;
}

xt_status status_clone(xt_status s) {
    return !s || status_is_static(s) ? s : make(s->code, s->where, s->text, s->failure);
}

const xt_src *status_where(xt_status s) {
    return s && s->where ? src_get(s->where) : NULL;
}

const char *status_text(xt_status s) {
    return s ? s->text : "";
}

static xt_code code_of_errno(int e) {
    switch (e) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
    case ESRCH: return XT_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS: return XT_PERMISSION_DENIED;
    case EEXIST:
    case ENOTEMPTY: return XT_ALREADY_EXISTS;
    case ENOMEM:
        return XT_RESOURCE_EXHAUSTED; /* memory alone: who meets this code reports memory, and may try again with less
                                       */
    case EISDIR:
    case ENOTDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
    case EBADF: return XT_INVALID_ARGUMENT;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case EFBIG:
    case EAGAIN:
    case EBUSY:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE: return XT_UNAVAILABLE;
    case ETIMEDOUT: return XT_DEADLINE_EXCEEDED;
    case EINTR:
    case ECANCELED: return XT_CANCELLED;
    case EIO: return XT_DATA_LOSS;
    case ENOSYS:
    case EOPNOTSUPP: return XT_UNIMPLEMENTED;
    default: return XT_UNKNOWN;
    }
}

xt_status status_errno(const char *what, const char *path) {
    int e = errno;
    char buf[128];
    const char *reason = strerror_r(e, buf, sizeof buf);
    return status_new(code_of_errno(e), NULL, "%s %s: %s", what, path ? path : "", reason);
}

xt_status status_no_thread(int error, const char *what) {
    char buf[128];
    return status_new(code_of_errno(error), NULL,
                      "%s could not be started: %s. The user, or the container, may have no more threads left (ulimit "
                      "-u, pids.max), or there is no room for its stack (ulimit -s, -v)",
                      what, strerror_r(error, buf, sizeof buf));
}

xt_status status_oom(size_t bytes, const char *what) {
    return status_new(XT_RESOURCE_EXHAUSTED, NULL, "out of host memory: %zu bytes for %s could not be allocated", bytes,
                      what);
}

static _Thread_local struct {
    uint64_t failure;
    bool looked;
} watched;

void status_watch(xt_status s) {
    watched.failure = s ? s->failure : 0;
    watched.looked = false;
}

bool status_was_looked_at(void) {
    return watched.looked;
}

uint64_t status_number(xt_status s) {
    return s ? s->failure : 0;
}

/* --- unseen --- */
/* Those that nobody has looked at, and those of which that was told: they stay the program's, and are no leak of memory
 * when it ends for them. */
static struct given { xt_status oldest, newest; } unseen, told;
static pthread_mutex_t given_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local char this_thread; /* by its address */

static void put_on(struct given *list, xt_status s) {
    s->list = list;
    s->older = list->newest;
    s->newer = NULL;
    *(s->older ? &s->older->newer : &list->oldest) = s;
    list->newest = s;
}

static void take_off(xt_status s) {
    *(s->older ? &s->older->newer : &s->list->oldest) = s->newer;
    *(s->newer ? &s->newer->older : &s->list->newest) = s->older;
    s->list = NULL;
    s->given_by = NULL;
}

void status_give(xt_status s, const char *name, const xt_src *src, const void *returns_to) {
    if (!s || status_is_static(s)) return;
    pthread_mutex_lock(&given_lock);
    if (!s->given_by) {
        s->given_by = name;
        s->given_at = src_intern(src);
        s->returns_to = returns_to;
        s->thread = &this_thread;
        put_on(&unseen, s);
    }
    pthread_mutex_unlock(&given_lock);
}

static void seen(xt_status s) {
    if (!s || !s->list) return;
    pthread_mutex_lock(&given_lock);
    if (s->list) take_off(s);
    pthread_mutex_unlock(&given_lock);
}

xt_status status_take_unseen(bool any_thread) {
    pthread_mutex_lock(&given_lock);
    xt_status s = unseen.oldest, copy = NULL;
    while (s && !any_thread && s->thread != &this_thread) s = s->newer;
    if (s) {
        const xt_src *at = s->given_at ? src_get(s->given_at) : src_get(src_from_return_address(s->returns_to));
        copy = status_context(status_at(status_clone(s), at),
                              "the status that %s gave says, and nobody has read it (xt_status_message) or freed it "
                              "(xt_status_free)",
                              s->given_by);
        take_off(s);
        put_on(&told, s);
    }
    pthread_mutex_unlock(&given_lock);
    return copy;
}

void status_all_seen(void) {
    pthread_mutex_lock(&given_lock);
    for (xt_status s = unseen.oldest, next; s; s = next) {
        next = s->newer;
        if (s->thread == &this_thread) take_off(s);
    }
    pthread_mutex_unlock(&given_lock);
}

static void look_at(xt_status s) {
    if (s && s->failure && s->failure == watched.failure) watched.looked = true;
    seen(s);
}

xt_code status_code(xt_status s) {
    return s ? s->code : XT_OK;
}

const char *status_message(xt_status s) {
    return s ? s->whole : "";
}

XT_API xt_code xt_status_code(xt_status s) {
    look_at(s);
    return status_code(s);
}

XT_API const char *(xt_code_name)(xt_code c) {
    return (unsigned)c < CODE_COUNT ? code_names[c] : "UNKNOWN";
}

XT_API const char *xt_status_message(xt_status s) {
    look_at(s);
    return status_message(s);
}

XT_API void xt_status_free(xt_status s) {
    if (!s || status_is_static(s)) return;
    seen(s);
    base_free(s->whole);
    handle_free(s);
    live_add(LIVE_status, -1);
}
