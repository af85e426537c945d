/* The parts every layer stands on: status, arena, strings, growing arrays, maps, files, time, source ids.
 * One header because everything includes it; each part has its own .c file of the same name. */
#ifndef XT_SRC_BASE_H
#define XT_SRC_BASE_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <xtrain/base.h>

#if defined(__GNUC__) || defined(__clang__)
#define BASE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define BASE_PRINTF(f, a)
#endif

#define BASE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* --- status.c --- */
/* A new status; `where` may be NULL (no user line known). Never fails: without memory it gives a static one. */
xt_status status_new(xt_code code, const xt_src *where, const char *fmt, ...) BASE_PRINTF(3, 4);
xt_status status_newv(xt_code code, const xt_src *where, const char *fmt, va_list ap);
/* Puts "text: " before the message; gives `s` back. NULL stays NULL. */
xt_status status_context(xt_status s, const char *fmt, ...) BASE_PRINTF(2, 3);
/* Gives `s` a user line if it has none yet. */
xt_status status_at(xt_status s, const xt_src *where);
xt_status status_clone(xt_status s);
const xt_src *status_where(xt_status s); /* NULL when unknown; lives as long as `s` */
const char *status_text(xt_status s); /* the message without the "file:line: " in front; "" for NULL */
xt_code status_code(xt_status s); /* as xt_status_code and xt_status_message, */
const char *status_message(xt_status s); /* but the library's own look: it does not count as the program's */
/* From here on this thread notes whether the program has looked at s or a copy of it, by the public functions.
 * NULL: at nothing. */
void status_watch(xt_status s);
bool status_was_looked_at(void);
/* A public function, `name` at src or at the place that it returns to, gives s to the program: from here on it is
 * unseen, until the program reads it (the public functions) or frees it. */
void status_give(xt_status s, const char *name, const xt_src *src, const void *returns_to);
/* A copy of the oldest one unseen that was given to this thread, or to any: with its line, and which function gave it.
 * That one counts as seen from here on. NULL: there is none. */
xt_status status_take_unseen(bool any_thread);
void status_all_seen(void); /* of this thread: the program has said so */
uint64_t status_number(xt_status s); /* which failure it is: its copies have the same; 0 = unknown */
xt_status status_errno(const char *what, const char *path); /* "what path: strerror(errno)" with a fitting code */
xt_status status_oom(size_t bytes, const char *what);
/* "what could not be started: reason", and what to try; error: of pthread_create */
xt_status status_no_thread(int error, const char *what);

/* --- alloc.c: every allocation of the library goes through these, so that a test can make the n-th fail. --- */
void *base_malloc(size_t n);
extern _Atomic uint64_t base_failed_allocations; /* of the functions here, since the process began */
void *base_calloc(size_t count, size_t size); /* overflow-checked */
void *base_realloc(void *p, size_t n);
void base_free(void *p);
char *base_strdup(const char *s);
char *base_strndup(const char *s, size_t n);
void *base_aligned(size_t align, size_t n); /* base_free releases it */
/* At least n zero bytes to read, the same for all callers and for good: pages of the system that take no memory. NULL
 * without address space. */
const void *base_zeros(size_t n);
/* n > 0 zero bytes, touched by nobody yet, in large pages: from 16 MiB on aligned to 2 MiB, below in a row with others
 * in regions that are. */
void *base_pages(size_t n);
void base_pages_free(void *p, size_t n);
/* test hook: the n-th allocation from now (1 = the next) fails once; < 0 = off */
void base_fail_alloc_after(int64_t n);
/* bytes of this process in memory now, from /proc/self/statm; 0 where that does not exist */
int64_t base_rss(void);
int64_t base_rss_own(void); /* without pages of files, which the kernel takes back when it likes */
bool size_mul(size_t a, size_t b, size_t *out); /* false on overflow */
bool size_add(size_t a, size_t b, size_t *out);
bool dims_count(const int64_t *dims, size_t rank, int64_t *out); /* product; false on overflow or a negative dim */

/* --- arena.c: memory freed as a whole. Pointers stay valid until arena_free/arena_reset. --- */
typedef struct arena arena;
arena *arena_new(void);
void arena_free(arena *a);
void arena_reset(arena *a); /* forget the content, keep the blocks for reuse */
void *arena_alloc(arena *a, size_t n); /* 16-byte aligned, zeroed; NULL only without memory */
void *arena_copy(arena *a, const void *p, size_t n);
char *arena_strdup(arena *a, const char *s);
char *arena_printf(arena *a, const char *fmt, ...) BASE_PRINTF(2, 3);
size_t arena_bytes(const arena *a);

