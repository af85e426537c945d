/* The one way out for everything the library says. A message is whole when it leaves: the default sink makes one
 * write per message, so lines of several ranks on one terminal do not mix, and puts "[rank N] " before each line when
 * there are several. One call of the sink at a time; a sink that itself causes a message gets that one on stderr
 * instead of a deadlock. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/base.h"
#include "base/shown.h"

static pthread_mutex_t sink_lock = PTHREAD_MUTEX_INITIALIZER;
static xt_sink_fn sink;
static void *sink_user;
static _Thread_local bool inside_sink;
static _Thread_local const char *sink_frame; /* that it was called from */
_Thread_local int frames_noted;

/* A sink may put another in its place: its thread has the lock. */
XT_API void xt_set_sink(xt_sink_fn fn, void *user) {
    if (!inside_sink) pthread_mutex_lock(&sink_lock);
    sink = fn;
    sink_user = user;
    if (!inside_sink) pthread_mutex_unlock(&sink_lock);
}

bool log_in_sink(void) {
    return inside_sink;
}

static void sink_returned(void) {
    inside_sink = false;
    frames_noted--;
    pthread_mutex_unlock(&sink_lock);
}

void log_forget_left(const char *here) {
    if (inside_sink && here > sink_frame) sink_returned();
}

/* Read at each message: cheap beside the write, and a program may set the variable itself. */
static xt_severity least_severity(void) {
    const char *level = getenv("XT_LOG_LEVEL");
    if (!level || !*level) return XT_SEV_INFO;
    if (strcasecmp(level, "debug") == 0) return XT_SEV_DEBUG;
    if (strcasecmp(level, "warning") == 0 || strcasecmp(level, "warn") == 0) return XT_SEV_WARNING;
    if (strcasecmp(level, "error") == 0) return XT_SEV_ERROR;
    return XT_SEV_INFO;
}

static void write_all(const char *p, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(STDERR_FILENO, p, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return; /* stderr is closed or full: nobody is left to tell */
        p += wrote;
        n -= (size_t)wrote;
    }
}

/* "[rank 3] " before each line; a leading '\r', which repaints a progress line, stays in front. */
static void prefix_lines(str *out, const char *text, size_t n, int rank) {
    for (size_t i = 0; i < n;) {
        if (text[i] == '\r') {
            str_putc(out, text[i++]);
            continue;
        }
        const char *newline = memchr(text + i, '\n', n - i);
        size_t stop = newline ? (size_t)(newline - text) + 1 : n;
        str_printf(out, "[rank %d] ", rank);
        str_appendn(out, text + i, stop - i);
        i = stop;
    }
}

bool log_to_terminal(void) {
    return !sink && isatty(STDERR_FILENO);
}

/* A message that comes while a progress line stands takes its place; the next repaint puts the line below it. */
static bool line_stands;

static void make_way(const char *text, size_t n) {
    static const char erase[] = "\r\x1b[K";
    if (line_stands && n && text[0] != '\r') write_all(erase, sizeof erase - 1);
    line_stands = n && text[0] == '\r' && text[n - 1] != '\n' && isatty(STDERR_FILENO);
}

static void write_stderr(xt_severity sev, const char *text, size_t n) {
    if (sev < least_severity()) return;
    make_way(text, n);
    const world *w = world_get();
    str prefixed = STR_INIT;
    if (w->size > 1) prefix_lines(&prefixed, text, n, w->rank);
    if (w->size > 1 && !prefixed.failed)
        write_all(str_cstr(&prefixed), prefixed.len);
    else
        write_all(text, n);
    str_free(&prefixed);
}

/* What this thread says while it holds others up. */
typedef struct held_message {
    xt_severity sev;
    char *text;
    size_t n;
} held_message;
static _Thread_local struct {
    int depth;
    held_message *messages;
    size_t n, cap;
} held;

static bool hold(xt_severity sev, const char *text, size_t n) {
    held_message m = {sev, base_malloc(n + 1), n};
    if (!m.text) return false;
    memcpy(m.text, text, n);
    if (VEC_PUSH(held.messages, held.n, held.cap, m)) return true;
    base_free(m.text);
    return false;
}

