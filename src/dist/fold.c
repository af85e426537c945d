/* Reports that all ranks make alike (compiles, executions) are shown once. A report's first line is the same on all
 * ranks when they do the same; its second, indented line has the figures of one of them. A first line waits a moment
 * for the other ranks' word; what some ranks did not say is shown with their names.
 *
 * Invariants: a rank's other lines never overtake its reports (they push them out); at most MOST reports wait, the
 * oldest goes first. */
#include <errno.h>
#include <unistd.h>

#include "dist/dist_int.h"

enum { MOST = 16, MOST_RANKS = 1024 };

typedef struct report {
    int64_t number, born_ns;
    char *text, *figures;
    uint64_t said[MOST_RANKS / 64];
    int count, fd;
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
    str_printf(out, "] %s", w->text);
    if (w->count < ranks) {
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

static bool take(output_stream *o, const char *p, size_t n, str *out) {
    report *w = NULL;
    for (size_t i = 0; i < n_waiting && !w; i++)
        if (!has_said(&waiting[i], o->rank) && strlen(waiting[i].text) == n && memcmp(waiting[i].text, p, n) == 0)
            w = &waiting[i];
    if (!w) {
        if (n_waiting == MOST) push_out(0, out);
        char *text = base_strndup(p, n);
        if (!text) return false;
        w = &waiting[n_waiting++];
        *w = (report){.number = ++made, .born_ns = clock_ns(), .text = text, .fd = o->to};
    }
    w->said[o->rank / 64] |= (uint64_t)1 << (o->rank % 64);
    w->count++;
    o->report = w->number;
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

bool output_fold(output_stream *o, const char *p, size_t n, str *out) {
    if (ranks < 2 || o->rank >= ranks) return false;
    if (o->report && n > 2 && p[0] == ' ' && p[1] == ' ') return take_figures(o, p, n, out);
    o->report = 0;
    if (is_report(p, n)) return take(o, p, n, out);
    for (size_t i = 0; i < n_waiting;) {
        if (has_said(&waiting[i], o->rank) && waiting[i].fd == o->to)
            push_out(i, out);
        else
            i++;
    }
    return false;
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
