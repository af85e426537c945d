/* Making, finding and leaving segments.
 *
 * Two kinds of names:
 *  - "/proc/PID/fd/N:TOKEN": a memory file of the maker (shm_create). It is in no folder, so a killed run leaves
 *    nothing behind; the token guards against a file number that was used again.
 *  - a WORD the ranks agree on (Ray, SLURM, mpirun without a launcher of ours): DIR/xtrain-UID-WORD, 0600. Under the
 *    file's lock the first to come fills it in, each takes its slot, the last unlinks it. A file whose ranks are all
 *    dead is left from a killed run: it is unlinked and made anew; of other words too, whoever starts next with this
 *    user. A file that was unlinked while one waited for the lock is another group's: one looks again. */
#include "coll/shm/segment.h"
#include "base/cpus.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/private_file.h"

#define MAGIC 0x31676573636f7478u /* any fixed number */
#define VERSION 6
#define MAX_RANKS 4096

static size_t round_up(size_t n, size_t to) {
    return (n + to - 1) / to * to;
}

/* Large areas let the chunks of big messages hide the waits; many ranks share what is sensible for one host. */
static size_t area_bytes(int size) {
    return size <= 8 ? (size_t)512 << 10 : size <= 64 ? (size_t)256 << 10 : (size_t)128 << 10;
}

static seg_header plan_layout(int size) {
    seg_header h = {.magic = MAGIC, .version = VERSION, .size = (uint32_t)size};
    h.slots_at = round_up(sizeof(seg_header), 4096);
    h.kv_at = round_up(h.slots_at + (size_t)size * sizeof(seg_slot), 4096);
    h.kv_bytes = round_up(kv_bytes(), 4096);
    h.areas_at = h.kv_at + h.kv_bytes;
    h.area = area_bytes(size);
    h.bytes = h.areas_at + ((size_t)size + 1) * 2 * h.area;
    return h;
}

static xt_status map_file(int fd, size_t bytes, seg_header **out) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return status_errno("mapping the ranks' shared memory", "");
    *out = p;
    return NULL;
}

/* Sizes and fills a new file; the magic goes in last. */
static xt_status fill_file(int fd, int size, uint64_t token, const char *remedy) {
    seg_header plan = plan_layout(size), *h = NULL;
    int err = file_allocate(fd, plan.bytes); /* a full tmpfs is an error here, not a SIGBUS later */
    if (err)
        return status_new(XT_RESOURCE_EXHAUSTED, NULL, "the ranks' shared memory needs %llu MiB: %s; %s",
                          (unsigned long long)(plan.bytes >> 20), strerror(err), remedy);
    XT_TRY(map_file(fd, plan.bytes, &h));
    plan.token = token;
    plan.magic = 0;
    *h = plan;
    xt_status st = kv_init(h);
    atomic_thread_fence(memory_order_seq_cst);
    if (!st) h->magic = MAGIC;
    munmap(h, plan.bytes);
    return st;
}

/* Read, not looked at through a mapping: the file may end before its header does, or have a hole there. `out` is all
 * zero then, as before its maker is done. */
static void read_header(int fd, seg_header *out) {
    memset(out, 0, sizeof *out);
    if (pread(fd, out, sizeof *out, 0) != (ssize_t)sizeof *out) memset(out, 0, sizeof *out);
}

/* Whether all parts lie where this version puts them: nothing behind the file's end is touched, whoever wrote the
 * header. */
static bool laid_out(const seg_header *h) {
    seg_header plan = plan_layout((int)h->size);
    return h->bytes == plan.bytes && h->slots_at == plan.slots_at && h->kv_at == plan.kv_at &&
           h->kv_bytes == plan.kv_bytes && h->areas_at == plan.areas_at && h->area == plan.area;
}

static xt_status check_header(const seg_header *h, size_t file_bytes, int size, const char *name) {
    if (h->magic != MAGIC || h->version != VERSION || h->size > MAX_RANKS || !laid_out(h) || h->bytes > file_bytes)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "the shared memory '%s' was not made by this version of the library (magic %llx, version %u, "
                          "expected version %d): all ranks "
                          "must run the same xtrain",
                          name, (unsigned long long)h->magic, h->version, VERSION);
    if (h->size == (uint32_t)size) return NULL;
    return status_new(
        XT_INVALID_ARGUMENT, NULL,
        "the shared memory '%s' was made for %u ranks, this rank expects %d: XT_WORLD_SIZE must be equal in all ranks",
        name, h->size, size);
}

static seg_slot *slots_of(seg_header *h) {
    return (seg_slot *)((char *)h + h->slots_at);
}

