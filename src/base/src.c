/* Source ids: one number per (file, line, function). The hot path is a cache per thread keyed by the two pointers and
 * the line that XT_HERE's compile-time constants give; a hit is still checked against the texts, because the constants
 * of an unloaded module or a foreign language's buffer may have been replaced by others at the same address. Behind it
 * is a table under a mutex. Positions are read without a lock (chunk.h) and live for the whole process.
 *
 * Calls that did not come through a macro are filed by return address: src_dwarf.c turns one into a position once, here
 * the answers are remembered until a module is unloaded. */
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "base/chunk.h"
#include "base/src_dwarf.h"

typedef struct src_key {
    uint32_t file, func;
    int32_t line;
} src_key;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static map *ids; /* src_key -> id; under the lock */
static xt_src *_Atomic chunks[CHUNK_COUNT];
__thread const xt_src *src_called_from;
static uint32_t count = 1; /* under the lock */

enum { CACHE_BITS = 9, FRAMES_MAX = 64 };
typedef struct cached {
    const char *file, *func;
    int line;
    src_id id;
} cached;
static _Thread_local cached cache[1 << CACHE_BITS];

const xt_src *src_get(src_id id) {
    static const xt_src unknown = {"?", 0, "?"};
    if (id == 0) return &unknown;
    uint32_t at, k = chunk_place(id, &at);
    const xt_src *chunk = atomic_load_explicit(&chunks[k], memory_order_acquire);
    return chunk && chunk[at].file ? &chunk[at] : &unknown;
}

const char *src_text(src_id id, char *buf, size_t n) {
    const xt_src *s = src_get(id);
    /* A position without a line is "binary+0x1234" and complete as it is. */
    if (s->line > 0)
        snprintf(buf, n, "%s:%d", s->file, s->line);
    else
        snprintf(buf, n, "%s", s->file);
    return buf;
}

/* Called under the lock; 0 without memory. */
static src_id add(const src_key *key) {
    uint32_t at, k = chunk_place(count, &at);
    xt_src *chunk = atomic_load_explicit(&chunks[k], memory_order_relaxed);
    if (!chunk) {
        chunk = base_calloc(chunk_size(k), sizeof *chunk);
        if (!chunk) return 0;
        atomic_store_explicit(&chunks[k], chunk, memory_order_release);
    }
    if (!ids && !(ids = map_new())) return 0;
    if (!map_put(ids, key, sizeof *key, (void *)(uintptr_t)count, NULL)) return 0;
    chunk[at] = (xt_src){intern_text(key->file), key->line, intern_text(key->func)};
    return count++;
}

static src_id intern_slow(const char *file, int line, const char *func) {
    src_key key = {intern(file), intern(func), line};
    if (!key.file && *file) return 0;
    pthread_mutex_lock(&lock);
    src_id id = ids ? (src_id)(uintptr_t)map_get(ids, &key, sizeof key) : 0;
    if (!id) id = add(&key);
    pthread_mutex_unlock(&lock);
    return id;
}

static bool same_text(const char *a, const char *b) {
    return a == b || strcmp(a, b) == 0;
}

src_id src_intern(const xt_src *where) {
    if (!where) return 0;
    const char *file = where->file ? where->file : "?", *func = where->func ? where->func : "?";
    uint64_t spread = ((uint64_t)(uintptr_t)file ^ (uint64_t)(uintptr_t)func << 20 ^ (uint64_t)(unsigned)where->line) *
                      0x9E3779B97F4A7C15ULL;
    cached *c = &cache[spread >> (64 - CACHE_BITS)];
    if (c->id && c->file == file && c->func == func && c->line == where->line) {
        const xt_src *known = src_get(c->id);
        if (same_text(known->file, file) && same_text(known->func, func)) return c->id;
    }
    src_id id = intern_slow(file, where->line, func);
    if (id) *c = (cached){file, func, where->line, id};
    return id;
}

/* --- Lines that are no user's --- */
static const char *hidden[8]; /* written at the program's start */
static size_t hidden_count;

XT_API void xt_hide_source(const char *prefix) {
    if (prefix && *prefix && hidden_count < BASE_COUNT(hidden)) hidden[hidden_count++] = prefix;
}

bool src_hidden(src_id id) {
    for (size_t i = 0; id && i < hidden_count; i++)
        if (strncmp(src_get(id)->file, hidden[i], strlen(hidden[i])) == 0) return true;
    return false;
}

/* --- Return addresses --- */
typedef struct frame {
    src_id id;
    bool inside; /* a frame of this library */
    int column; /* 0: not known */
    int n_around;
    src_id around[SRC_AROUND_MAX]; /* dwarf_found's */
    int around_columns[SRC_AROUND_MAX];
    size_t n_scopes;
    src_scope scopes[SRC_SCOPES_MAX]; /* likewise */
} frame;

static pthread_mutex_t frames_lock = PTHREAD_MUTEX_INITIALIZER;
static map *frames; /* address -> frame *; under frames_lock, as all of src_dwarf.c */
static uint64_t frames_unloads;

static src_id intern_found(const str *file, int line, const str *func) {
    return intern_slow(file->len ? str_cstr(file) : "?", line, func->len ? str_cstr(func) : "?");
}

