/* Histograms and images that a fit's training steps log are read in steps whose row is due, and in no other:
 * doc/logging.md. A fit that ends before such a step, stopped early, say, has written none of them, which is told
 * at its end. */
#include "metrics/log_int.h"

typedef struct log_unread {
    const char *call; /* "xt_log_histogram" */
    char *name;
    src_id src;
    bool read; /* in some step */
} log_unread;

void log_unread_note(log_engine *e, const xt_src *src, const char *call, const char *name, bool read) {
    for (size_t i = 0; i < e->n_unread; i++) {
        log_unread *u = &e->unread[i];
        if (strcmp(u->call, call) != 0 || strcmp(u->name, name) != 0) continue;
        u->read = u->read || read;
        return;
    }
    log_unread u = {call, base_strdup(name), src_intern(src), read};
    if (!u.name || !VEC_PUSH(e->unread, e->n_unread, e->cap_unread, u)) base_free(u.name); /* a warning less */
}

void log_unread_forget(void) {
    log_engine *e = log_engine_peek();
    for (size_t i = 0; e && i < e->n_unread; i++) base_free(e->unread[i].name);
    if (e) e->n_unread = 0;
}

void log_unread_tell(int64_t every) {
    const log_engine *e = log_engine_peek();
    char at[256];
    for (size_t i = 0; e && world_get()->rank == 0 && i < e->n_unread; i++) {
        const log_unread *u = &e->unread[i];
        if (u->read) continue;
        log_msg(XT_SEV_WARNING,
                "%s: %s \"%s\" is not written: training steps read it when their row is due, and none of them was "
                "(log_every_n_steps = %lld)",
                src_text(u->src, at, sizeof at), u->call, u->name, (long long)every);
    }
    log_unread_forget();
}

void log_unread_free(log_engine *e) {
    for (size_t i = 0; i < e->n_unread; i++) base_free(e->unread[i].name);
    base_free(e->unread);
}