/* --- str.c: a growing byte string, always NUL-terminated. An allocation failure sets `failed` and drops
 * the append. --- */
typedef struct str {
    char *data; /* never NULL after the first append; str_cstr() is safe always */
    size_t len, cap;
    bool failed;
} str;
#define STR_INIT \
    { NULL, 0, 0, false }
void str_append(str *s, const char *text);
void str_appendn(str *s, const char *text, size_t n);
void str_putc(str *s, char c);
void str_printf(str *s, const char *fmt, ...) BASE_PRINTF(2, 3);
void str_vprintf(str *s, const char *fmt, va_list ap);
void str_clear(str *s);
void str_free(str *s);
const char *str_cstr(const str *s);

/* --- vec.c: a growing array of T: `T *items = NULL; size_t n = 0, cap = 0; VEC_PUSH(items, n, cap, value)` is false
 * without memory.
 * ------------------------------------------------------------------------------------------------------ */
bool vec_grow(void **items, size_t *cap, size_t need, size_t item_size);
#define VEC_PUSH(items, n, cap, value)                                                                                 \
    (((n) < (cap) || vec_grow((void **)&(items), &(cap), (n) + 1, sizeof *(items))) ? ((items)[(n)++] = (value), true) \
                                                                                    : false)

/* --- map.c: open addressing; byte-string keys are copied. Values are pointers. --- */
typedef struct map map;
map *map_new(void);
void map_free(map *m, void (*free_value)(void *)); /* free_value may be NULL */
void *map_get(const map *m, const void *key, size_t n);
bool map_put(map *m, const void *key, size_t n, void *value, void **out_old); /* false without memory */
void *map_remove(map *m, const void *key, size_t n);
size_t map_count(const map *m);
bool map_next(const map *m, size_t *iter, const void **key, size_t *n, void **value); /* *iter = 0 to begin */

/* --- hash.c: 128-bit non-cryptographic hash (stable across runs and machines), used in keys and checksums. --- */
typedef struct hash128 {
    uint64_t lo, hi;
} hash128;
hash128 hash_bytes(const void *p, size_t n, hash128 seed);
hash128 hash_mix(hash128 a, hash128 b);
bool hash_equal(hash128 a, hash128 b);
void hash_hex(hash128 h, char out[33]);

/* --- intern.c: process-wide interned strings; id 0 is "". Thread-safe; ids and texts live for the whole
 * process. --- */
uint32_t intern(const char *s); /* 0 also for NULL and without memory */
uint32_t intern_n(const char *s, size_t n);
const char *intern_text(uint32_t id);

/* --- src.c: source ids. 0 is "unknown". Thread-safe, one hash probe per call on the hot path. --- */
typedef uint32_t src_id;
src_id src_intern(const xt_src *where); /* NULL gives 0 */
src_id src_from_return_address(const void *address); /* libdw; falls back to "binary+0x1234"; slow the first time */
/* The innermost frame that is not inside this library: what a call through a function pointer is filed under. */
/* The same with the calls around it that the compiler inlined, the outermost first; how many. */
enum { SRC_AROUND_MAX = 7, SRC_CHAIN_MAX = SRC_AROUND_MAX + 1 };
size_t src_chain_from_return_address(const void *address, src_id out[SRC_CHAIN_MAX]);
src_id src_from_caller(void); /* 0 when every frame is inside */
/* SRC_CALLED_FROM(src), first in a constructor that was given its caller's line: until it returns, errors
 * without a line of their own get that one (lazy_fail). The outermost call's line is the user's; NULL leaves
 * things as they are. */
extern __thread const xt_src *src_called_from;
static inline void src_call_ends(const xt_src **outer) {
    src_called_from = *outer;
}
#define SRC_CALLED_FROM(src)                                                            \
    __attribute__((cleanup(src_call_ends))) const xt_src *src_outer_ = src_called_from; \
    if (!src_outer_) src_called_from = (src)
/* In the library's own sources a call of a public macro has the line of the program's call that is under way. */
#ifdef XT_INSIDE
#undef XT_HERE
#define XT_HERE src_called_from
#endif
bool src_hidden(src_id id); /* of a file that xt_hide_source named */
const xt_src *src_get(src_id id); /* never NULL: {"?", 0, "?"} for 0; lives for the whole process */
const char *src_text(src_id id, char *buf, size_t n); /* "train.c:41"; gives buf back */

