/* What all ranks say alike is shown once: the library's lines (warnings, tables of the watchdog, errors), and its
 * reports of compiles and executions. A line waits a moment for the other ranks' word. Lines that differ in nothing but
 * numbers are one, the first rank's; numbers behind a colon are those of source lines, and differ. A report's second,
 * indented line has the figures of one rank; which ranks did not make it is said too.
 *
 * A line that has been shown and that another rank says later is not shown again: which ranks said it too stands at the
 * run's end, or when TOLD newer lines have been shown. Then numbers may differ only within NEAR_MS: a later line with
 * others is of another moment.
 *
 * Invariants: lines of a rank stay in their order (what the program itself says pushes out what waits, and what is
 * complete goes with all that came before it); at most MOST lines wait, the oldest goes first. */
#include <ctype.h>
#include <errno.h>
#include <unistd.h>

#include "dist/dist_int.h"

enum { MOST = 128, TOLD = 64, NEAR_MS = 10000, MOST_RANKS = 1024 };

typedef struct report {
    int64_t number, born_ns;
    char *text, *figures;
    uint64_t said[MOST_RANKS / 64];
    uint64_t late[MOST_RANKS / 64]; /* of these, those that said it when it had been shown */
    int count, fd;
    bool line; /* not of a report */
    bool differs; /* in numbers */
} report;

static report waiting[MOST]; /* oldest first; the launcher has one thread */
static size_t n_waiting;
static report told[TOLD]; /* lines that have been shown, oldest first */
static size_t n_told;
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

static bool is_in(const uint64_t *set, int rank) {
    return set[rank / 64] >> (rank % 64) & 1;
}

static void put_in(uint64_t *set, int rank) {
    set[rank / 64] |= (uint64_t)1 << (rank % 64);
}

static bool has_said(const report *w, int rank) {
    return is_in(w->said, rank);
}

/* "0-3,5" of the ranks that are in the set, or not. *out_n: how many. */
static void list_ranks(const uint64_t *set, bool in, str *out, int *out_n) {
    int n = 0;
    for (int r = 0; r < ranks; r++) {
        if (is_in(set, r) != in) continue;
        int last = r;
        while (last + 1 < ranks && is_in(set, last + 1) == in) last++;
        str_printf(out, n ? ",%d" : "%d", r);
        if (last > r) str_printf(out, "-%d", last);
        n += last - r + 1;
        r = last;
    }
    *out_n = n;
}

static void name_ranks(const uint64_t *set, str *out) {
    str list = STR_INIT;
    int n;
    list_ranks(set, true, &list, &n);
    str_printf(out, "[rank%s %s] ", n == 1 ? "" : "s", str_cstr(&list));
    str_free(&list);
}

static void write_report(const report *w, str *out) {
    int n;
    name_ranks(w->said, out);
    str_printf(out, "%s%s", w->text, w->differs ? " (the first's numbers)" : "");
    if (w->count < ranks && !w->line) {
        str_append(out, " (not on rank ");
        list_ranks(w->said, false, out, &n);
        str_putc(out, ')');
    }
    str_putc(out, '\n');
    if (!w->figures) return;
    name_ranks(w->said, out);
    str_printf(out, "%s\n", w->figures);
}

/* Who said it after it had been shown: its beginning tells which line is meant. */
static void write_late(const report *w, str *out) {
    enum { BEGINNING = 60 };
    bool any = false;
    for (size_t i = 0; i < BASE_COUNT(w->late); i++) any = any || w->late[i];
    if (!any) return;
    size_t n = strlen(w->text), part = strcspn(w->text, "\n");
    if (part > BEGINNING) part = BEGINNING;
    while (part && part < n && ((unsigned char)w->text[part] & 0xc0) == 0x80) part--;
    name_ranks(w->late, out);
    str_printf(out, "said so too, later: %.*s%s\n", (int)part, w->text, part < n ? "..." : "");
}

static void release(report *w) {
    base_free(w->text);
    base_free(w->figures);
}

static void take_out(report *list, size_t *n, size_t i) {
    memmove(&list[i], &list[i + 1], (--*n - i) * sizeof *list);
}

static void push_out(size_t i, str *out) {
    report w = waiting[i];
    write_report(&w, out);
    take_out(waiting, &n_waiting, i);
    if (!w.line || w.count == ranks) {
        release(&w);
        return;
    }
    if (n_told == TOLD) {
        write_late(&told[0], out);
        release(&told[0]);
        take_out(told, &n_told, 0);
    }
    told[n_told++] = w;
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

static report *find(report *list, size_t n_list, const output_stream *o, const char *p, size_t n, bool line) {
    for (size_t i = 0; i < n_list; i++) {
        report *w = &list[i];
        bool differ, shown = list == told;
        if (w->line != line || w->fd != o->to || has_said(w, o->rank) || !alike(w->text, p, n, &differ)) continue;
        if (differ && (!line || (shown && clock_ns() - w->born_ns > (int64_t)NEAR_MS * 1000000))) continue;
        w->differs = w->differs || differ;
        return w;
    }
    return NULL;
}

/* A line that another rank has said, and that was shown. */
static bool is_told(const output_stream *o, const char *p, size_t n) {
    report *w = find(told, n_told, o, p, n, true);
    if (!w) return false;
    put_in(w->said, o->rank);
    put_in(w->late, o->rank);
    return true;
}

static bool take(output_stream *o, const char *p, size_t n, bool line, str *out) {
    report *w = find(waiting, n_waiting, o, p, n, line);
    if (!w && line && is_told(o, p, n)) {
        o->report = 0;
        return true;
    }
    if (!w) {
        if (n_waiting == MOST) push_out(0, out);
        char *text = base_strndup(p, n);
        if (!text) return false;
        w = &waiting[n_waiting++];
        *w = (report){.number = ++made, .born_ns = clock_ns(), .text = text, .fd = o->to, .line = line};
    }
    put_in(w->said, o->rank);
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

static void write_out(int fd, str *out) {
    output_write(fd, str_cstr(out), out->len);
    str_free(out);
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
    write_out(fd, &out);
}

void output_fold_end(int fd) {
    str out = STR_INIT;
    output_fold_flush(fd, 0);
    for (size_t i = 0; i < n_told; i++) {
        if (told[i].fd == fd) write_late(&told[i], &out);
        release(&told[i]);
    }
    n_told = 0;
    write_out(fd, &out);
}
