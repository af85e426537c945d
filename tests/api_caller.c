/* Calls the public functions in random order with random arguments: valid ones, and handles that are NULL, freed, of
 * another kind or never made, tensors of ended steps, sizes of 0, -1 and beyond all memory, NaN, texts that are NULL,
 * empty, long or full of control characters; from the main thread and others, and inside every function that the
 * library calls back. What a caller has to keep to is kept: a pointer points to as much as its call says.
 *
 * Each sequence runs in a process of its own. It may not end in a signal or a sanitizer's report, nor hang, nor end the
 * process; a call with an argument that is certainly wrong leaves an error; behind it all the library still computes,
 * and once everything is freed and xt_finish has run no object is left. A sequence that breaks this is made shorter
 * while it still does, and printed as a line that brings it back:
 *
 *     api_caller SECONDS SEED             sequences from SEED on, for so long; exit code 1 when one was found
 *     api_caller --number N SEED          so many of them
 *     api_caller --replay 'NAME:SEED@THREAD ...'   one sequence, each call told before it is made
 *     api_caller --file FILE              each line of FILE that is not a comment
 *
 * calls.inc is written by tests/api_caller.py from the headers. */
#define _GNU_SOURCE
#include <xtrain/doctor.h>
#include <xtrain/plan.h>
#include <xtrain/plot.h>
#include <xtrain/program.h>
#include <xtrain/xtrain.h>

#include <float.h>
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CALLS = 24, MOST_INSIDE = 40, DEEPEST = 3, TENSORS = 48, HANDLES = 24, ROOM = 1 << 16, ARRAY = 64 };
enum { ENDED_WELL = 42, SAID = 43, LIMIT_S = 200 };

/* What the parent sees of a child. */
typedef struct {
    char said[512], call[128];
    int made, refused; /* calls, and those that left an error */
} report;
static report *seen;
static int made, refused; /* of all */
static bool telling;

