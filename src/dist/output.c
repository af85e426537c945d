/* A rank's stdout or stderr, passed on in whole lines so that ranks never share one. A '\r', by which a progress bar
 * repaints its line, ends one too: between two repaints another rank may speak. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/private_file.h"
#include "dist/dist_int.h"

#define LONGEST ((size_t)64 << 10) /* a line beyond this is passed on in lines of this length */
enum { READS_LOST = 64 }; /* so many failures in a row are no passing trouble */

void output_open(output_stream *o, int from, int to, int rank, bool named, int log) {
    *o = (output_stream){.from = from, .to = to, .rank = rank, .log = log, .line = STR_INIT};
    if (named) snprintf(o->prefix, sizeof o->prefix, "[rank %d] ", rank);
}

xt_status output_log_open(int rank, int *out) {
    const char *folder = env_get("XT_LOG_DIR");
    str path = STR_INIT;
    char *target = NULL;
    *out = -1;
    if (!folder) return NULL;
    XT_TRY(status_context(file_make_dirs(folder, 0777), "--log-dir"));
    str_printf(&path, "%s/rank_%d.log", folder, rank);
    xt_status st = status_context(file_output_target(str_cstr(&path), &target), "--log-dir");
    if (!st && (*out = file_open_output(target, O_CREAT | O_APPEND)) < 0)
        st = status_context(file_output_failed(target), "--log-dir");
    base_free(target);
    str_free(&path);
    return st;
}

static bool lost;

bool output_lost(void) {
    return lost;
}

/* Once for each place; the launcher has one thread. What stdout loses is a result, so it fails the run. */
static void tell_lost(int fd, int error) {
    static bool told[3]; /* stdout, stderr, files */
    int of = fd == STDOUT_FILENO ? 0 : fd == STDERR_FILENO ? 1 : 2;
    static const char *const where[] = {"on stdout", "on stderr", "in a file of --log-dir"};
    lost = true;
    if (!told[of])
        log_msg(XT_SEV_ERROR,
                "xtrain launch: what ranks print is lost %s: %s; give it a place that takes it (the exit code will be "
                "1)",
                where[of], strerror(error));
    told[of] = true;
}

bool output_write(int fd, const char *p, size_t n) {
    while (n > 0) {
        ssize_t wrote = write(fd, p, n);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote < 0 && errno == EAGAIN) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
            continue;
        }
        /* nobody listens any more, or none ever did; the ranks go on */
        if (wrote < 0 && (errno == EPIPE || errno == EBADF)) return false;
        if (wrote <= 0) {
            tell_lost(fd, wrote < 0 ? errno : ENOSPC);
            return false;
        }
        p += wrote;
        n -= (size_t)wrote;
    }
    return true;
}

/* The library's own messages in a rank carry the prefix already. An end of any kind becomes a newline; what is empty
 * but for '\r' goes. */
static void add_line(output_stream *o, const char *p, size_t n, str *out, str *log) {
    size_t prefix = strlen(o->prefix), text = n;
    while (text && (p[text - 1] == '\n' || p[text - 1] == '\r')) text--;
    if (!text && memchr(p, '\r', n)) return;
    bool has = prefix && text >= prefix && memcmp(p, o->prefix, prefix) == 0;
    if (o->log >= 0) {
        str_appendn(log, has ? p + prefix : p, has ? text - prefix : text);
        str_putc(log, '\n');
    }
    if (output_fold(o, has ? p + prefix : p, has ? text - prefix : text, has, out)) return;
    if (!has && prefix) str_append(out, o->prefix);
    str_appendn(out, p, text);
    str_putc(out, '\n');
}

/* Length of the first line with its end, 0 when there is no whole one. "\r\n" is one end. */
static size_t line_length(const char *p, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (p[i] == '\n') return i + 1;
        if (p[i] != '\r') continue;
        if (i + 1 == n) return 0; /* the next byte decides */
        return p[i + 1] == '\n' ? i + 2 : i + 1;
    }
    return n >= LONGEST ? n : 0;
}

static void pass_lines(output_stream *o, bool all) {
    str out = STR_INIT, log = STR_INIT;
    size_t at = 0, n;
    while ((n = line_length(o->line.data + at, o->line.len - at)) > 0) {
        add_line(o, o->line.data + at, n, &out, &log);
        at += n;
    }
    if (all && at < o->line.len) {
        add_line(o, o->line.data + at, o->line.len - at, &out, &log);
        at = o->line.len;
    }
    memmove(o->line.data, o->line.data + at, o->line.len - at);
    o->line.len -= at;
    output_write(o->to, str_cstr(&out), out.len);
    output_write(o->log, str_cstr(&log), log.len);
    str_free(&out);
    str_free(&log);
}

bool output_ended(ssize_t got, int *failures, int rank) {
    char whose[24] = "mpirun";
    if (got >= 0) *failures = 0;
    if (got >= 0) return got == 0;
    if (errno == EAGAIN || errno == EINTR || ++*failures < READS_LOST) return false;
    if (rank >= 0) snprintf(whose, sizeof whose, "rank %d", rank);
    log_msg(XT_SEV_WARNING, "xtrain launch: reading what %s prints: %s; from here on it is lost", whose,
            strerror(errno));
    return true;
}

bool output_pump(output_stream *o) {
    char buf[16384];
    bool any = false;
    /* A bounded number of reads, so that one chatty rank does not keep the others waiting. */
    for (int i = 0; i < 8 && o->from >= 0; i++) {
        ssize_t n = read(o->from, buf, sizeof buf);
        if (n < 0 && errno == EINTR) continue;
        if (output_ended(n, &o->failures, o->rank)) {
            close(o->from);
            o->from = -1;
        }
        if (n == 0 || (n < 0 && errno == EAGAIN)) break;
        if (n < 0) continue;
        any = true;
        str_appendn(&o->line, buf, (size_t)n);
        if (o->line.failed) { /* without memory: pass the bytes as they are rather than lose them */
            output_write(o->to, buf, (size_t)n);
            str_free(&o->line);
        }
    }
    if (o->line.len) pass_lines(o, o->from < 0);
    return any;
}

void output_finish(output_stream *o) {
    for (int i = 0; i < 64 && output_pump(o); i++) continue;
    if (o->from >= 0) close(o->from);
    o->from = -1;
    if (o->line.len) pass_lines(o, true);
    str_free(&o->line);
}
