/* Who this process is among the ranks of the run. Each launcher is one function that reads its own variables; the first
 * that finds them decides, our own launcher before the others because it may itself run under one of them. Variables
 * that contradict each other are never half-believed: the process is then single, and `problem` says why, for xt_launch
 * to refuse with. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/base.h"

/* Every world ever published stays reachable through `older`: readers hold pointers without a lock. */
typedef struct published {
    world w;
    struct published *older;
} published;

static _Atomic(const world *) current;
static published *history; /* under the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const world single = {.rank = 0, .size = 1, .local_rank = 0, .local_size = 1, .source = ""};

typedef enum found { NOT_HERE, FOUND, BROKEN } found;

static const char *text_of(const char *name) {
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

static bool number_of(const char *name, int64_t *out) {
    const char *value = text_of(name);
    return value && parse_i64(value, out) && *out >= 0 && *out <= INT_MAX;
}

/* `problem` texts are interned, as they live as long as the world. */
static found broken(world *w, const char *fmt, ...) BASE_PRINTF(2, 3);
static found broken(world *w, const char *fmt, ...) {
    str text = STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    str_vprintf(&text, fmt, ap);
    va_end(ap);
    *w = single;
    uint32_t id = intern(str_cstr(&text));
    w->problem = id ? intern_text(id) : "the launcher's variables contradict each other";
    str_free(&text);
    return BROKEN;
}

typedef struct launcher_vars {
    const char *rank, *size, *local_rank, *local_size;
} launcher_vars;

/* The common case: four variables. Without the local two, all ranks are taken to be on this host. */
static found read_vars(const launcher_vars *v, world *w) {
    int64_t rank, size, local_rank, local_size;
    const char *rank_text = text_of(v->rank), *size_text = text_of(v->size);
    if (!rank_text && !size_text) return NOT_HERE;
    if (!rank_text || !size_text)
        return broken(w, "%s is set but %s is not: a launcher sets both; unset %s or set both",
                      rank_text ? v->rank : v->size, rank_text ? v->size : v->rank, rank_text ? v->rank : v->size);
    if (!number_of(v->rank, &rank) || !number_of(v->size, &size) || size < 1 || rank >= size)
        return broken(w, "%s=%s with %s=%s: expected a rank from 0 to size - 1", v->rank, rank_text, v->size,
                      size_text);
    if (!number_of(v->local_rank, &local_rank)) local_rank = rank;
    if (!number_of(v->local_size, &local_size)) local_size = local_rank == rank ? size : local_rank + 1;
    if (local_rank >= local_size || local_size > size)
        return broken(w, "%s=%lld with %s=%lld of %lld ranks: expected a local rank below the local size",
                      v->local_rank, (long long)local_rank, v->local_size, (long long)local_size, (long long)size);
    *w = (world){.rank = (int)rank,
                 .size = (int)size,
                 .local_rank = (int)local_rank,
                 .local_size = (int)local_size,
                 .launched = true,
                 .source = v->rank};
    return FOUND;
}

static found read_xtrain(world *w) {
    return read_vars(&(launcher_vars){"XT_RANK", "XT_WORLD_SIZE", "XT_LOCAL_RANK", "XT_LOCAL_SIZE"}, w);
}

static found read_openmpi(world *w) {
    return read_vars(&(launcher_vars){"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE"},
                     w);
}

/* MPICH, Intel MPI and their relatives: Hydra and PMI-1 name the ranks, MPI_LOCAL* the place on the host. */
static found read_pmi(world *w) {
    return read_vars(&(launcher_vars){"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"}, w);
}

/* Entry `node` of SLURM's compressed list "2(x3),1"; 0 when the list is shorter or not one. */
static int64_t slurm_tasks_on(const char *list, int64_t node) {
    while (list && *list) {
        char *end;
        long tasks = strtol(list, &end, 10), repeat = 1;
        if (end == list || tasks < 0) return 0;
        if (end[0] == '(' && end[1] == 'x') {
            repeat = strtol(end + 2, &end, 10);
            if (*end++ != ')') return 0;
        }
        if (node < repeat) return tasks;
        node -= repeat;
        list = *end == ',' ? end + 1 : end;
        if (list == end && *end) return 0;
    }
    return 0;
}

/* A batch script and an interactive shell have SLURM's variables too, but are no ranks: their step ids are
 * reserved numbers at the top of the 32-bit range. A step of one task is a program like any other, free to start
 * ranks of its own. */