/* --- Random numbers: one stream a call, so that a sequence stays what it is when a call is taken out --- */
static uint64_t state;
static uint64_t draw(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static bool one_in(int n) {
    return draw() % (uint64_t)n == 0;
}
#define PICK(...) ((__VA_ARGS__)[draw() % (sizeof(__VA_ARGS__) / sizeof((__VA_ARGS__)[0]))])

/* --- What the calls share --- */
enum {
#define KIND(name) K_##name,
#include "kinds.inc"
#undef KIND
    KIND_COUNT
};
typedef struct {
    void *live[HANDLES], *freed[HANDLES];
    int n_live, n_freed;
} pool;
static pool pools[KIND_COUNT];
static xt_tensor tensors[TENSORS];
static int n_tensors;
static xt_dist dists[4];
static xt_metric metrics[4];
static int wrong; /* arguments of the call under way that are certainly wrong */
static bool cleared; /* a function that it called back has taken its error away */
static int errors_told;
static const double standing_number = 0.5;
static _Thread_local bool has_turn;

typedef struct memory {
    struct memory *next;
    _Alignas(64) char bytes[];
} memory;
static memory *all_memory;
static void *take(size_t n) {
    size_t size = (sizeof(memory) + n + 63) & ~(size_t)63;
    memory *m = aligned_alloc(64, size);
    if (!m) _exit(SAID);
    memset(m, 0, size);
    m->next = all_memory;
    all_memory = m;
    return m->bytes;
}

/* --- Arguments --- */
static double pick_double(void) {
    if (!one_in(3)) return PICK((double[]){0.5, 1, 2, 0.1, 0, 3});
    return PICK((double[]){NAN, -NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, 1e-320, -0.0, -1, -0.5, 1e18, 4.5});
}
static int64_t pick_long(void) {
    if (!one_in(5)) return PICK((int64_t[]){1, 2, 3, 4, 0, 6, -1, -2, 5, 7, 8});
    return PICK((int64_t[]){INT64_MAX, INT64_MIN, -3, (int64_t)1 << 31, (int64_t)1 << 40, INT64_MIN + 1, 100, 1000, 17,
                            (int64_t)1 << 62, INT32_MIN});
}
static int pick_int(void) {
    if (!one_in(5)) return PICK((int[]){1, 2, 0, 3, -1, -2, 4, 5});
    return PICK((int[]){INT32_MAX, INT32_MIN, -3, 100, 9, 8, 64, 1 << 20, -100});
}
static int pick_count(int most) {
    return one_in(6)   ? PICK((int[]){-1, INT32_MIN, -7})
           : one_in(8) ? most
                       : (int)(draw() % (uint64_t)(most < 4 ? most + 1 : 4));
}
static int pick_work(void) {
    return PICK((int[]){0, 1, 2, 3, 2, 1});
}
static int pick_choice(void) {
    return one_in(8) ? PICK((int[]){-1, 3, 100, INT32_MAX, 1 << 30}) : (int)(draw() % 4);
}
static size_t pick_bytes(void) {
    return PICK((size_t[]){24, 4, 8, 0, 1, 12, 16, 48, ROOM, 144, 6});
}
static size_t pick_task_size(void) {
    return one_in(8) ? PICK((size_t[]){0, 8, 1, sizeof(xt_task) - 8}) : sizeof(xt_task);
}
static xt_dtype pick_dtype(void) {
    if (!one_in(3)) return XT_F32;
    return (xt_dtype)PICK(
        (int[]){XT_I64, XT_BOOL, XT_BF16, XT_F64, XT_F16, XT_I32, XT_U8, XT_I8, XT_C64, 0, -1, 99, 20, 25, INT32_MAX});
}
static const int64_t *pick_dims(void) {
    int64_t *d = take(sizeof(int64_t) * ARRAY); /* ends in zeros whatever stands before */
    int n = (int)(draw() % 5);
    if (one_in(12)) n = PICK((int[]){8, 9, 10});
    for (int i = 0; i < n; i++) d[i] = one_in(8) ? pick_long() : PICK((int64_t[]){1, 2, 3, 4, 2, 3});
    if (one_in(16)) d[n ? (int)(draw() % (uint64_t)n) : 0] = XT_DIMS_END_;
    return d;
}
static const int *pick_ints(void) {
    int *v = take(sizeof(int) * ARRAY);
    for (int i = 0; i < ARRAY; i++) v[i] = i < 4 ? pick_int() : i;
    return v;
}
static xt_list pick_list(void) {
    xt_list l = {.n = one_in(8) ? -1 : (int)(draw() % 4)};
    for (int i = 0; i < 2 * XT_MAX_RANK; i++) l.v[i] = pick_long();
    return l;
}
static xt_spec small_spec(void) {
    xt_spec s = {.dtype = pick_dtype()};
    for (int i = 0, n = (int)(draw() % 4); i < n; i++) s.dims[i] = PICK((int64_t[]){1, 2, 3, 4, -1, 0});
    return s;
}
static xt_spec pick_spec(void) {
    xt_spec s = small_spec();
    for (int i = 0; i < XT_MAX_RANK && one_in(4); i++) s.dims[i] = pick_long();
    return s;
}
static const char *long_text(void) {
    static char text[70000];
    if (!text[0]) memset(text, 'a', sizeof text - 1);
    return text + PICK((int[]){0, 4000, (int)sizeof text - 300});
}
static const char *pick_text(bool may_be_null) {
    if (one_in(16)) {
        wrong += !may_be_null;
        return NULL;
    }
    if (one_in(8)) return long_text();
    return PICK((const char *[]){"x",
                                 "fc",
                                 "fc.weight",
                                 "fc.*",
                                 "*",
                                 "",
                                 "a.b",
                                 "file.txt",
                                 "folder",
                                 "no/such/file",
                                 "one.mlir",
                                 "new.bin",
                                 "w.safetensors",
                                 "v.npy",
                                 "last.ckpt",
                                 "sum",
                                 "mean",
                                 "data",
                                 "data=2",
                                 "ij,jk->ik",
                                 "...",
                                 "\x1b[31m\n\t\x7f",
                                 "%s%n%d%t",
                                 "\xff\xfe",
                                 "../x",
                                 "/",
                                 "0",
                                 "-1",
                                 "1e999",
                                 "{}",
                                 "[1,2",
                                 "f32",
                                 "bf16",
                                 "train",
                                 "loss",
                                 "cpu",
                                 "best",
                                 "last",
                                 "0,1;2",
                                 "1d",
                                 "relu",
                                 "normal",
                                 "kaiming_uniform",
                                 "zeros",
                                 "..",
                                 "a/b",
                                 "fc.bias",
                                 "2steps",
                                 "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }",
                                 "{\"a\":1}",
                                 "ones"});
}
static const char *const *pick_texts(void) {
    const char **v = take(sizeof(char *) * (ARRAY + 1));
    for (int i = 0; i < ARRAY; i++) v[i] = pick_text(true);
    return v;
}
static char **pick_words(void) {
    static char *words[] = {"program", "--max_epochs", "1", "--nonsense", NULL};
    return words;
}
static void *pick_room(void) {
    return take(ROOM);
}
static void *pick_pointer(const void *p, bool may_be_null) {
    if (!one_in(24)) return (void *)(uintptr_t)p;
    wrong += !may_be_null;
    return NULL;
}
static void *pick_function(void *fn, bool may_be_null) {
    return pick_pointer(fn, may_be_null);
}
/* As many bytes as the shape asks for, NULL where that is more than there is. */
static const void *pick_data(const int64_t *dims, int rank) {
    double n = 16;
    for (int i = 0; dims && i < (rank < 0 ? 10 : rank) && (rank >= 0 || dims[i]); i++)
        n *= dims[i] > 0 ? (double)dims[i] : 1;
    return n <= ROOM ? pick_pointer(pick_room(), true) : NULL;
}
static xt_tensor pick_tensor(void) {
    if (one_in(24)) return PICK((xt_tensor[]){{0, 0}, {3, 77}, {UINT32_MAX, UINT32_MAX}, {1u << 20, 1}});
    if (one_in(3)) return tensors[0]; /* two of the same shape */
    return n_tensors ? tensors[draw() % (uint64_t)n_tensors] : (xt_tensor){0, 0};
}
static xt_tensor *pick_outputs(void) {
    if (one_in(24)) return NULL;
    xt_tensor *t = take(sizeof(xt_tensor) * ARRAY);
    for (int i = 0; i < ARRAY; i++) t[i] = pick_tensor();
    return t;
}
static const xt_tensor *pick_tensors(void) {
    return pick_outputs();
}
static xt_dist pick_dist(void) {
    return PICK(dists);
}
static xt_sparse pick_sparse(void) {
    return (xt_sparse){pick_long(), pick_long(), pick_tensor(), pick_tensor(), pick_tensor()};
}
static xt_metric pick_metric(void) {
    return PICK(metrics);
}
/* A handle of the kind: mostly one that lives. What is certainly wrong is counted. */
static void *pick_handle(int kind, bool may_be_null) {
    pool *p = &pools[kind];
    static _Alignas(64) char never_made[64];
    if (one_in(12)) {
        switch (draw() % 4) {
        case 0: wrong += !may_be_null; return NULL;
        case 1: wrong++; return never_made + 8;
        case 2:
            if (p->n_freed) return wrong++, p->freed[draw() % (uint64_t)p->n_freed];
            break;
        default: {
            pool *other = &pools[(kind + 1) % KIND_COUNT];
            if (other->n_live) return wrong++, other->live[draw() % (uint64_t)other->n_live];
        }
        }
    }
    if (!p->n_live) {
        wrong += !may_be_null;
        return NULL;
    }
    return p->live[draw() % (uint64_t)p->n_live];
}
static void *pick_handles(int kind) {
    void **v = take(sizeof(void *) * ARRAY);
    for (int i = 0; i < ARRAY; i++)
        v[i] = pools[kind].n_live ? pools[kind].live[draw() % (uint64_t)pools[kind].n_live] : NULL;
    return v;
}

/* --- Results --- */
static void got_tensor(xt_tensor t) {
    if (n_tensors < TENSORS)
        tensors[n_tensors++] = t;
    else
        tensors[draw() % TENSORS] = t;
}
static void got_tensors(const xt_tensor *t) {
    for (int i = 0; t && i < 3; i++) got_tensor(t[i]);
}
static void got_handle(int kind, void *h) {
    pool *p = &pools[kind];
    for (int i = 0; i < p->n_live && kind != K_dataset; i++) /* of which each reference is freed */
        if (p->live[i] == h) return;
    if (h && p->n_live < HANDLES) p->live[p->n_live++] = h;
}
static void was_freed(int kind, void *h) {
    pool *p = &pools[kind];
    /* it may have other owners, or was not freed */
    if (kind == K_dataset || (kind != K_status && xt_error())) return;
    for (int i = 0; i < p->n_live; i++)
        if (p->live[i] == h) {
            p->live[i] = p->live[--p->n_live];
            if (p->n_freed < HANDLES) p->freed[p->n_freed++] = h;
            return;
        }
}
static void got_dist(xt_dist d) {
    PICK(dists) = d;
}
static void got_metric(xt_metric m) {
    PICK(metrics) = m;
}
static void got_text(const char *s) {
    if (s && strlen(s) > 1 << 20) abort();
}
static int statuses; /* of the call under way */
static void got_status(xt_status s) {
    if (!s) return;
    statuses++;
    if (one_in(8) && pools[K_status].n_live < HANDLES) {
        got_handle(K_status, s);
        return;
    }
    if (strlen(xt_status_message(s)) < 4) abort();
    xt_status_free(s);
}

static void inside(void);
#include "api_callbacks.h"

typedef struct {
    const char *name;
    void (*call)(void);
    bool held; /* it takes or gives handles */
} function;
static void begins(void) {
    statuses = 0;
}
#include "calls.inc"
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* --- One sequence, in the child --- */
typedef struct {
    int fn, thread;
    uint64_t seed;
} call;
typedef struct {
    call calls[MOST_CALLS];
    int n;
} sequence;
static int depth, n_inside;

/* Most functions are ops, and most faults are of objects that live long: half of the calls are of those. */
static int pick_fn(void) {
    bool held = one_in(2);
    for (;;) {
        int fn = (int)(draw() % FUNCTIONS);
        if (!held || functions[fn].held) return fn;
    }
}

static void fail(const char *what) {
    snprintf(seen->said, sizeof seen->said, "%s: %s", seen->call, what);
    _exit(SAID);
}
static void make_call(int fn) {
    char outer_call[sizeof seen->call];
    snprintf(outer_call, sizeof outer_call, "%s", seen->call);
    snprintf(seen->call, sizeof seen->call, "%.60s%s%s", depth ? outer_call : "", depth ? " > " : "",
             functions[fn].name);
    if (telling) fprintf(stderr, "%*s%s\n", 2 * depth, "", functions[fn].name);
    int outer = wrong;
    wrong = 0;
    if (!depth) cleared = false;
    bool quiet_before = !xt_error();
    functions[fn].call();
    seen->made++;
    seen->refused += statuses || xt_error();
    if (wrong && quiet_before && !statuses && !cleared && !xt_error())
        fail("an argument was wrong, and nothing says so");
    if (telling && xt_error()) fprintf(stderr, "%*s  %.200s\n", 2 * depth, "", xt_status_message(xt_error()));
    snprintf(seen->call, sizeof seen->call, "%s", outer_call);
    wrong = outer;
}
static void inside(void) {
    if (depth >= DEEPEST || n_inside >= MOST_INSIDE || !one_in(3)) return;
    depth++;
    n_inside++;
    int outer_statuses = statuses;
    make_call(pick_fn());
    statuses = outer_statuses;
    if (one_in(2)) cleared |= xt_error() != NULL, xt_clear_error();
    depth--;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static const sequence *playing;
static int position;
static void *player(void *thread) {
    int me = (int)(intptr_t)thread;
    pthread_mutex_lock(&lock);
    while (position < playing->n) {
        const call *c = &playing->calls[position];
        if (c->thread != me) {
            pthread_cond_wait(&turned, &lock);
            continue;
        }
        has_turn = true;
        state = c->seed;
        make_call(c->fn);
        if (draw() % 4) xt_clear_error();
        has_turn = false;
        position++;
        pthread_cond_broadcast(&turned);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}
static void first_handles(void) {
    float v[144] = {1, 2, 3, 4, 5, 6};
    int64_t labels[4] = {1, 0, 2, 1};
    got_tensor(xt_from_array(v, XT_F32, 2, 3));
    got_tensor(xt_from_array(v, XT_F32, 2, 3));
    got_tensor(xt_from_array(v, XT_F32, 3));
    got_tensor(xt_from_array(v, XT_F32, 3, 3));
    got_tensor(xt_from_array(v, XT_F32));
    got_tensor(xt_from_array(v, XT_F32, 1, 4, 6, 6));
    got_tensor(xt_from_array(labels, XT_I64, 2));
    got_tensor(xt_keep(xt_ones(XT_F32, 2, 3)));
    got_tensor(xt_gt(xt_ones(XT_F32, 2, 3), xt_zeros(XT_F32, 3)));
    got_tensor(xt_requires_grad(xt_keep(xt_ones(XT_F32, 3)), true));
    xt_module *m = xt_module_new(net_fn, NULL);
    xt_status s = xt_module_build(m, (xt_spec){XT_F32, {2, 3}});
    xt_status_free(s);
    got_handle(K_module, m);
    got_handle(K_module, xt_module_new(net_fn, NULL));
    got_handle(K_optimizer, xt_adamw(m, .lr = 0.1));
    got_handle(K_dataset, xt_drawn_digits(4, 0));
    got_handle(K_loader, xt_loader_new(xt_drawn_digits(4, 0), .batch = 2));
    got_handle(K_trainer, xt_trainer_new(.max_epochs = 1, .logger = XT_OFF));
    got_handle(K_step, xt_compile(step_fn));
    got_handle(K_callback, xt_lr_monitor());
    got_handle(K_loss_scaler, xt_loss_scaler_new());
    got_handle(K_status, xt_status_new(XT_ABORTED, "one"));
}
static void free_all(void) {
    has_turn = false;
    static const int last[] = {K_trainer, K_loader, K_optimizer, K_loss_scaler, K_step,   K_running, K_mesh,
                               K_dataset, K_plan,   K_recording, K_program,     K_module, K_status};
    for (int i = 0; i < pools[K_callback].n_live; i++) { /* they go with a trainer */
        xt_trainer *t = xt_trainer_new(.max_epochs = 1, .logger = XT_OFF);
        xt_trainer_add(t, pools[K_callback].live[i]);
        xt_trainer_free(t);
    }
    for (size_t k = 0; k < sizeof last / sizeof last[0]; k++)
        for (int i = 0; i < pools[last[k]].n_live; i++) {
            void *h = pools[last[k]].live[i];
            switch (last[k]) {
            case K_trainer: xt_trainer_free(h); break;
            case K_loader: xt_loader_free(h); break;
            case K_optimizer: xt_optimizer_free(h); break;
            case K_loss_scaler: xt_loss_scaler_free(h); break;
            case K_step: xt_step_free(h); break;
            case K_running: xt_running_free(h); break;
            case K_mesh: xt_mesh_free(h); break;
            case K_dataset: xt_dataset_free(h); break;
            case K_plan: xt_plan_free(h); break;
            case K_recording: xt_recording_free(h); break;
            case K_program: xt_program_free(h); break;
            case K_module: xt_module_free(h); break;
            case K_status: xt_status_free(h); break;
            }
        }
}
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
static void quiet(xt_status s, void *user) {
    (void)user;
    if (strlen(xt_status_message(s)) < 4) abort();
    errors_told++;
}
static void play(const sequence *s) {
    struct itimerval limit = {.it_value.tv_sec = LIMIT_S};
    setitimer(ITIMER_REAL, &limit, NULL);
    xt_on_error(quiet, NULL);
    has_turn = true;
    state = 1;
    depth = DEEPEST; /* they are the same for all */
    snprintf(seen->call, sizeof seen->call, "the first handles");
    first_handles();
    playing = s;
    has_turn = false;
    depth = 0;
    pthread_t threads[2];
    bool several = false;
    for (int i = 0; i < s->n; i++) several |= s->calls[i].thread != 0;
    for (int i = 0; several && i < 2; i++) pthread_create(&threads[i], NULL, player, (void *)(intptr_t)(i + 1));
    player(NULL);
    for (int i = 0; several && i < 2; i++) pthread_join(threads[i], NULL);
    snprintf(seen->call, sizeof seen->call, "the end");
    xt_clear_error();
    xt_tensor sum = xt_sum(xt_ones(XT_F32, 2, 3));
    double six = xt_item(sum);
    if (xt_error() || six != 6) {
        snprintf(seen->said, sizeof seen->said, "behind it a sum of ones is %g: %.400s", six,
                 xt_error() ? xt_status_message(xt_error()) : "");
        _exit(SAID);
    }
    snprintf(seen->call, sizeof seen->call, "the frees");
    free_all();
    xt_clear_error();
    snprintf(seen->call, sizeof seen->call, "xt_finish");
    (void)xt_finish();
    static const char *const kinds[] = {
#define LIVE(name) #name,
#include "live.inc"
#undef LIVE
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        /* a thread of the library that has recorded keeps its empty graph */
        if (strcmp(kinds[i], "status") != 0 && !(was_outside && strcmp(kinds[i], "graph") == 0) &&
            xt_live_objects(kinds[i])) {
            snprintf(seen->said, sizeof seen->said, "at the end %lld of kind %s live",
                     (long long)xt_live_objects(kinds[i]), kinds[i]);
            _exit(SAID);
        }
    for (memory *m = all_memory, *next; m; m = next) next = m->next, free(m);
    all_memory = NULL;
    if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) {
        snprintf(seen->said, sizeof seen->said, "memory is lost");
        _exit(SAID);
    }
    _exit(ENDED_WELL);
}

/* --- The parent --- */
static char folder[256];
static int plays; /* for names of folders and files */
static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path), 0;
}
static void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (f) fputs(text, f), fclose(f);
}
/* An empty folder to work in, but for what texts name. */
static void make_folder(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (mkdir(path, 0700) || chdir(path) || mkdir("folder", 0700)) _exit(SAID);
    write_text("file.txt", "a line\n");
    write_text("one.mlir", "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> }\n");
}
/* What went wrong, "" for nothing; what was said on stderr lies in the file `err`. */
static void run(const sequence *s, char *out, size_t n) {
    char where[300], log[300];
    snprintf(where, sizeof where, "%s/run", folder);
    snprintf(log, sizeof log, "%s/err", folder);
    memset(seen, 0, sizeof *seen);
    fflush(NULL);
    plays++;
    pid_t p = fork();
    if (!p) {
        char make[900];
        snprintf(make, sizeof make,
                 "rm -rf '%s' && mkdir '%s' && cd '%s' && mkdir folder && echo line >file.txt && "
                 "echo 'func.func @main(%%a: tensor<2xf32>) -> tensor<2xf32> { return %%a : tensor<2xf32> }' >one.mlir",
                 where, where, where);
        if (system(make) || (!telling && (!freopen(log, "w", stderr) || !freopen("/dev/null", "w", stdout))))
            _exit(SAID);
        play(s);
    }
    int st = 0;
    waitpid(p, &st, 0);
    made += seen->made, refused += seen->refused;
    out[0] = 0;
    if (WIFEXITED(st) && WEXITSTATUS(st) == ENDED_WELL) return;
    if (WIFEXITED(st) && WEXITSTATUS(st) == SAID)
        snprintf(out, n, "%s", seen->said[0] ? seen->said : "the test itself failed");
    else if (WIFSIGNALED(st))
        snprintf(out, n, "%s: %s", seen->call, WTERMSIG(st) == SIGALRM ? "hangs" : strsignal(WTERMSIG(st)));
    else
        snprintf(out, n, "%s: exit code %d", seen->call, WEXITSTATUS(st));
}
static void print(const sequence *s) {
    for (int i = 0; i < s->n; i++)
        printf("%s%s:%llx@%d", i ? " " : "", functions[s->calls[i].fn].name, (unsigned long long)s->calls[i].seed,
               s->calls[i].thread);
    puts("");
}
static bool parse(const char *text, sequence *s) {
    s->n = 0;
    for (char name[100]; s->n < MOST_CALLS; s->n++) {
        unsigned long long seed;
        int thread, used, fn = 0;
        if (sscanf(text, " %99[a-z0-9_]:%llx@%d%n", name, &seed, &thread, &used) != 3) break;
        while (fn < FUNCTIONS && strcmp(functions[fn].name, name) != 0) fn++;
        if (fn == FUNCTIONS) return fprintf(stderr, "there is no function %s\n", name), false;
        s->calls[s->n] = (call){fn, thread, seed};
        text += used;
    }
    return s->n > 0;
}
/* Takes calls out while the fault stays. */
static void shorten(sequence *s, const char *fault) {
    char now[600];
    for (bool less = true; less;) {
        less = false;
        for (int size = s->n / 2; size > 0; size /= 2)
            for (int at = 0; at + size <= s->n && s->n > 1;) {
                sequence without = *s;
                memmove(&without.calls[at], &without.calls[at + size], sizeof(call) * (size_t)(s->n - at - size));
                without.n -= size;
                run(&without, now, sizeof now);
                if (without.n && strcmp(now, fault) == 0)
                    *s = without, less = true;
                else
                    at += size;
            }
    }
}
static void make_sequence(uint64_t seed, sequence *s) {
    state = seed * 0x9e3779b97f4a7c15u + 1;
    s->n = 1 + (int)(draw() % 16);
    bool threads = one_in(6);
    for (int i = 0; i < s->n; i++) s->calls[i] = (call){pick_fn(), threads ? (int)(draw() % 3) : 0, draw() >> 8};
}
static char known[200][600];
static int n_known;
static bool is_new(const char *fault) {
    for (int i = 0; i < n_known; i++)
        if (strcmp(known[i], fault) == 0) return false;
    if (n_known < 200) snprintf(known[n_known++], sizeof known[0], "%.599s", fault);
    return true;
}
static void show_log(void) {
    char command[600];
    fflush(stdout);
    snprintf(command, sizeof command,
             "grep -aE 'ERROR: |runtime error|^ +#[0-9]+ .* in ' '%s/err' | head -n 24 | cut -c1-160", folder);
    if (system(command)) puts("(nothing on stderr)");
}

