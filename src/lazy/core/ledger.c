/* Live device buffers of the process with who made them: the ledger that memory reports and out-of-memory
 * errors read. */
#include "lazy/core/ctx.h"

#include <xtrain/diag.h>

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lazy_buf *head, *head_older;

static void take_out(lazy_buf *b) {
    lazy_buf **first = b->older ? &head_older : &head;
    if (b->prev)
        b->prev->next = b->next;
    else
        *first = b->next;
    if (b->next) b->next->prev = b->prev;
}

static void put_in(lazy_buf *b, bool older) {
    lazy_buf **first = older ? &head_older : &head;
    b->older = older;
    b->prev = NULL;
    b->next = *first;
    if (*first) (*first)->prev = b;
    *first = b;
}

const char *lazy_role_name(lazy_role r) {
    static const char *const names[LAZY_ROLE_COUNT] = {"activation", "parameter", "state", "optimizer",
                                                       "gradient",   "batch",     "value", "log"};
    return r < LAZY_ROLE_COUNT ? names[r] : "?";
}

lazy_buf *lazy_buf_new(device_buffer *dev, src_id src, uint32_t path, lazy_role role, const ir_type *type,
                       int64_t step) {
    lazy_buf *b = base_calloc(1, sizeof *b);
    if (!b) {
        device_buffer_release(dev);
        return NULL;
    }
    b->dev = dev;
    atomic_init(&b->refs, 1);
    b->info = (lazy_live){
        .src = src, .path = path, .role = role, .bytes = (int64_t)device_buffer_bytes(dev), .step = step, .type = type};
    pthread_mutex_lock(&lock);
    counter_add(COUNTER_buffers_made, 1);
    counter_add(COUNTER_buffer_bytes_made, b->info.bytes);
    put_in(b, false);
    pthread_mutex_unlock(&lock);
    return b;
}

void lazy_buf_kept(lazy_buf *b, src_id where, uint32_t which) {
    if (!b || !where) return;
    pthread_mutex_lock(&lock);
    b->info.kept = where;
    b->which = which;
    take_out(b);
    put_in(b, false);
    pthread_mutex_unlock(&lock);
}

void lazy_buf_older(lazy_buf *b) {
    pthread_mutex_lock(&lock);
    take_out(b);
    put_in(b, true);
    pthread_mutex_unlock(&lock);
}