static void pass_on(xt_severity sev, const char *text, size_t n) {
    if (held.depth && hold(sev, text, n)) return;
    if (inside_sink) {
        write_stderr(sev, text, n);
    } else {
        pthread_mutex_lock(&sink_lock);
        inside_sink = true;
        sink_frame = __builtin_frame_address(0);
        frames_noted++;
        if (sink)
            sink(sev, text, n, sink_user);
        else
            write_stderr(sev, text, n);
        sink_returned();
    }
}

void log_hold(void) {
    held.depth++;
}

void log_release(void) {
    if (--held.depth) return;
    held_message *messages = held.messages;
    size_t n = held.n;
    held.messages = NULL; /* a sink may hold messages of its own */
    held.n = held.cap = 0;
    for (size_t i = 0; i < n; i++) {
        pass_on(messages[i].sev, messages[i].text, messages[i].n);
        base_free(messages[i].text);
    }
    base_free(messages);
}

/* What stands in a message may come from anywhere; of our own are only a progress line's repaint at its front and the
 * erasing of the rest at its end. */
static void append_safe(str *out, xt_severity sev, const char *text, size_t n) {
    static const char erase[] = "\x1b[K";
    bool again = sev == XT_SEV_PROGRESS && n && text[0] == '\r', newline = n && text[n - 1] == '\n';
    size_t stop = n - newline, tail = sizeof erase - 1;
    bool erases = again && stop > tail && memcmp(text + stop - tail, erase, tail) == 0;
    if (again) str_putc(out, '\r');
    str_append_shown(out, text + again, stop - again - (erases ? tail : 0), "\n\t");
    if (erases) str_append(out, erase);
    if (newline) str_putc(out, '\n');
}

void log_raw(xt_severity sev, const char *text, size_t n) {
    static const char lost[] = "a message is lost: no memory for it\n";
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* stderr has a lock */
    str safe = STR_INIT;
    bool plain = text_is_plain(text, n, "\n\t");
    if (!plain) append_safe(&safe, sev, text, n);
    if (plain)
        pass_on(sev, text, n);
    else if (safe.failed)
        pass_on(sev, lost, sizeof lost - 1);
    else
        pass_on(sev, str_cstr(&safe), safe.len);
    str_free(&safe);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

/* Without memory a message is its first part, and none of it needs any. */
static void log_first_part(xt_severity sev, const char *fmt, va_list ap) {
    char part[1024];
    int n = vsnprintf(part, sizeof part - 1, fmt, ap);
    if (n < 0) return;
    text_hide(part, "\n\t");
    size_t len = strlen(part);
    if (len == 0 || part[len - 1] != '\n') part[len++] = '\n';
    log_raw(sev, part, len);
}

static void log_v(xt_severity sev, const char *fmt, va_list ap) {
    str text = STR_INIT;
    va_list again;
    va_copy(again, ap);
    str_vprintf(&text, fmt, ap);
    if (text.len == 0 || text.data[text.len - 1] != '\n') str_putc(&text, '\n');
    if (text.failed)
        log_first_part(sev, fmt, again);
    else
        log_raw(sev, str_cstr(&text), text.len);
    va_end(again);
    str_free(&text);
}

void log_msg(xt_severity sev, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    log_v(sev, fmt, ap);
    va_end(ap);
}

void log_once(const char *key, xt_severity sev, const char *fmt, ...) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static map *said;
    pthread_mutex_lock(&lock);
    if (!said) said = map_new();
    bool seen = said && map_get(said, key, strlen(key));
    /* without memory: silent rather than repeated */
    if (said && !seen) seen = !map_put(said, key, strlen(key), said, NULL);
    pthread_mutex_unlock(&lock);
    if (seen || !said) return;
    va_list ap;
    va_start(ap, fmt);
    log_v(sev, fmt, ap);
    va_end(ap);
}