/* --- rehearsal.c: on the dry device the functions of file.c report success and write nothing. --- */
bool rehearsal_is(const char *spec); /* "dry", "dry:N" */
void rehearsal_device(int by); /* +1: a dry device was opened, -1: closed */
bool rehearsal_on(void); /* XT_DEVICE names the dry device, or one is open */
bool rehearsal_skips(void); /* as rehearsal_on, said once to the user: for whoever leaves a file unwritten */

/* --- file.c --- */
xt_status file_read_all(const char *path, char **out_data, size_t *out_size); /* NUL after the data; base_free */
/* A file that appears whole or not at all: temporary name, fsync, rename, fsync of the folder. */
typedef struct file_writer file_writer;
xt_status file_writer_open(const char *path, file_writer **out);
xt_status file_writer_write(file_writer *w, const void *p, size_t n);
/* over what was written before; what follows is written behind the end, as ever */
xt_status file_writer_patch(file_writer *w, size_t at, const void *p, size_t n);
xt_status file_writer_commit(file_writer *w); /* frees w, also on failure (then the old file is untouched) */
void file_writer_abandon(file_writer *w);
xt_status file_write_all(const char *path, const void *p, size_t n); /* the three together */
/* with those above it, through no link of another user's; existing ones are fine. Not in a rehearsal */
xt_status file_make_dirs(const char *path, unsigned mode);
/* in a rehearsal too; *out_made (may be NULL): the last one was not there */
xt_status file_put_dirs(const char *path, unsigned mode, bool *out_made);
/* dir/name, dir made; also in a rehearsal */
xt_status file_dump(const char *dir, const char *name, const void *p, size_t n);
xt_status file_put(const char *path, const void *p, size_t n); /* as file_write_all, also in a rehearsal */
bool file_exists(const char *path);
char *path_join(const char *a, const char *b); /* base_free */

/* --- text.c: numbers and near misses in text that people wrote. Independent of the locale; the whole text must be
 * the number. - */
bool parse_i64(const char *text, int64_t *out); /* decimal or 0x; false on overflow */
bool parse_double(const char *text, double *out); /* also inf and nan */
/* "300M", "2GiB", "1e9"; K M G T and KiB.. are 1024s, KB MB GB TB 1000s */
bool parse_bytes(const char *text, int64_t *out);
bool parse_flag(const char *text, bool *out); /* 1/on/true/yes, 0/off/false/no in any case */
/* edit distance with swapped neighbours counting one; case is ignored */
size_t text_distance(const char *a, const char *b);
/* The name closest to `word`, for "did you mean"; NULL when none is near enough to be meant. */
const char *text_nearest(const char *word, const char *const *names, size_t n);

/* --- clock.c: monotonic nanoseconds; tests may install a fake. --- */
int64_t clock_ns(void);
void clock_set_fake(int64_t (*fn)(void *), void *user); /* NULL restores the real one */

/* --- log.c: what the sink receives. One whole message per call, newline added. --- */
void log_msg(xt_severity sev, const char *fmt, ...) BASE_PRINTF(2, 3);
void log_raw(xt_severity sev, const char *text, size_t n);
/* Messages of this thread between the two leave at the second: who holds a lock says nothing under it, since a sink is
 * the user's and may do what needs the lock. Pairs may be nested. */
void log_hold(void);
void log_release(void);
bool log_in_sink(void); /* this thread is in the program's sink */
/* What this thread has noted of functions of the program's that are under way: such a function may be left by longjmp
 * or an exception. Where there is any, the next public function looks (lazy_forget_left_calls). */
extern _Thread_local int frames_noted;
/* A sink whose frames lie below `here`, the frame of a public function, has been left. */
void log_forget_left(const char *here);
bool log_to_terminal(void); /* messages go to stderr, and it is a terminal: a progress line may be repainted */
void log_once(const char *key, xt_severity sev, const char *fmt, ...) BASE_PRINTF(3, 4);

/* --- live.c: live-object counts by kind. --- */
typedef enum live_kind {
#define LIVE(name) LIVE_##name,
#include "base/live.def"
#undef LIVE
    LIVE_COUNT
} live_kind;
void live_add(live_kind k, int64_t delta);
int64_t live_get(live_kind k);
const char *live_name(live_kind k);

/* --- counters.c: always-on counters (relaxed atomics), one row each in counters.def. --- */
typedef enum counter {
#define COUNTER(name, unit, help) COUNTER_##name,
#include "base/counters.def"
#undef COUNTER
    COUNTER_COUNT
} counter;
void counter_add(counter c, int64_t delta);
void counter_max(counter c, int64_t value); /* keeps the largest */
int64_t counter_get(counter c);
const char *counter_name(counter c);
const char *counter_unit(counter c);
const char *counter_help(counter c);