static int play_file(const char *path) {
    FILE *f = fopen(path, "r");
    char line[4000], fault[600];
    int bad = 0;
    sequence s;
    while (f && fgets(line, sizeof line, f)) {
        if (line[0] == '#' || line[0] == '\n') continue;
        if (!parse(line, &s)) return 2;
        run(&s, fault, sizeof fault);
        if (fault[0]) bad++, printf("%s\n", fault), print(&s), show_log();
    }
    if (f) fclose(f);
    printf("%d sequences, %d bad\n", plays, bad);
    return bad || !plays;
}

/* For so many seconds, 0: without end; at most so many sequences. */
static int search(int seconds, int most, uint64_t seed) {
    time_t end = time(NULL) + seconds;
    int bad = 0, again = 0, sequences = 0;
    sequence s;
    char fault[600];
    for (; sequences < most && (!seconds || time(NULL) < end); seed++, sequences++) {
        make_sequence(seed, &s);
        run(&s, fault, sizeof fault);
        if (!fault[0]) continue;
        bad++;
        if (!is_new(fault)) {
            again++;
            continue;
        }
        printf("--- seed %llu: %s\n", (unsigned long long)seed, fault);
        show_log();
        if (!strstr(fault, "hangs")) shorten(&s, fault);
        print(&s);
    }
    printf("%d sequences of %d calls, %d of them refused; %d bad, %d of them like one before\n", sequences, made,
           refused, bad, again);
    return bad != 0;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED || !getcwd(folder, sizeof folder - 16)) return 2;
    strcat(folder, "/callsXXXXXX");
    if (!mkdtemp(folder)) return 2;
    if (argc == 3 && strcmp(argv[1], "--replay") == 0) {
        sequence s;
        char fault[600];
        telling = true;
        if (!parse(argv[2], &s)) return 2;
        run(&s, fault, sizeof fault);
        printf("%s\n", fault[0] ? fault : "well");
        return fault[0] != 0;
    }
    if (argc == 3 && strcmp(argv[1], "--file") == 0) return play_file(argv[2]);
    bool counted = argc == 4 && strcmp(argv[1], "--number") == 0;
    if (!counted && argc != 3) return fprintf(stderr, "usage: api_caller SECONDS SEED\n"), 2;
    return search(counted ? 0 : atoi(argv[1]), counted ? atoi(argv[2]) : INT_MAX, strtoull(argv[argc - 1], NULL, 0));
}
