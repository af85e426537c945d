/* A group: its life, one collective at a time, the failed state, notes and jobs. What it does is the affair of its row
 * of functions (coll_ops). */
#include "coll/core/group.h"

#include <stdatomic.h>

xt_status group_new(int rank, int size, coll_group **out) {
    coll_group *g = base_calloc(1, sizeof *g);
    if (!g) return status_oom(sizeof *g, "a group of ranks");
    g->rank = rank;
    g->size = size;
    pthread_mutex_init(&g->lock, NULL);
    *out = g;
    return NULL;
}

xt_status group_open(const coll_transport *t, const char *name, int rank, int size, bool later, int64_t deadline,
                     coll_group **out) {
    coll_group *g = NULL;
    XT_TRY(group_new(rank, size, &g));
    g->transport = t;
    g->later = later;
    xt_status st = t->open(g, name, deadline);
    if (!st && name && !(g->name = base_strdup(name))) st = status_oom(strlen(name), "a group of ranks");
    if (st) {
        if (g->ops) g->ops->fail(g, status_text(st));
        g->failed = g->ops ? status_clone(st) : NULL;
        coll_close(g);
        return st;
    }
    *out = g;
    return NULL;
}

void coll_close(coll_group *g) {
    if (!g) return;
    for (coll_group *sub = atomic_load(&g->subgroups), *next; sub; sub = next) {
        next = sub->next;
        coll_close(sub);
    }
    if (g->ops) g->ops->close(g);
    xt_status_free(g->failed);
    pthread_mutex_destroy(&g->lock);
    base_free(g->name);
    base_free(g->members);
    base_free(g->segment_ranks);
    base_free(g);
}

int coll_rank(const coll_group *g) {
    return g->rank;
}
int coll_size(const coll_group *g) {
    return g->size;
}
void coll_set_tag(coll_group *g, uint64_t tag) {
    g->tag = tag;
}

void coll_note(coll_group *g, const char *doing) {
    g = group_whole(g);
    char whole_words[COLL_NOTE_SIZE];
    size_t n = strlen(doing);
    if (n >= sizeof whole_words) { /* a rank that is lost is told of by this: not with half a word */
        n = sizeof whole_words - 5;
        while (n > 0 && doing[n] != ' ') n--;
        snprintf(whole_words, sizeof whole_words, "%.*s ...", (int)n, doing);
        doing = whole_words;
    }
    g->ops->note(g, doing);
}

static void drop_done(coll_group *g) { /* several may be done at once */
    while (g->first_job && g->first_job->done) g->first_job = g->first_job->next;
    if (!g->first_job) g->last_job = NULL;
}

xt_status group_advance(coll_group *g, const coll_job *last, int64_t deadline) {
    for (bool moved = true; moved && g->first_job && !(last && last->done);) {
        coll_job *j = g->first_job;
        XT_TRY(g->ops->advance(g, j, deadline));
        moved = j->done;
        drop_done(g);
    }
    return NULL;
}

xt_status group_enter(coll_group *g) {
    coll_group *w = group_whole(g);
    pthread_mutex_lock(&w->lock);
    if (g != w) g->tag = w->tag;
    if (!w->failed) return NULL;
    pthread_mutex_unlock(&w->lock);
    return status_context(status_clone(w->failed), "this group of ranks has failed before");
}

xt_status group_enter_alone(coll_group *g) { /* what was started comes first */
    XT_TRY(group_enter(g));
    xt_status st = group_whole(g)->first_job ? group_advance(group_whole(g), NULL, coll_deadline(0)) : NULL;
    return st ? group_leave(g, st) : NULL;
}

xt_status group_leave(coll_group *g, xt_status st) {
    coll_group *w = group_whole(g);
    if (st) {
        g->first_job = g->last_job = w->first_job = w->last_job = NULL;
        w->failed = status_clone(st);
        w->ops->fail(w, status_text(st));
        if (g != w && g->ops) g->ops->fail(g, status_text(st));
    }
    pthread_mutex_unlock(&w->lock);
    return st;
}

void group_give_up(coll_group *g, const char *why) {
    /* else a thread waits in it: the others are told all the same, and it ends as they do */
    bool idle = pthread_mutex_trylock(&g->lock) == 0;
    bool first = !idle || !g->failed;
    if (idle && first) g->failed = status_new(XT_ABORTED, NULL, "%s", why);
    if (first) g->ops->fail(g, why);
    if (idle) pthread_mutex_unlock(&g->lock);
}
