/* See cpus.h. */
#include "base/cpus.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/base.h"

/* OpenMP's own names for it, of whichever runtime there is. */
typedef struct runtime {
    int (*bind)(void), (*places)(void), (*processors)(int place);
    void (*ids)(int place, int *out);
} runtime;

static bool find(const char *name, void *out) {
    void *p = dlsym(RTLD_DEFAULT, name);
    memcpy(out, &p, sizeof p);
    return p != NULL;
}

/* Of all places together; false: nothing is bound. */
static bool places_of_openmp(cpu_set_t *out) {
    enum { MOST = 4096 }; /* processors of one place */
    int ids[MOST];
    runtime r;
    CPU_ZERO(out);
    if (!find("omp_get_proc_bind", &r.bind) || !find("omp_get_num_places", &r.places) ||
        !find("omp_get_place_num_procs", &r.processors) || !find("omp_get_place_proc_ids", &r.ids) || !r.bind())
        return false;
    for (int place = r.places(); place-- > 0;) {
        int n = r.processors(place);
        if (n < 1 || n > MOST) continue;
        r.ids(place, ids);
        for (int i = 0; i < n; i++)
            if (ids[i] >= 0 && ids[i] < CPU_SETSIZE) CPU_SET((unsigned)ids[i], out);
    }
    return CPU_COUNT(out) > 0;
}

int cpus_count(void) {
    cpu_set_t set;
    if (places_of_openmp(&set)) return CPU_COUNT(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
}

static int create(pthread_t *out, void *(*fn)(void *), void *arg) {
    cpu_set_t set;
    pthread_attr_t attr;
    if (!places_of_openmp(&set) || pthread_attr_init(&attr) != 0) return pthread_create(out, NULL, fn, arg);
    int error = pthread_attr_setaffinity_np(&attr, sizeof set, &set);
    error = pthread_create(out, error ? NULL : &attr, fn, arg);
    pthread_attr_destroy(&attr);
    return error;
}

/* What the threads that have not ended are for. Without a lock, which a fork could find held. */
enum { PLACES = 256 };
static _Atomic(const char *) at_work[PLACES];
static atomic_int more_at_work;

typedef struct beginning {
    void *(*fn)(void *);
    void *arg;
    _Atomic(const char *) *place; /* NULL: one of more_at_work */
} beginning;

static _Atomic(const char *) *take_place(const char *what) {
    for (int i = 0; i < PLACES; i++) {
        const char *none = NULL;
        if (!atomic_load_explicit(&at_work[i], memory_order_relaxed) &&
            atomic_compare_exchange_strong(&at_work[i], &none, what))
            return &at_work[i];
    }
    atomic_fetch_add(&more_at_work, 1);
    return NULL;
}

static void give_place(void *place) {
    if (place)
        atomic_store((_Atomic(const char *) *)place, NULL);
    else
        atomic_fetch_sub(&more_at_work, 1);
}

static void *run(void *p) {
    beginning b = *(beginning *)p;
    void *result;
    base_free(p);
    pthread_cleanup_push(give_place, b.place); /* also where a function of the user's ends the thread */
    result = b.fn(b.arg);
    pthread_cleanup_pop(1);
    return result;
}

int cpus_start(pthread_t *out, const char *what, void *(*fn)(void *), void *arg) {
    beginning *b = base_malloc(sizeof *b);
    if (!b) return ENOMEM;
    *b = (beginning){fn, arg, take_place(what)};
    _Atomic(const char *) *place = b->place; /* the thread frees b */
    int error = create(out, run, b);
    if (!error) return 0;
    give_place(place);
    base_free(b);
    return error;
}

void cpus_server_end(cpus_server *s, bool idle, pthread_mutex_t *lock, pthread_cond_t *changed) {
    bool ends = s->ends = s->running && idle;
    pthread_t thread = s->thread;
    pthread_cond_broadcast(changed);
    pthread_mutex_unlock(lock);
    if (ends) pthread_join(thread, NULL);
}

const char *cpus_at_work(void) {
    for (int i = 0; i < PLACES; i++) {
        const char *what = atomic_load(&at_work[i]);
        if (what) return what;
    }
    return atomic_load(&more_at_work) ? "one of its threads" : NULL;
}

void cpus_unbind(void) {
    cpu_set_t set;
    if (places_of_openmp(&set)) sched_setaffinity(0, sizeof set, &set);
}
