/* Key-value store in the segment: a log of records under a lock shared by the processes.
 *
 * A record is published by moving `kv_used` past it, so a rank that dies while it writes leaves no half record, and its
 * lock is taken over (robust mutex). A key put again gets a new record unless the value has the same size; the last
 * record of a key counts. */
#include "coll/shm/segment.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct kv_record {
    uint32_t key_size, value_size;
    char bytes[]; /* key, then value; the next record begins at a multiple of 8 */
} kv_record;

size_t kv_log_bytes(void) {
    return (size_t)4 << 20;
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
    char *log = (char *)h + h->kv_at;
    size_t used = atomic_load(&h->kv_used);
    kv_record *found = NULL;
    for (size_t at = 0; at < used;) {
        kv_record *rec = (kv_record *)(log + at);
        if (rec->key_size == key_size && memcmp(rec->bytes, key, key_size) == 0) found = rec;
        at += record_bytes(rec->key_size, rec->value_size);
    }
    return found;
}

static xt_status append(seg_header *h, const char *key, size_t key_size, const char *value, size_t value_size) {
    size_t used = atomic_load(&h->kv_used), need = record_bytes(key_size, value_size);
    if (need > h->kv_bytes - used)
        return status_new(XT_RESOURCE_EXHAUSTED, NULL,
                          "the ranks' key-value store is full: %zu of %zu bytes used, %zu wanted for key '%.*s'", used,
                          (size_t)h->kv_bytes, need, (int)(key_size > 80 ? 80 : key_size), key);
    kv_record *rec = (kv_record *)((char *)h + h->kv_at + used);
    rec->key_size = (uint32_t)key_size;
    rec->value_size = (uint32_t)value_size;
    memcpy(rec->bytes, key, key_size);
    if (value_size) memcpy(rec->bytes + key_size, value, value_size);
    atomic_store(&h->kv_used, used + need);
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
    atomic_fetch_add(&h->kv_bell, 1);
    syscall(SYS_futex, (uint32_t *)&h->kv_bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return st;
}

static xt_status try_get(seg_header *h, const char *key, size_t key_size, char **out, size_t *out_size,
                         bool *out_found) {
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

xt_status shm_get(coll_group *g, const char *key, size_t key_size, int64_t deadline, char **out, size_t *out_size) {
    segment *s = g->state;
    for (int64_t since = 0;;) {
        uint32_t bell = atomic_load(&s->head->kv_bell);
        bool found = false;
        XT_TRY(try_get(s->head, key, key_size, out, out_size, &found));
        if (found) return NULL;
        if (coll_now() >= deadline) return no_value(s, key, key_size);
        xt_status st = NULL;
        for (int r = 0; r < s->size && !st; r++)
            if (r != s->rank) st = segment_check_rank(s, r, "a read of the key-value store");
        if (segment_confirm(&st, &since)) return st;
        segment_sleep(&s->head->kv_bell, bell, deadline);
    }
}
