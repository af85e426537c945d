/* Executable memory: one file in memory, mapped twice, so that no page is ever writable and executable at the same
 * place and code may be added while other threads run. Code is found again by its bytes, counted, and its room used
 * again when the last user lets go. */
#include "cpu/vector/jit.h"
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

struct jit_code {
    jit_code *next; /* in its bucket, or in the list of free ones */
    uint64_t hash;
    size_t size, room; /* room: bytes it may use, a multiple of UNIT */
    size_t at;
    int users;
};

enum { UNIT = 64, BUCKETS = 1 << 14, CLASSES = 64 };
static const size_t MOST = (size_t)64 << 20, STEP
= (size_t)256 << 10; /* address space; so much of it gets memory at a time */
static struct {
    pthread_mutex_t lock;
    bool tried;
    uint8_t *write, *run;
    int fd;
    size_t used, backed; /* backed: so many bytes have memory; a store behind them could be a SIGBUS */
    jit_code *buckets[BUCKETS];
    jit_code *unused[CLASSES + 1]; /* by room in units; the last: all larger ones */
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool open_memory(void) {
    if (memory.tried) return memory.run != NULL;
    memory.tried = true;
    file_keep_standard();
    int fd = memfd_create("xtrain-code", MFD_CLOEXEC);
    if (fd < 0) return false;
    void *w = MAP_FAILED, *x = MAP_FAILED;
    if (ftruncate(fd, (off_t)MOST) == 0) {
        w = mmap(NULL, MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        x = mmap(NULL, MOST, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    }
    memory.fd = fd;
    if (w != MAP_FAILED && x != MAP_FAILED) {
        memory.write = w;
        memory.run = x;
        return true;
    }
    if (w != MAP_FAILED) munmap(w, MOST);
    if (x != MAP_FAILED) munmap(x, MOST);
    close(fd);
    return false;
}

/* Memory for the first n bytes. */
static bool back(size_t n) {
    size_t upto = (n + STEP - 1) / STEP
    *STEP;
    if (upto > MOST) upto = MOST;
    if (n > memory.backed && fallocate(memory.fd, 0, (off_t)memory.backed, (off_t)(upto - memory.backed)) != 0 &&
        errno != EOPNOTSUPP)
        return false;
    if (upto > memory.backed) memory.backed = upto;
    return true;
}

static size_t class_of(size_t room) {
    return room / UNIT < CLASSES ? room / UNIT : CLASSES;
}

/* Room for n bytes: one that was given back and is not much larger, else new. */
static jit_code *get_room(size_t n) {
    size_t room = (n + UNIT - 1) / UNIT * UNIT, most = room + room / 4;
    for (size_t k = class_of(room); k <= class_of(most); k++)
        for (jit_code **link = &memory.unused[k]; *link; link = &(*link)->next) {
            jit_code *c = *link;
            if (c->room < room || c->room > most) continue;
            *link = c->next;
            return c;
        }
    if (memory.used + room > MOST || !back(memory.used + room)) return NULL;
    jit_code *c = base_calloc(1, sizeof *c);
    if (!c) return NULL;
    c->room = room;
    c->at = memory.used;
    memory.used += room;
    return c;
}

jit_code *jit_code_get(const uint8_t *bytes, size_t n) {
    hash128 h = hash_bytes(bytes, n, (hash128){0x6a6974, 0});
    jit_code **bucket = &memory.buckets[h.lo % BUCKETS], *c;
    pthread_mutex_lock(&memory.lock);
    for (c = *bucket; c; c = c->next)
        if (c->hash == h.hi && c->size == n && !memcmp(memory.write + c->at, bytes, n)) break;
    if (!c && open_memory() && (c = get_room(n))) {
        memcpy(memory.write + c->at, bytes, n);
        c->hash = h.hi;
        c->size = n;
        c->users = 0;
        c->next = *bucket;
        *bucket = c;
    }
    if (c) c->users++;
    pthread_mutex_unlock(&memory.lock);
    return c;
}

jit_fn jit_function(const jit_code *c) {
    union { /* an object pointer cannot be cast to a function's in strict C */
        const uint8_t *data;
        jit_fn fn;
    } u = {memory.run + c->at};
    return u.fn;
}

void jit_release(jit_code *c) {
    if (!c) return;
    pthread_mutex_lock(&memory.lock);
    if (--c->users == 0) {
        hash128 h = hash_bytes(memory.write + c->at, c->size, (hash128){0x6a6974, 0});
        jit_code **link = &memory.buckets[h.lo % BUCKETS];
        while (*link != c) link = &(*link)->next;
        *link = c->next;
        c->next = memory.unused[class_of(c->room)];
        memory.unused[class_of(c->room)] = c;
    }
    pthread_mutex_unlock(&memory.lock);
}
