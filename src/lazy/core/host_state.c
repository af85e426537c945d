/* States in host memory. A state that leaves the device looks like one that has not been used yet: its bytes wait in
 * slot.host, and its next use uploads them. So whatever reads or writes states (checkpoints, averages, xt_read) needs
 * to know nothing of it.
 *
 * Moves run in the background: the read is started, and whoever started it finishes it, which takes the buffer
 * off the device. */
#include "lazy/core/ctx.h"

typedef struct moved {
    lazy_move *move;
    xt_tensor state;
    lazy_buf *buf; /* retained */
    void *memory; /* NULL: a rehearsal's, which nobody reads */
} moved;
struct lazy_move {
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    size_t n, waiting;
    xt_status error; /* the first */
    moved items[];
};

static void arrived(void *user, xt_status error) {
    lazy_move *m = ((moved *)user)->move;
    pthread_mutex_lock(&m->lock);
    if (m->error)
        xt_status_free(error);
    else
        m->error = error;
    m->waiting--;
    pthread_cond_signal(&m->arrived);
    pthread_mutex_unlock(&m->lock);
}

static xt_status start(lazy_ctx *c, lazy_move *m, xt_tensor state, void *memory) {
    lazy_slot *s = lazy_slot_of(c, state);
    if (!s || !s->buf) { /* gone, or in host memory already */
        base_free(memory);
        return NULL;
    }
    moved *item = &m->items[m->n];
    *item = (moved){m, state, s->buf, memory};
    size_t n = device_buffer_bytes(s->buf->dev);
    if (!memory && !lazy_rehearsing() && !(item->memory = base_malloc(n ? n : 1)))
        return status_oom(n, intern_text(s->name));
    lazy_buf_retain(s->buf);
    m->n++;
    if (!item->memory) { /* a rehearsal counts what would move */
        counter_add(COUNTER_host_read_bytes, (int64_t)n);
        return NULL;
    }
    pthread_mutex_lock(&m->lock);
    m->waiting++;
    pthread_mutex_unlock(&m->lock);
    xt_status e = device_read_async(s->buf->dev, item->memory, n, arrived, item);
    if (!e) return NULL;
    pthread_mutex_lock(&m->lock);
    m->waiting--;
    pthread_mutex_unlock(&m->lock);
    return e;
}

xt_status lazy_to_host(size_t n, const xt_tensor *states, void *const *memory, lazy_move **out) {
    lazy_ctx *c = lazy_ctx_get();
    lazy_move *m = c ? base_calloc(1, sizeof *m + n * sizeof m->items[0]) : NULL;
    xt_status s = m ? NULL : status_oom(n * sizeof(moved), "moving states to the host");
    *out = NULL;
    if (!m) {
        for (size_t i = 0; memory && i < n; i++) base_free(memory[i]);
        return s;
    }
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->arrived, NULL);
    for (size_t i = 0; i < n; i++) {
        if (!s)
            s = start(c, m, states[i], memory ? memory[i] : NULL);
        else if (memory)
            base_free(memory[i]);
    }
    if (!s) {
        *out = m;
        return NULL;
    }
    m->error = s; /* what was started is waited for, and stays where it is */
    return lazy_to_host_finish(m);
}

xt_status lazy_to_host_finish(lazy_move *m) {
    if (!m) return NULL;
    lazy_ctx *c = lazy_ctx_get();
    pthread_mutex_lock(&m->lock);
    while (m->waiting) pthread_cond_wait(&m->arrived, &m->lock);
    pthread_mutex_unlock(&m->lock);
    xt_status e = m->error;
    for (size_t i = 0; i < m->n; i++) {
        moved *item = &m->items[i];
        lazy_slot *s = c && !e ? lazy_slot_of(c, item->state) : NULL;
        if (s && s->buf == item->buf && !s->value && !s->leaf) {
            lazy_buf_release(s->buf);
            s->buf = NULL;
            lazy_host_drop(s);
            s->host = item->memory;
            s->has_host = true;
            s->host_part = s->layout != NULL;
        } else
            base_free(item->memory);
        lazy_buf_release(item->buf);
    }
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->arrived);
    base_free(m);
    return e;
}

xt_tensor lazy_carry(const xt_src *src, lazy_role role, ir_value *v, xt_tensor of) {
    lazy_ctx *c = lazy_ctx_get();
    xt_tensor t = lazy_wrap(v, "carrying a value over");
    lazy_slot *s = c ? lazy_slot_of(c, t) : NULL, *from = c ? lazy_slot_of(c, of) : NULL;
    if (!s || s->failed) return t;
    s->role = role;
    s->src = src_intern(src);
    if (from) s->name = s->path = from->name, s->layout = from->layout;
    lazy_slot_persist(c, t);
    return t;
}