static found read_slurm(world *w) {
    static const int64_t first_reserved_step = 0xfffffff0;
    int64_t step, node = 0;
    const char *id = text_of("SLURM_STEP_ID") ? "SLURM_STEP_ID" : "SLURM_STEPID";
    const char *step_text = text_of(id);
    if (!step_text || !parse_i64(step_text, &step) || step < 0 || step >= first_reserved_step ||
        !text_of("SLURM_PROCID"))
        return NOT_HERE;
    const char *size = text_of("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
    found f = read_vars(&(launcher_vars){"SLURM_PROCID", size, NULL, NULL}, w);
    if (f != FOUND) return f;
    if (w->size == 1) return NOT_HERE;
    number_of("SLURM_NODEID", &node);
    int64_t local_rank, local_size = slurm_tasks_on(text_of("SLURM_STEP_TASKS_PER_NODE"), node);
    if (number_of("SLURM_LOCALID", &local_rank)) {
        w->local_rank = (int)local_rank;
        w->local_size = (int)(local_size > local_rank ? local_size : local_rank + 1);
    }
    return FOUND;
}

/* Entry i of a comma-separated list; false behind the end. */
static bool list_entry(const char *list, int i, const char **out, size_t *out_n) {
    *out = "";
    *out_n = 0;
    for (; list; i--) {
        size_t n = strcspn(list, ",");
        if (i == 0) {
            *out = list;
            *out_n = n;
            return n > 0;
        }
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

static size_t host_length(const char *address, size_t n) {
    const char *colon = memrchr(address, ':', n);
    return colon ? (size_t)(colon - address) : n;
}

/* A rank per entry of `addresses`; those with the same host name are local to each other. */
static found read_list(const char *rank_name, const char *list_name, world *w) {
    const char *list = text_of(list_name), *mine, *other;
    size_t mine_n, other_n;
    int64_t rank;
    int size = 0, local_rank = 0, local_size = 0;
    if (!list || !text_of(rank_name)) return NOT_HERE;
    while (list_entry(list, size, &other, &other_n)) size++;
    if (size < 2) return NOT_HERE;
    if (!number_of(rank_name, &rank) || rank >= size)
        return broken(w, "%s=%s, but %s has %d entries: expected a rank from 0 to %d", rank_name, text_of(rank_name),
                      list_name, size, size - 1);
    list_entry(list, (int)rank, &mine, &mine_n);
    for (int i = 0; i < size; i++) {
        list_entry(list, i, &other, &other_n);
        size_t n = host_length(other, other_n);
        if (n != host_length(mine, mine_n) || memcmp(mine, other, n) != 0) continue;
        local_size++;
        local_rank += i < rank;
    }
    *w = (world){.rank = (int)rank,
                 .size = size,
                 .local_rank = local_rank,
                 .local_size = local_size,
                 .launched = true,
                 .source = rank_name};
    return FOUND;
}

/* Cloud TPU: a process per chip has a task id among process addresses; a process per host has a worker id
 * among host names. */
static found read_tpu(world *w) {
    found f = read_list("CLOUD_TPU_TASK_ID", "TPU_PROCESS_ADDRESSES", w);
    return f == NOT_HERE ? read_list("TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES", w) : f;
}

static world read_environment(void) {
    static found (*const readers[])(world *) = {read_xtrain, read_openmpi, read_pmi, read_slurm, read_tpu};
    world w = single;
    for (size_t i = 0; i < BASE_COUNT(readers); i++)
        if (readers[i](&w) != NOT_HERE) return w;
    return single;
}

/* Called under the lock. Without memory the process is single, which is always a usable answer. */
static const world *publish(const world *w) {
    published *p = base_malloc(sizeof *p);
    if (p) {
        *p = (published){*w, history};
        history = p;
    }
    const world *shown = p ? &p->w : &single;
    atomic_store_explicit(&current, shown, memory_order_release);
    return shown;
}

const world *world_get(void) {
    const world *w = atomic_load_explicit(&current, memory_order_acquire);
    if (w) return w;
    bool first = false;
    pthread_mutex_lock(&lock);
    w = atomic_load_explicit(&current, memory_order_relaxed);
    if (!w) {
        world fresh = read_environment();
        w = publish(&fresh);
        first = true;
    }
    pthread_mutex_unlock(&lock);
    /* Said after the lock is gone: the log asks for the world. */
    if (first && w->problem) log_msg(XT_SEV_WARNING, "running as a single process: %s", w->problem);
    return w;
}

void world_set(const world *w) {
    pthread_mutex_lock(&lock);
    if (w) {
        world copy = *w;
        copy.source = copy.source ? intern_text(intern(copy.source)) : "";
        if (copy.problem) copy.problem = intern_text(intern(copy.problem));
        publish(&copy);
    } else {
        atomic_store_explicit(&current, NULL, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}