/* The answer for one address, from memory or from the debug information. `out` is a copy: the map may be dropped by
 * the next call. */
static void look_up(const void *address, frame *out) {
    uint64_t unloads = src_dwarf_unloads();
    if (frames && unloads != frames_unloads) {
        map_free(frames, base_free);
        frames = NULL;
        src_dwarf_forget();
    }
    frames_unloads = unloads;
    if (!frames) frames = map_new();
    const frame *known = frames ? map_get(frames, &address, sizeof address) : NULL;
    if (known) {
        *out = *known;
        return;
    }
    dwarf_found found = {.file = STR_INIT, .func = STR_INIT};
    src_dwarf_find(address, &found);
    *out = (frame){.id = intern_found(&found.file, found.line, &found.func),
                   .inside = found.inside,
                   .column = found.column,
                   .n_scopes = found.n_scopes};
    memcpy(out->scopes, found.scopes, sizeof out->scopes);
    size_t n = found.n_around < SRC_AROUND_MAX ? found.n_around : SRC_AROUND_MAX; /* the outermost ones */
    for (size_t i = found.n_around - n; i < found.n_around; i++) {
        const dwarf_inlined *at = &found.around[i];
        out->around_columns[out->n_around] = at->column;
        out->around[out->n_around++] = intern_found(&at->file, at->line, &at->func);
    }
    src_dwarf_found_free(&found);
    frame *kept = frames ? base_malloc(sizeof *kept) : NULL;
    if (!kept) return;
    *kept = *out;
    if (!map_put(frames, &address, sizeof address, kept, NULL)) base_free(kept);
}

/* The methods of xtrain/tensor.hpp and the inline functions of xtrain/tensor.h and the like are in the program, but are
 * not its lines. */
static bool in_header(src_id id) {
    static const char folder[] = "xtrain/";
    enum { N = sizeof folder - 1 };
    const char *file = src_get(id)->file, *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    return name - file >= N && strncmp(name - N, folder, N) == 0 && (name - file == N || name[-N - 1] == '/') && dot &&
           (strcmp(dot, ".h") == 0 || strcmp(dot, ".hpp") == 0);
}

/* The innermost line of a frame that is the program's own; 0: it has none. */
static src_id own_line(const frame *f) {
    if (!in_header(f->id)) return f->id;
    for (int i = 0; i < f->n_around; i++)
        if (!in_header(f->around[i])) return f->around[i];
    return 0;
}

/* The innermost line of the program's in the calls that led here: of the frame that `from` returns to, or of the first
 * one outside, and of those around it where that is the header's. frames_lock is held; noinline: the unwinder must find
 * the library's functions as the first frames, which are known to be inside. */
__attribute__((noinline)) static src_id line_above(const void *from) {
    void *stack[FRAMES_MAX];
    int n = backtrace(stack, FRAMES_MAX), i = 1; /* 0 is this function, or a sanitizer's backtrace */
    src_id first = 0;
    while (from && i < n && stack[i] != from) i++;
    for (; i < n; i++) {
        frame f;
        look_up(stack[i], &f);
        if (f.inside && !first) continue;
        src_id line = f.inside ? 0 : own_line(&f);
        if (line) return line;
        if (!first) first = f.id;
        if (f.inside) break;
    }
    return first;
}

/* Debug information is read from files, where a thread may be cancelled; one that holds the lock is not. */
static int hold_frames(void) {
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_mutex_lock(&frames_lock);
    return cancel;
}
static void release_frames(int cancel) {
    pthread_mutex_unlock(&frames_lock);
    pthread_setcancelstate(cancel, NULL);
}

static void find(const void *address, frame *out) {
    int held = hold_frames();
    *out = (frame){0};
    look_up(address, out);
    release_frames(held);
}

src_id src_from_return_address(const void *address) {
    frame f;
    if (!address) return 0;
    int held = hold_frames();
    look_up(address, &f);
    src_id line = own_line(&f);
    if (!line) line = line_above(address);
    release_frames(held);
    return line ? line : f.id;
}

size_t src_chain_from_return_address(const void *address, src_id out[SRC_CHAIN_MAX]) {
    frame f;
    size_t n = 0;
    find(address, &f);
    for (int i = f.n_around; i-- > 0;) out[n++] = f.around[i];
    out[n++] = f.id;
    return n;
}

void src_columns_from_return_address(const void *address, int out[SRC_CHAIN_MAX]) {
    frame f;
    size_t n = 0;
    find(address, &f);
    for (int i = f.n_around; i-- > 0;) out[n++] = f.around_columns[i];
    out[n] = f.column;
}

/* glibc loads libgcc_s when a stack is unwound for the first time, and ends the process where that fails: at the end of
 * a thread whose process may have no more addresses, for one. Here there is room. */
__attribute__((constructor)) static void load_the_unwinder(void) {
    void *here;
    (void)!backtrace(&here, 1);
}

size_t src_scopes_from_return_address(const void *address, src_scope out[SRC_SCOPES_MAX]) {
    frame f;
    find(address, &f);
    memcpy(out, f.scopes, sizeof f.scopes);
    return f.n_scopes;
}

src_id src_from_caller(void) {
    int held = hold_frames();
    src_id id = line_above(NULL);
    release_frames(held);
    return id;
}
