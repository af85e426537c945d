/* What all ranks say alike is shown once: the library's lines (warnings, tables of the watchdog, errors), and its
 * reports of compiles and executions. A line waits a moment for the other ranks' word. Lines that differ in nothing but
 * numbers are one, the first rank's; numbers behind a colon are those of source lines, and differ. A report's second,
 * indented line has the figures of one rank; which ranks did not make it is said too.
 *
 * Invariants: lines of a rank stay in their order (what the program itself says pushes out what waits, and what is
 * complete goes with all that came before it); at most MOST lines wait, the oldest goes first. */
#include <ctype.h>
#include <errno.h>
#include <unistd.h>

#include "dist/dist_int.h"

enum { MOST = 128, MOST_RANKS = 1024 };

typedef struct report {
    int64_t number, born_ns;
    char *text, *figures;
    uint64_t said[MOST_RANKS / 64];
    int count, fd;
    bool line; /* not of a report */
    bool differs; /* in numbers */
} report;

static report waiting[MOST]; /* oldest first; the launcher has one thread */
static size_t n_waiting;
static int ranks;
static int64_t made;

void output_fold_ranks(int n) {
    ranks = n <= MOST_RANKS ? n : 0;
}

static bool begins(const char *p, size_t n, const char *word) {
    size_t len = strlen(word);
    return n > len && memcmp(p, word, len) == 0;
}

static bool is_report(const char *p, size_t n) {
    return begins(p, n, "compile ") || begins(p, n, "execution ") || begins(p, n, "disk hit: ");
}

static bool has_said(const report *w, int rank) {
    return w->said[rank / 64] >> (rank % 64) & 1;
}

/* "0-3,5" of the ranks that said it, or of the others. */
static void list_ranks(const report *w, bool said, str *out) {
    bool first = true;
    for (int r = 0; r < ranks; r++) {
        if (has_said(w, r) != said) continue;
        int last = r;
        while (last + 1 < ranks && has_said(w, last + 1) == said) last++;
        str_printf(out, first ? "%d" : ",%d", r);
        if (last > r) str_printf(out, "-%d", last);
        first = false;
        r = last;
    }
}

static void write_report(const report *w, str *out) {
    str_append(out, w->count > 1 ? "[ranks " : "[rank ");
    list_ranks(w, true, out);
    str_printf(out, "] %s%s", w->text, w->differs ? " (the first's numbers)" : "");
    if (w->count < ranks && !w->line) {
        str_append(out, " (not on rank ");
        list_ranks(w, false, out);
        str_putc(out, ')');
    }
    str_putc(out, '\n');
    if (!w->figures) return;
    str_append(out, w->count > 1 ? "[ranks " : "[rank ");
    list_ranks(w, true, out);
    str_printf(out, "] %s\n", w->figures);
}

static void drop(size_t i) {
    base_free(waiting[i].text);
    base_free(waiting[i].figures);
    memmove(&waiting[i], &waiting[i + 1], (--n_waiting - i) * sizeof *waiting);
}

static void push_out(size_t i, str *out) {
    write_report(&waiting[i], out);
    drop(i);
}

/* --- alike --- */
static bool digit_at(const char *p, const char *end) {
    return p < end && isdigit((unsigned char)*p);
}

static size_t number_length(const char *p, const char *end) {
    const char *at = p;
    while (digit_at(at, end) || (at > p && at < end && *at == '.' && digit_at(at + 1, end))) at++;
    return (size_t)(at - p);
}

/* *out_differ: in numbers. */
static bool alike(const char *a, const char *b, size_t n_b, bool *out_differ) {
    const char *end_a = a + strlen(a), *end_b = b + n_b, *from = a;
    *out_differ = false;
    while (a < end_a && b < end_b) {
        size_t n = number_length(a, end_a), m = number_length(b, end_b);
        bool same = n == m && memcmp(a, b, n) == 0;
        if (!n && !m && *a++ != *b++) return false;
        if (!n != !m || (n && !same && a > from && a[-1] == ':')) return false;
        *out_differ = *out_differ || (n && !same);
        a += n;
        b += m;
    }
    return a == end_a && b == end_b;
}

static report *find(const output_stream *o, const char *p, size_t n, bool line) {
    for (size_t i = 0; i < n_waiting; i++) {
        report *w = &waiting[i];
        bool differ;
        if (w->line != line || w->fd != o->to || has_said(w, o->rank) || !alike(w->text, p, n, &differ)) continue;
        if (differ && !line) continue;
        w->differs = w->differs || differ;
        return w;
    }
    return NULL;
}

static bool take(output_stream *o, const char *p, size_t n, bool line, str *out) {
    report *w = find(o, p, n, line);
    if (!w) {
        if (n_waiting == MOST) push_out(0, out);
        char *text = base_strndup(p, n);
        if (!text) return false;
        w = &waiting[n_waiting++];
        *w = (report){.number = ++made, .born_ns = clock_ns(), .text = text, .fd = o->to, .line = line};
    }
    w->said[o->rank / 64] |= (uint64_t)1 << (o->rank % 64);
    w->count++;
    o->report = line ? 0 : w->number;
    if (!line || w->count < ranks) return true;
    for (size_t left = (size_t)(w - waiting) + 1; left > 0; left--) push_out(0, out);
    return true;
}

/* The second line of a report: the first rank's figures are kept. A report that all have made is shown when its
 * figures are there. */
static bool take_figures(output_stream *o, const char *p, size_t n, str *out) {
    for (size_t i = 0; i < n_waiting; i++) {
        report *w = &waiting[i];
        if (w->number != o->report) continue;
        if (!w->figures) w->figures = base_strndup(p, n);
        if (w->count == ranks) push_out(i, out);
        break;
    }
    o->report = 0;
    return true;
}

bool output_fold(output_stream *o, const char *p, size_t n, bool ours, str *out) {
    if (ranks < 2 || o->rank >= ranks) return false;
    if (o->report && n > 2 && p[0] == ' ' && p[1] == ' ') return take_figures(o, p, n, out);
    o->report = 0;
    if (is_report(p, n) || (ours && n && o->to == STDERR_FILENO)) return take(o, p, n, !is_report(p, n), out);
    for (size_t i = 0; i < n_waiting;) {
        if (has_said(&waiting[i], o->rank) && waiting[i].fd == o->to)
            push_out(i, out);
        else
            i++;
    }
    return false;
}

bool output_fold_waits(void) {
    return n_waiting > 0;
}

void output_fold_flush(int fd, int64_t older_than_ms) {
    str out = STR_INIT;
    int64_t now = clock_ns();
    for (size_t i = 0; i < n_waiting;) {
        if (waiting[i].fd == fd && now - waiting[i].born_ns >= older_than_ms * 1000000)
            push_out(i, &out);
        else
            i++;
    }
    for (size_t at = 0; at < out.len;) {
        ssize_t wrote = write(fd, out.data + at, out.len - at);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        at += (size_t)wrote;
    }
    str_free(&out);
}
