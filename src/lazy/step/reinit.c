/* xt_reinitialize: every value of this thread goes to host memory, and the device is closed with its programs; the next
 * use opens it again. Ranks open it together, so with several it is opened at once: the next use may be one rank's
 * alone, which would wait for the others there while they wait for it elsewhere. Handles stay what they are, so nothing
 * above the lazy core needs to know. What no handle names is let go by who holds it (lazy_on_reset). */
#include <xtrain/memory.h>

#include "lazy/step/step.h"

typedef struct holder {
    void (*fn)(void *user);
    void *user;
} holder;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static holder *holders;
static size_t n_holders, cap_holders;

void lazy_on_reset(void (*fn)(void *user), void *user) {
    holder h = {fn, user};
    pthread_mutex_lock(&lock);
    bool ok = VEC_PUSH(holders, n_holders, cap_holders, h);
    pthread_mutex_unlock(&lock);
    if (!ok) lazy_fail(status_oom(sizeof h, "xt_reinitialize"));
}

void lazy_reset_forget(const void *user) {
    pthread_mutex_lock(&lock);
    for (size_t i = n_holders; i-- > 0;)
        if (holders[i].user == user) memmove(&holders[i], &holders[i + 1], (--n_holders - i) * sizeof *holders);
    if (n_holders == 0) {
        base_free(holders);
        holders = NULL;
        cap_holders = 0;
    }
    pthread_mutex_unlock(&lock);
}

static void forget_devices_things(lazy_ctx *c) {
    lazy_detached_forget(c);
    for (size_t i = 0; i < c->n_packs; i++) {
        lazy_buf_release(c->packs[i].buf);
        c->packs[i].buf = NULL;
    }
    for (xt_step *f = c->steps; f; f = f->next) {
        for (size_t i = 0; i < f->n_plans; i++) lazy_plan_free(f->plans[i]);
        f->n_plans = 0;
    }
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_holders; i++) holders[i].fn(holders[i].user);
    pthread_mutex_unlock(&lock);
}

static xt_status all_to_host(lazy_ctx *c) {
    xt_tensor *t = base_malloc((c->n_slots + 1) * sizeof *t);
    size_t n = 0;
    lazy_move *m = NULL;
    if (!t) return status_oom(c->n_slots * sizeof *t, "xt_reinitialize");
    for (uint32_t i = 1; i < c->n_slots; i++) {
        lazy_slot *slot = &c->slots[i];
        lazy_buf_release(slot->read_buf);
        slot->read_buf = NULL;
        if (slot->live && slot->buf) t[n++] = (xt_tensor){i, slot->generation};
    }
    xt_status s = lazy_to_host(n, t, NULL, &m);
    if (!s) s = lazy_to_host_finish(m);
    base_free(t);
    return s;
}

static xt_status nothing_left(const xt_src *src) {
    size_t n = lazy_live_buffers(NULL, 0);
    if (n == 0) return NULL;
    str rows = STR_INIT;
    lazy_append_ledger(&rows, 5);
    xt_status s = status_new(XT_FAILED_PRECONDITION, src,
                             "xt_reinitialize: %zu buffers on the device belong to other threads, and the device "
                             "cannot be closed over them; drop them there first:%s",
                             n, str_cstr(&rows));
    str_free(&rows);
    return s;
}

/* Nothing is recorded, but values that were read may have entered the trace. */
static xt_status empty_trace(lazy_ctx *c) {
    for (uint32_t i = 1; i < c->n_slots; i++) c->slots[i].leaf = NULL;
    lazy_clear_trace(c);
    return lazy_new_trace(c);
}

bool xt_reinitialize_at(const xt_src *src) {
    lazy_ctx *c = lazy_ctx_get();
    if (!c || c->error) return false;
    if (c->replay_log || c->in_boundary) {
        lazy_fail(status_new(XT_FAILED_PRECONDITION, src, "xt_reinitialize inside a step: call it between steps"));
        return false;
    }
    bool open = c->b.block->first || c->n_requests || c->n_phases;
    /* batches that were taken already are as alive as before */
    if (open && !lazy_end_step(c, LAZY_WAIT, src, LAZY_KEEP_ALL)) return false;
    if (!lazy_drain()) return false;
    xt_status s = open ? NULL : empty_trace(c);
    if (!s) s = all_to_host(c);
    if (!s) forget_devices_things(c);
    if (!s) s = nothing_left(src);
    bool was_open = lazy_device_is_open(NULL);
    if (!s) {
        if (was_open) counter_add(COUNTER_reinitializations, 1);
        lazy_device_close();
        if (was_open && world_get()->size > 1) s = lazy_device(&(device_client *){NULL});
    }
    if (s) lazy_fail(status_at(s, src));
    return !s;
}
