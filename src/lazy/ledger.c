/* Live device buffers of the process with who made them: the ledger that memory reports and out-of-memory errors read. */
#include "lazy/ctx.h"

#include <xtrain/diag.h>

#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lazy_buf *head;

const char *lazy_role_name(lazy_role r) {
    static const char *const names[LAZY_ROLE_COUNT] = {"activation", "parameter", "state", "optimizer", "gradient", "batch", "value", "log"};
    return r < LAZY_ROLE_COUNT ? names[r] : "?";
}

lazy_buf *lazy_buf_new(device_buffer *dev, src_id src, uint32_t path, lazy_role role, const ir_type *type, int64_t step) {
    lazy_buf *b = base_calloc(1, sizeof *b);
    if (!b) {
        device_buffer_release(dev);
        return NULL;
    }
    b->dev = dev;
    atomic_init(&b->refs, 1);
    b->info = (lazy_live){.src = src, .path = path, .role = role, .bytes = (int64_t)device_buffer_bytes(dev), .step = step, .type = type};
    pthread_mutex_lock(&lock);
    b->next = head;
    if (head) head->prev = b;
    head = b;
    pthread_mutex_unlock(&lock);
    return b;
}

void lazy_buf_retain(lazy_buf *b) {
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
}

void lazy_buf_release(lazy_buf *b) {
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
    pthread_mutex_lock(&lock);
    if (b->prev) b->prev->next = b->next;
    else head = b->next;
    if (b->next) b->next->prev = b->prev;
    pthread_mutex_unlock(&lock);
    device_buffer_release(b->dev);
    base_free(b);
}

size_t lazy_live_buffers(lazy_live *out, size_t max) {
    size_t n = 0;
    pthread_mutex_lock(&lock);
    for (lazy_buf *b = head; b; b = b->next) {
        if (device_buffer_deleted(b->dev)) continue; /* donated: the output that took it over is counted */
        if (n < max) out[n] = b->info;
        n++;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

typedef struct group {
    src_id src;
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
static size_t grouped(group **out) {
    *out = NULL;
    size_t n = lazy_live_buffers(NULL, 0), made = 0;
    lazy_live *all = base_malloc((n + 1) * sizeof *all);
    group *g = base_malloc((n + 1) * sizeof *g);
    if (all && g) {
        size_t got = lazy_live_buffers(all, n);
        if (got < n) n = got;
        for (size_t i = 0; i < n; i++) {
            size_t k = 0;
            while (k < made && !(g[k].src == all[i].src && g[k].path == all[i].path && g[k].role == all[i].role && g[k].type == all[i].type)) k++;
            if (k == made) g[made++] = (group){all[i].src, all[i].path, all[i].role, 0, 0, all[i].type};
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
    size_t n = grouped(&g);
    for (size_t i = 0; i < n && (int)i < max; i++) {
        const xt_src *at = src_get(g[i].src);
        rows[i] = (xt_memory_row){.file = at->file, .path = intern_text(g[i].path), .role = lazy_role_name(g[i].role), .line = at->line, .bytes = g[i].bytes, .count = g[i].count};
    }
    base_free(g);
    return (int)n;
}

void lazy_append_ledger(str *out, int rows) {
    group *g;
    size_t n = grouped(&g);
    int64_t total = 0;
    for (size_t i = 0; i < n; i++) total += g[i].bytes;
    str_printf(out, "\nlive device buffers: %.2f MiB, the largest by line:", (double)total / 1048576);
    for (size_t i = 0; i < n && (int)i < rows; i++) {
        char at[256];
        str_printf(out, "\n  %10.2f MiB  %4lld x  %-10s %s  ", (double)g[i].bytes / 1048576, (long long)g[i].count, lazy_role_name(g[i].role),
                   src_text(g[i].src, at, sizeof at));
        if (g[i].type) ir_type_print(g[i].type, out);
        if (g[i].path) str_printf(out, "  %s", intern_text(g[i].path));
    }
    base_free(g);
}