/* --- env.c: every XT_* variable the library reads is a row of env.def; unknown ones are reported once, with the
 * nearest name. --- */
const char *env_get(const char *name); /* NULL when unset or empty; `name` must be in env.def */
/* false when unset; a value that is no number, or less than `least`, is reported and ignored */
bool env_int(const char *name, int64_t least, int64_t *out);
bool env_flag(const char *name, bool fallback); /* 1/on/true/yes, 0/off/false/no */
/* Which of the n values it has; the first when unset; a value that is none of them is reported and ignored. */
int env_choice(const char *name, int n, const char *const *values);
bool env_has_word(const char *name, const char *word); /* comma-separated list: XT_DEBUG=compile,exec */
/* Set for this process and its children while other threads may read the environment, which setenv() and its kin do not
 * allow. Their memory stays. False: out of memory, and nothing is changed. */
bool env_set(const char *name, const char *value);
bool env_put(const char *line); /* "NAME=value", copied */
bool env_default(const char *name, const char *value); /* only when it is unset */
bool env_unset(const char *name);
void env_report_unknown(void); /* once per process; also answers PT_XLA_DEBUG */

/* --- options.c: one table per option struct feeds C, flags, config files, environment, --help, checkpoints. --- */
typedef enum option_kind {
    OPTION_INT,
    OPTION_I64,
    OPTION_DOUBLE,
    OPTION_SWITCH,
    OPTION_STRING,
    OPTION_ENUM
} option_kind;
typedef struct option_row {
    const char *name, *help; /* "max_epochs", one sentence */
    option_kind kind;
    size_t offset;
    double min, max; /* inclusive, beside the default, which is always right; min = max = 0 means none */
    const char *const *enum_names; /* OPTION_ENUM: NULL-terminated, index = value */
} option_row;
/* Defaults of a table: a struct with the fields that its header's list of defaults says. */
#define OPTION_DEFAULTS(type) (&XT_OPTS_(type, ))
/* Checks ranges, and gives fields that are XT_AUTO what `defaults` have; the error names field, value and range. */
xt_status options_check(const option_row *rows, size_t n, void *opts, const void *defaults, const char *what);
/* Values that this thread's next options_check sets before it looks: how a struct filled inside a public function is
 * given names from a file. Borrowed; n < 0 after they were taken. */
typedef struct options_by_name {
    const char *const *names, *const *values;
    int n;
} options_by_name;
void options_give(options_by_name *g); /* NULL: none after all */
bool options_same_name(const char *field, const char *name); /* flags may be written with '-', fields have '_' */
/* strings are interned */
xt_status options_set(const option_row *rows, size_t n, void *opts, const void *defaults, const char *name,
                      const char *value);
xt_status options_get(const option_row *rows, size_t n, const void *opts, const char *name, str *out);
/* one "  --name VALUE   help (default X)" line per row */
void options_help(const option_row *rows, size_t n, const void *defaults, str *out);

/* --- world.c: who this process is among the ranks of the run. Read from the environment at first use; dist
 * may set it. --- */
typedef struct world {
    int rank, size, local_rank, local_size;
    bool launched; /* this process is a started rank (xtrain launch, mpirun, Ray, SLURM, pod variables) */
    const char *source; /* "XT_RANK", "OMPI_COMM_WORLD_RANK", ...: named in messages; "" when single */
    const char *problem; /* NULL, or why the launcher's variables could not be used (then this is a single process) */
} world;
const world *world_get(void);
void world_set(const world *w); /* copies; NULL reads the environment again at the next use */

/* --- rng.c: Philox 4x32-10 (Salmon et al. 2011); counter-based, so any element can be drawn alone. --- */
void philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, uint32_t out[4]);
/* Element i of stream `stream` under `seed`: uniform in [0,1) with 24 bits, or standard normal (Box-Muller). */
float rng_uniform(uint64_t seed, uint64_t stream, uint64_t i);
float rng_normal(uint64_t seed, uint64_t stream, uint64_t i);
uint64_t rng_bits(uint64_t seed, uint64_t stream, uint64_t i);
/* rng_fill.c: out[k] = element first + k, quickly. Uniforms are those of rng_uniform; normals are computed in f32
 * (rng_normal: f64, rounded once). */
void rng_fill_uniform(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out);
void rng_fill_normal(uint64_t seed, uint64_t stream, uint64_t first, size_t n, float *out);

#endif
