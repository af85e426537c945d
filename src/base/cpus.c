/* See cpus.h. */
#include "base/cpus.h"

#include <dlfcn.h>
#include <string.h>

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

int cpus_start(pthread_t *out, void *(*fn)(void *), void *arg) {
    cpu_set_t set;
    pthread_attr_t attr;
    if (!places_of_openmp(&set) || pthread_attr_init(&attr) != 0) return pthread_create(out, NULL, fn, arg);
    int error = pthread_attr_setaffinity_np(&attr, sizeof set, &set);
    error = pthread_create(out, error ? NULL : &attr, fn, arg);
    pthread_attr_destroy(&attr);
    return error;
}

void cpus_unbind(void) {
    cpu_set_t set;
    if (places_of_openmp(&set)) sched_setaffinity(0, sizeof set, &set);
}