void lazy_buf_retain(lazy_buf *b) {
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void lazy_buf_release(lazy_buf *b) {
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    pthread_mutex_lock(&lock);
    take_out(b);
    pthread_mutex_unlock(&lock);
    device_buffer_release(b->dev);
    base_free(b);
}

static size_t list(lazy_live *out, size_t max, bool with_older) {
    size_t n = 0;
    pthread_mutex_lock(&lock);
    for (int older = 0; older <= with_older; older++)
        for (lazy_buf *b = older ? head_older : head; b; b = b->next) {
            if (device_buffer_deleted(b->dev)) continue; /* donated: the output that took it over is counted */
            if (n < max) out[n] = b->info;
            n++;
        }
    pthread_mutex_unlock(&lock);
    return n;
}

size_t lazy_live_buffers(lazy_live *out, size_t max) {
    return list(out, max, true);
}

typedef struct group {
    src_id src, kept; /* kept: of one member */
    uint32_t path;
    lazy_role role;
    int64_t bytes, count;
    const ir_type *type; /* of the largest member */
} group;

static int by_bytes(const void *a, const void *b) {
    const group *x = a, *y = b;
    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* Live buffers by line, path and role, largest first; base_free the result. */
static size_t grouped(group **out, bool with_older) {
    *out = NULL;
    size_t n = list(NULL, 0, with_older), made = 0;
    lazy_live *all = base_malloc((n + 1) * sizeof *all);
    group *g = base_malloc((n + 1) * sizeof *g);
    if (all && g) {
        size_t got = list(all, n, with_older);
        if (got < n) n = got;
        for (size_t i = 0; i < n; i++) {
            size_t k = 0;
            while (k < made && !(g[k].src == all[i].src && g[k].path == all[i].path && g[k].role == all[i].role &&
                                 g[k].type == all[i].type))
                k++;
            if (k == made) g[made++] = (group){all[i].src, 0, all[i].path, all[i].role, 0, 0, all[i].type};
            if (all[i].kept) g[k].kept = all[i].kept;
            g[k].bytes += all[i].bytes;
            g[k].count++;
        }
        qsort(g, made, sizeof *g, by_bytes);
        *out = g;
    } else
        base_free(g);
    base_free(all);
    return *out ? made : 0;
}

int lazy_ledger_rows(xt_memory_row *rows, int max) {
    group *g;
    size_t n = grouped(&g, true);
    for (size_t i = 0; i < n && (int)i < max; i++) {
        const xt_src *at = src_get(g[i].src);
        rows[i] = (xt_memory_row){.file = at->file,
                                  .path = intern_text(g[i].path),
                                  .role = lazy_role_name(g[i].role),
                                  .line = at->line,
                                  .bytes = g[i].bytes,
                                  .count = g[i].count};
    }
    base_free(g);
    return (int)n;
}

/* --- since an early step: what has grown --- */
static struct {
    group *rows;
    size_t n;
    int64_t step;
} early; /* under the lock */

void lazy_ledger_remember(int64_t step) {
    group *g;
    size_t n = grouped(&g, true);
    pthread_mutex_lock(&lock);
    base_free(early.rows);
    early.rows = g;
    early.n = n;
    early.step = step;
    pthread_mutex_unlock(&lock);
}

void lazy_ledger_forget(void) {
    pthread_mutex_lock(&lock);
    base_free(early.rows);
    memset(&early, 0, sizeof early);
    pthread_mutex_unlock(&lock);
}

static void append_row(str *out, const group *g, int64_t bytes, int64_t count, const char *sign) {
    char at[256];
    str_printf(out, "\n  %s%*.2f MiB  %s%4lld x  %-10s %s  ", sign, *sign ? 9 : 10, (double)bytes / 1048576, sign,
               (long long)count, lazy_role_name(g->role), src_text(g->src, at, sizeof at));
    if (g->type) ir_type_print(g->type, out);
    if (g->path) str_printf(out, "  %s", intern_text(g->path));
    if (g->kept && g->kept != g->src) str_printf(out, "  kept at %s", src_text(g->kept, at, sizeof at));
}

static void append_growth(str *out, const group *g, size_t n, int rows) {
    pthread_mutex_lock(&lock);
    int told = 0;
    for (size_t i = 0; early.rows && i < n && told < rows; i++) {
        int64_t bytes = g[i].bytes, count = g[i].count;
        for (size_t k = 0; k < early.n; k++) {
            const group *e = &early.rows[k];
            if (e->src != g[i].src || e->path != g[i].path || e->role != g[i].role || e->type != g[i].type) continue;
            bytes -= e->bytes;
            count -= e->count;
        }
        if (bytes <= 0 || count <= 0) continue;
        if (told++ == 0) str_printf(out, "\ngrown since step %lld:", (long long)early.step);
        append_row(out, &g[i], bytes, count, "+");
    }
    pthread_mutex_unlock(&lock);
}

void lazy_append_ledger(str *out, int rows) {
    group *g;
    size_t n = grouped(&g, true);
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) total += g[i].bytes;
    str_printf(out, "\nlive device buffers: %.2f MiB, the largest by line:", (double)total / 1048576);
    for (size_t i = 0; i < n && (int)i < rows; i++) append_row(out, &g[i], g[i].bytes, g[i].count, "");
    append_growth(out, g, n, 5);
    base_free(g);
}

size_t lazy_ledger_groups(lazy_group *out, size_t max) {
    group *g;
    size_t n = grouped(&g, false);
    for (size_t i = 0; i < n && i < max; i++)
        out[i] = (lazy_group){g[i].src, g[i].kept, g[i].path, g[i].role, g[i].bytes, g[i].count};
    base_free(g);
    return n;
}