static void set_up(seg_header *h, int rank, segment *out) {
    /* With a core for each: about 50 us, longer than an unhindered rank takes, and short where another program has the
     * core and sleeping lets it run. Where ranks share cores the one that is waited for may need this rank's. */
    int roomy = cpus_count(), spins = roomy >= (int)h->size ? 2000 : 400 * roomy / (int)h->size;
    *out = (segment){.head = h, .slots = slots_of(h), .rank = rank, .size = (int)h->size, .spins = spins};
}

static void take_slot(segment *s) {
    seg_slot *slot = &s->slots[s->rank];
    segment_fill_slot(slot, getpid());
    atomic_store(&slot->state, SLOT_JOINED);
}

/* --- made by a launcher --- */

typedef struct made {
    char *name;
    int fd, maker;
    seg_header *head;
    struct made *next;
} made;
static made *all_made;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;

static xt_status new_token(uint64_t *out) {
    if (getrandom(out, sizeof *out, 0) == (ssize_t)sizeof *out) return NULL;
    return status_errno("reading random bytes", "");
}

static char *word_path(const char *word);
static void sweep_words(void);

static xt_status make(int size, made *m) {
    uint64_t token;
    XT_TRY(new_token(&token));
    file_keep_standard();
    m->fd = memfd_create("xtrain-ranks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (m->fd < 0) return status_errno("making the ranks' shared memory", "");
    if (fchmod(m->fd, 0600) != 0) return status_errno("protecting the ranks' shared memory", "");
    XT_TRY(fill_file(m->fd, size, token, "fewer ranks, or more memory, are needed"));
    fcntl(m->fd, F_ADD_SEALS,
          F_SEAL_SHRINK |
              F_SEAL_GROW); /* nobody makes it shorter under the ranks; where seals are unknown, all is as before */
    XT_TRY(map_file(m->fd, plan_layout(size).bytes, &m->head));
    m->maker = getpid();
    str name = STR_INIT;
    str_printf(&name, "/proc/%d/fd/%d:%016llx", m->maker, m->fd, (unsigned long long)token);
    if (name.failed) return status_oom(64, "the name of the ranks' shared memory");
    m->name = name.data;
    return NULL;
}

static void unmake(made *m) {
    if (m->head) munmap(m->head, m->head->bytes);
    if (m->fd >= 0) close(m->fd);
    base_free(m->name);
    base_free(m);
}

xt_status shm_create(int size, char **out_name) {
    if (size < 1 || size > MAX_RANKS)
        return status_new(XT_INVALID_ARGUMENT, NULL, "a run of %d ranks; 1 to %d are possible", size, MAX_RANKS);
    sweep_words();
    made *m = base_calloc(1, sizeof *m);
    if (!m) return status_oom(sizeof *m, "the ranks' shared memory");
    m->fd = -1;
    xt_status st = make(size, m);
    if (!st && !(*out_name = base_strdup(m->name))) st = status_oom(64, "the name of the ranks' shared memory");
    if (st) {
        unmake(m);
        return st;
    }
    pthread_mutex_lock(&made_lock);
    m->next = all_made;
    all_made = m;
    pthread_mutex_unlock(&made_lock);
    return NULL;
}

void shm_destroy(const char *name) {
    if (!name) return;
    pthread_mutex_lock(&made_lock);
    made **at = &all_made;
    while (*at && strcmp((*at)->name, name) != 0) at = &(*at)->next;
    made *m = *at;
    if (m) *at = m->next;
    pthread_mutex_unlock(&made_lock);
    if (m) unmake(m);
    if (name[0] == '/') return;
    char *path = word_path(name);
    if (path) unlink(path);
    base_free(path);
}

static seg_slot *made_slot(const char *name, int rank) {
    for (made *m = all_made; m; m = m->next)
        if (strcmp(m->name, name) == 0 && rank >= 0 && rank < (int)m->head->size) return &slots_of(m->head)[rank];
    return NULL;
}

void shm_announce(const char *name, int rank, int pid) {
    pthread_mutex_lock(&made_lock);
    seg_slot *slot = name ? made_slot(name, rank) : NULL;
    /* A rank that has joined already knows its own pid better: the launched program may be a child of a script. */
    if (slot && atomic_load(&slot->state) == SLOT_EMPTY) segment_fill_slot(slot, pid);
    pthread_mutex_unlock(&made_lock);
}

void shm_announce_end(const char *name, int rank, const char *how) {
    pthread_mutex_lock(&made_lock);
    seg_slot *slot = name ? made_slot(name, rank) : NULL;
    if (slot) segment_say_end(slot, COLL_OWN_END, how); /* unless it said so itself */
    if (slot && atomic_load(&slot->state) == SLOT_EMPTY) atomic_store(&slot->state, SLOT_CLOSED);
    pthread_mutex_unlock(&made_lock);
}

bool shm_last_note(const char *name, int rank, char *out, size_t n) {
    pthread_mutex_lock(&made_lock);
    seg_slot *slot = name && n ? made_slot(name, rank) : NULL;
    if (n) snprintf(out, n, "%.*s", slot ? COLL_NOTE_SIZE - 1 : 0, slot ? slot->note : "");
    pthread_mutex_unlock(&made_lock);
    return n && out[0];
}

static xt_status attach_made(const char *name, int rank, int size, segment *out) {
    const char *colon = strrchr(name, ':');
    char *path = colon ? base_strndup(name, (size_t)(colon - name)) : NULL;
    if (!path)
        return status_new(XT_INVALID_ARGUMENT, NULL, "XT_RENDEZVOUS '%s' is not a name the launcher makes", name);
    file_keep_standard();
    int fd = open(path, O_RDWR | O_CLOEXEC);
    base_free(path);
    if (fd < 0)
        return status_new(XT_UNAVAILABLE, NULL,
                          "joining the run '%s': %s; has the launcher that started this rank ended?", name,
                          strerror(errno));
    struct stat st;
    seg_header *h = NULL, seen;
    xt_status err = NULL;
    read_header(fd, &seen);
    if (fstat(fd, &st) != 0 || (size_t)st.st_size < sizeof *h)
        err = status_new(XT_UNAVAILABLE, NULL,
                         "joining the run '%s': that file is not the ranks' shared memory; has the launcher ended?",
                         name);
    if (!err) err = check_header(&seen, (size_t)st.st_size, size, name);
    if (!err && seen.token != strtoull(colon + 1, NULL, 16))
        err = status_new(XT_UNAVAILABLE, NULL,
                         "joining the run '%s': another program's memory is there; has the launcher ended?", name);
    if (!err) err = map_file(fd, seen.bytes, &h);
    close(fd);
    XT_TRY(err);
    set_up(h, rank, out);
    int holder = atomic_load(&out->slots[rank].pid);
    if (atomic_load(&out->slots[rank].state) != SLOT_EMPTY && holder != getpid()) {
        err = status_new(XT_ALREADY_EXISTS, NULL,
                         "rank %d of the run '%s' is already there (pid %d): XT_RANK must differ in each rank", rank,
                         name, holder);
        munmap(h, h->bytes);
        return err;
    }
    take_slot(out);
    return NULL;
}

/* --- agreed words --- */

static const char *word_folder(void) {
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static char *word_path(const char *word) {
    if (!word[0] || strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") != strlen(word))
        return NULL;
    str path = STR_INIT;
    str_printf(&path, "%s/xtrain-%u-%s", word_folder(), (unsigned)geteuid(), word);
    if (path.failed || path.len > 240) {
        str_free(&path);
        return NULL;
    }
    return path.data;
}

static bool occupied(seg_slot *slot) {
    return atomic_load(&slot->pid) != 0;
}

static bool occupant_lives(const seg_slot *slot) {
    return atomic_load(&slot->state) == SLOT_JOINED && segment_slot_lives(slot);
}

/* Left from a killed run: someone was here and nobody lives, or the one in our place does not. */
static bool left_over(seg_header *h, int rank) {
    int here = 0, alive = 0;
    for (int r = 0; r < (int)h->size; r++) {
        seg_slot *slot = &slots_of(h)[r];
        here += occupied(slot);
        alive += occupied(slot) && occupant_lives(slot);
    }
    seg_slot *own = &slots_of(h)[rank];
    return (here > 0 && alive == 0) || (occupied(own) && !occupant_lives(own));
}

static xt_status own_file(int fd, const char *path) {
    struct stat st;
    if (fstat(fd, &st) != 0) return status_errno("looking at", path);
    if (st.st_uid == geteuid() && S_ISREG(st.st_mode) && !(st.st_mode & 077)) return NULL;
    return status_new(XT_PERMISSION_DENIED, NULL,
                      "%s belongs to another user or is open to others; remove it or choose another XT_RENDEZVOUS",
                      path);
}

/* Under the lock of fd: nobody who lives is in it, nor comes. Who waits for the lock looks again, and makes it anew. A
 * file of another version's cannot be read, and stays. */
static bool nobody_in(int fd, const char *path) {
    struct stat st;
    seg_header h;
    seg_slot slot;
    xt_status s = own_file(fd, path);
    bool nobody = !s && fstat(fd, &st) == 0 && st.st_nlink > 0;
    read_header(fd, &h);
    if (nobody && h.magic) s = check_header(&h, (size_t)st.st_size, (int)h.size, path);
    for (size_t r = 0; nobody && !s && h.magic && r < h.size; r++)
        nobody = pread(fd, &slot, sizeof slot, (off_t)(h.slots_at + r * sizeof slot)) == (ssize_t)sizeof slot &&
                 !occupant_lives(&slot);
    nobody = nobody && !s;
    xt_status_free(s);
    return nobody;
}

/* A run that is killed before its last rank has come leaves its file, and its word may never be used again. */
static void sweep_words(void) {
    char own[32];
    const char *dir = word_folder();
    DIR *d = opendir(dir);
    int n = snprintf(own, sizeof own, "xtrain-%u-", (unsigned)geteuid());
    for (struct dirent *e; d && (e = readdir(d));) {
        int fd = strncmp(e->d_name, own, (size_t)n) == 0 ? file_open_regular(dirfd(d), e->d_name, NULL) : -1;
        if (fd < 0) continue;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && nobody_in(fd, e->d_name) && unlinkat(dirfd(d), e->d_name, 0) == 0)
            log_msg(XT_SEV_INFO, "%s/%s, the shared memory of ranks that are all dead, is removed", dir, e->d_name);
        close(fd);
    }
    if (d) closedir(d);
}

/* Under the lock of fd. Without an error, *out_joined says whether we are in; if not, the file has been unlinked and
 * one must look again. */
static xt_status join_locked(int fd, const char *path, const char *word, int rank, int size, segment *out,
                             bool *out_joined) {
    struct stat st;
    XT_TRY(own_file(fd, path));
    if (fstat(fd, &st) != 0) return status_errno("looking at", path);
    if (st.st_nlink == 0) return NULL;
    if (st.st_size == 0) {
        xt_status err = fill_file(fd, size, 0, "make /dev/shm larger (docker: --shm-size)");
        if (err) unlink(path);
        XT_TRY(err);
        if (fstat(fd, &st) != 0) return status_errno("looking at", path);
    }
    seg_header *h = NULL, seen;
    read_header(fd, &seen);
    bool half_made = seen.magic == 0; /* who filled it in was killed at that: we have the lock */
    if (!half_made) XT_TRY(check_header(&seen, (size_t)st.st_size, size, word));
    xt_status err = half_made ? NULL : map_file(fd, seen.bytes, &h);
    bool stale = half_made || (!err && left_over(h, rank));
    seg_slot *own = err || stale ? NULL : &slots_of(h)[rank];
    if (!err && !stale && occupied(own))
        err = status_new(XT_ALREADY_EXISTS, NULL,
                         "rank %d of the run '%s' is already there (pid %d): each run needs a word of its own in "
                         "XT_RENDEZVOUS, each rank its own XT_RANK",
                         rank, word, (int)atomic_load(&own->pid));
    if (stale) unlink(path);
    if (err || stale) {
        if (h) munmap(h, seen.bytes);
        return err;
    }
    set_up(h, rank, out);
    take_slot(out);
    *out_joined = true;
    int joined = 0;
    for (int r = 0; r < size; r++) joined += occupied(&out->slots[r]);
    if (joined == size) unlink(path);
    return NULL;
}

static xt_status attach_word(const char *word, int rank, int size, int64_t deadline, segment *out) {
    char *path = word_path(word);
    if (!path)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "XT_RENDEZVOUS '%s': a word of letters, digits, '.', '_' and '-' (at most 200) is expected",
                          word);
    xt_status st = NULL;
    bool joined = false;
    sweep_words();
    while (!st && !joined) {
        file_keep_standard();
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0) {
            st = status_errno("making the ranks' shared memory", path);
            break;
        }
        if (flock(fd, LOCK_EX) != 0)
            st = status_errno("locking", path);
        else
            st = join_locked(fd, path, word, rank, size, out, &joined);
        flock(fd, LOCK_UN); /* close alone would not: the mapping keeps the file open */
        close(fd);
        if (!st && !joined && coll_now() > deadline)
            st = status_new(XT_DEADLINE_EXCEEDED, NULL, "the file %s keeps being replaced", path);
    }
    base_free(path);
    return st;
}

xt_status segment_attach(const char *name, int rank, int size, int64_t deadline, segment *out) {
    if (size < 1 || size > MAX_RANKS || rank < 0 || rank >= size)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "rank %d of %d; ranks go from 0 to size - 1 and 1 to %d ranks are possible", rank, size,
                          MAX_RANKS);
    return name[0] == '/' ? attach_made(name, rank, size, out) : attach_word(name, rank, size, deadline, out);
}

void segment_detach(segment *s) {
    if (s->head) munmap(s->head, s->head->bytes);
    s->head = NULL;
}
