/* Key-value store in the segment: a log of records under a lock shared by the processes, and a table of chains of those
 * whose keys have the same hash, the newest first.
 *
 * A record is published by making it the head of its chain, so a rank that dies while it writes leaves no half record,
 * and its lock is taken over (robust mutex). A key put again gets a new record unless the value has the same size; the
 * last record of a key counts. Who waits for a key sleeps on the bell of its chains: n ranks that each put a value and
 * wait for another's wake n times, not n times n. */
#include "coll/shm/segment.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHAINS = 4096, BELLS = 256 };

typedef struct kv_table {
    uint32_t heads[CHAINS]; /* where in the log a chain's first record begins, and 1; 0: it has none */
    _Alignas(64) _Atomic uint32_t bells[BELLS];
} kv_table;

typedef struct kv_record {
    uint32_t key_size, value_size, next; /* next: as in heads */
    char bytes[]; /* key, then value; the next record begins at a multiple of 8 */
} kv_record;

size_t kv_bytes(void) {
    return sizeof(kv_table) + ((size_t)4 << 20);
}

static kv_table *table_of(seg_header *h) {
    return (kv_table *)(void *)((char *)h + h->kv_at);
}

static kv_record *record_at(seg_header *h, uint32_t place) {
    return place ? (kv_record *)(void *)((char *)h + h->kv_at + sizeof(kv_table) + place - 1) : NULL;
}

static size_t chain_of(const char *key, size_t key_size) {
    return (size_t)(hash_bytes(key, key_size, (hash128){0, 0}).lo % CHAINS);
}

_Atomic uint32_t *kv_bell(seg_header *h, const char *key, size_t key_size) {
    return &table_of(h)->bells[chain_of(key, key_size) % BELLS];
}

xt_status kv_init(seg_header *h) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    int err = pthread_mutex_init(&h->kv_lock, &attr);
    pthread_mutexattr_destroy(&attr);
    return err ? status_new(XT_INTERNAL, NULL, "making the lock of the ranks' key-value store: %s", strerror(err))
               : NULL;
}

static xt_status lock(seg_header *h) {
    struct timespec limit;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 30; /* held for microseconds; only a stopped process makes this long */
    int err = pthread_mutex_timedlock(&h->kv_lock, &limit);
    if (err == EOWNERDEAD) err = pthread_mutex_consistent(&h->kv_lock);
    if (!err) return NULL;
    return status_new(XT_UNAVAILABLE, NULL,
                      "the lock of the ranks' key-value store: %s; is a rank stopped in a debugger?", strerror(err));
}

static size_t record_bytes(size_t key_size, size_t value_size) {
    return (sizeof(kv_record) + key_size + value_size + 7) & ~(size_t)7;
}

static kv_record *find(seg_header *h, const char *key, size_t key_size) {
    kv_record *rec = record_at(h, table_of(h)->heads[chain_of(key, key_size)]);
    while (rec && (rec->key_size != key_size || memcmp(rec->bytes, key, key_size) != 0)) rec = record_at(h, rec->next);
    return rec;
}

static xt_status append(seg_header *h, const char *key, size_t key_size, const char *value, size_t value_size) {
    size_t used = h->kv_used, need = record_bytes(key_size, value_size), room = h->kv_bytes - sizeof(kv_table);
    uint32_t *head = &table_of(h)->heads[chain_of(key, key_size)];
    if (need > room - used)
        return status_new(XT_OUT_OF_RANGE, NULL,
                          "the ranks' key-value store is full: %zu of %zu bytes used, %zu wanted for key '%.*s'", used,
                          room, need, (int)(key_size > 80 ? 80 : key_size), key);
    h->kv_used = used + need; /* who dies here has taken room, and no more */
    kv_record *rec = record_at(h, (uint32_t)used + 1);
    rec->key_size = (uint32_t)key_size;
    rec->value_size = (uint32_t)value_size;
    rec->next = *head;
    memcpy(rec->bytes, key, key_size);
    if (value_size) memcpy(rec->bytes + key_size, value, value_size);
    atomic_thread_fence(memory_order_release);
    *head = (uint32_t)used + 1;
    return NULL;
}

xt_status shm_put(coll_group *g, const char *key, size_t key_size, const char *value, size_t value_size) {
    seg_header *h = ((segment *)g->state)->head;
    XT_TRY(lock(h));
    xt_status st = NULL;
    kv_record *rec = find(h, key, key_size);
    if (rec && rec->value_size == value_size) {
        if (value_size) memcpy(rec->bytes + key_size, value, value_size);
    } else {
        st = append(h, key, key_size, value, value_size);
    }
    pthread_mutex_unlock(&h->kv_lock);
    _Atomic uint32_t *bell = kv_bell(h, key, key_size);
    atomic_fetch_add(bell, 1);
    syscall(SYS_futex, (uint32_t *)bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return st;
}

xt_status shm_look(coll_group *g, const char *key, size_t key_size, char **out, size_t *out_size, bool *out_found) {
    seg_header *h = ((segment *)g->state)->head;
    XT_TRY(lock(h));
    xt_status st = NULL;
    kv_record *rec = find(h, key, key_size);
    *out_found = rec != NULL;
    if (rec) {
        *out = base_malloc((size_t)rec->value_size + 1);
        if (*out) {
            memcpy(*out, rec->bytes + key_size, rec->value_size);
            (*out)[rec->value_size] = 0;
            *out_size = rec->value_size;
        } else {
            st = status_oom(rec->value_size, "a value of the ranks' key-value store");
        }
    }
    pthread_mutex_unlock(&h->kv_lock);
    return st;
}

static xt_status no_value(segment *s, const char *key, size_t key_size) {
    str text = STR_INIT;
    segment_describe(s, UINT64_MAX, &text);
    xt_status st = status_new(XT_DEADLINE_EXCEEDED, NULL,
                              "no rank has put a value under the key '%.*s' within the time limit; the ranks: %s",
                              (int)(key_size > 80 ? 80 : key_size), key, str_cstr(&text));
    str_free(&text);
    return st;
}

/* Whether a rank that might still put it has gone: looked at as often as a sleeper wakes by itself, for each of n who
 * wait looks at n processes. */
static xt_status look_at_others(segment *s, int64_t *looked, int64_t *since) {
    int64_t now = coll_now();
    if (now - *looked < SEGMENT_SLICE_NS && !*since) return NULL;
    *looked = now;
    xt_status st = NULL;
    for (int r = 0; r < s->size && !st; r++)
        if (r != s->rank) st = segment_check_rank(s, r, "a read of the key-value store");
    return segment_confirm(&st, since) ? st : NULL;
}

xt_status shm_get(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out, size_t *out_size) {
    segment *s = g->state;
    _Atomic uint32_t *bell = kv_bell(s->head, key, key_size);
    for (int64_t since = 0, looked = coll_now();;) {
        uint32_t seen = atomic_load(bell);
        bool found = false;
        XT_TRY(shm_look(g, key, key_size, out, out_size, &found));
        if (found) return NULL;
        if (coll_now() >= deadline) return no_value(s, key, key_size);
        XT_TRY(look_at_others(s, &looked, &since));
        segment_sleep(bell, seen, deadline);
    }
}
