/* The roofline (Williams et al. 2009), measured. The loops are compiled for each width of vectors and chosen by the
 * processor that runs them. */
#include "cli/roofline.h"
#include "cli/cli.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xtrain/xtrain.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define FOR(features) __attribute__((target(features)))
#define PLAIN "plain"
#elif defined(__aarch64__) /* every processor has vectors of 16 bytes, and a fused multiply-add of them */
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif
#define PLAIN "NEON"
#else
#define PLAIN "plain"
#endif

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- loops --- */
/* Twelve independent sums hide the latency of a multiply-add (4 cycles, two a cycle). `n` rounds; the sum is returned
 * so that nothing is left out. */
enum { SUMS = 12 };
typedef double (*fma_loop)(int64_t n);
#define FMA_LOOP(name, attribute, bytes)                        \
    attribute static double name(int64_t n) {                   \
        typedef float vec __attribute__((vector_size(bytes)));  \
        vec s[SUMS], x = {0}, all = {0};                        \
        x += 0.999999f;                                         \
        for (int k = 0; k < SUMS; k++) s[k] = x * (float)k;     \
        for (int64_t i = 0; i < n; i++) {                       \
            for (int k = 0; k < SUMS; k++) s[k] = s[k] * x + x; \
            __asm__ volatile("" ::: "memory");                  \
        }                                                       \
        for (int k = 0; k < SUMS; k++) all += s[k];             \
        return (double)all[0];                                  \
    }
typedef void (*triad_loop)(float *a, const float *b, const float *c, int64_t n);
#define TRIAD_LOOP(name, attribute, bytes)                                                                       \
    attribute static void name(float *restrict a, const float *restrict b, const float *restrict c, int64_t n) { \
        typedef float vec __attribute__((vector_size(bytes)));                                                   \
        vec *x = (vec *)a;                                                                                       \
        const vec *y = (const vec *)b, *z = (const vec *)c;                                                      \
        for (int64_t i = 0; i < n / (bytes / 4); i += 4)                                                         \
            for (int64_t k = i; k < i + 4; k++) x[k] = y[k] + 0.5f * z[k];                                       \
    }
#define NONE_
FMA_LOOP(fma_plain, NONE_, 16)
TRIAD_LOOP(triad_plain, NONE_, 16)
#if defined(FOR)
FMA_LOOP(fma_avx2, FOR("avx2,fma"), 32)
FMA_LOOP(fma_avx512, FOR("avx512f"), 64)
TRIAD_LOOP(triad_avx2, FOR("avx2,fma"), 32)
TRIAD_LOOP(triad_avx512, FOR("avx512f"), 64)

FOR("avx512f,avx512bf16") static double fma_bf16(int64_t n) {
    __m512 s[SUMS];
    __m512bh x = (__m512bh)_mm512_set1_epi16(0x3f80);
    float out[16];
    for (int k = 0; k < SUMS; k++) s[k] = _mm512_set1_ps((float)k);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < SUMS; k++) s[k] = _mm512_dpbf16_ps(s[k], x, x);
        __asm__ volatile("" ::: "memory");
    }
    for (int k = 1; k < SUMS; k++) s[0] = _mm512_add_ps(s[0], s[k]);
    _mm512_storeu_ps(out, s[0]);
    return (double)out[0];
}
#endif

/* --- threads --- */
typedef struct job {
    fma_loop fma; /* or: */
    triad_loop triad;
    int64_t rounds, floats;
    pthread_barrier_t *gate;
    double seconds, sum;
} job;

static void *work(void *p) {
    job *j = p;
    float *data = j->triad ? aligned_alloc(4096, (size_t)j->floats * 3 * sizeof *data) : NULL;
    if (data) memset(data, 0, (size_t)j->floats * 3 * sizeof *data); /* first touch by the thread that uses it */
    if (data) j->triad(data, data + j->floats, data + 2 * j->floats, j->floats);
    pthread_barrier_wait(j->gate);
    double began = now();
    if (j->fma) j->sum = j->fma(j->rounds);
    for (int64_t i = 0; data && i < j->rounds; i++) {
        j->triad(data, data + j->floats, data + 2 * j->floats, j->floats);
        __asm__ volatile("" ::"r"(data) : "memory");
    }
    j->seconds = j->triad && !data ? 0 : now() - began;
    free(data);
    return NULL;
}

/* Seconds of the slowest thread: all begin at once. 0 when memory or threads are short. */
static double run(const job *what, int threads) {
    pthread_t ids[64];
    job jobs[64];
    pthread_barrier_t gate;
    double slowest = 0;
    int started = 0;
    pthread_barrier_init(&gate, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        jobs[i] = *what;
        jobs[i].gate = &gate;
    }
    for (int i = 1; i < threads; i++)
        if (pthread_create(&ids[i], NULL, work, &jobs[i]) == 0)
            started++;
        else
            abort(); /* the others would wait for ever */
    work(&jobs[0]);
    for (int i = 1; i <= started; i++) pthread_join(ids[i], NULL);
    pthread_barrier_destroy(&gate);
    for (int i = 0; i < threads; i++) {
        if (!(jobs[i].seconds > 0)) return 0;
        if (jobs[i].seconds > slowest) slowest = jobs[i].seconds;
    }
    return slowest;
}

/* The best of some short runs: what the machine can do, not what it did while somebody else used it. */
static double best_rate(job what, int threads, double work_a_round) {
    double best = 0;
    what.rounds = 1;
    for (int k = 0; k < 40; k++) { /* rounds that take about 5 ms */
        double s = run(&what, threads);
        if (s >= 0.004 || s == 0) break;
        what.rounds = s < 0.0005 ? what.rounds * 8 : (int64_t)((double)what.rounds * 0.005 / s) + 1;
    }
    for (int k = 0; k < 12; k++) {
        double s = run(&what, threads), rate = s > 0 ? (double)what.rounds * work_a_round * threads / s : 0;
        if (rate > best) best = rate;
    }
    return best / 1e9;
}

/* --- a matrix product on the library's device --- */
static double product_gflops(xt_dtype t, int64_t n) {
    xt_tensor a = xt_keep(xt_cast(xt_rand(XT_F32, n, n), t)), b = xt_keep(xt_cast(xt_rand(XT_F32, n, n), t));
    double best = 0;
    xt_wait();
    for (int k = 0; k < 6 && !xt_error(); k++) {
        double began = now();
        xt_tensor y = xt_keep(xt_matmul(a, b));
        xt_wait();
        double s = now() - began;
        xt_drop(y);
        if (k > 0 && 2e-9 * (double)(n * n * n) / s > best) best = 2e-9 * (double)(n * n * n) / s;
    }
    xt_drop(a);
    xt_drop(b);
    if (!xt_error()) return best;
    xt_clear_error();
    return 0;
}

/* --- all of it --- */
static int cores(void) {
    const char *env = getenv("XT_THREADS") ? getenv("XT_THREADS") : getenv("OMP_NUM_THREADS");
    cpu_set_t set;
    int n = env ? atoi(env) : 0;
    if (n < 1 && sched_getaffinity(0, sizeof set, &set) == 0) n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > 64 ? 64 : n;
}

static void measure_here(int threads, roofline *out) {
    /* of one array: 24 KiB, 384 KiB, 6 MiB and 96 MiB a thread */
    static const int64_t floats[ROOFLINE_LEVELS] = {2 << 10, 32 << 10, 512 << 10, 8 << 20};
    fma_loop fma = fma_plain, narrow = NULL;
    triad_loop triad = triad_plain;
    double lanes = 4;
    *out = (roofline) {
        .threads = threads ? threads : cores(), .vectors = PLAIN
    };
#if defined(FOR)
    if (__builtin_cpu_supports("avx512f")) {
        fma = fma_avx512;
        triad = triad_avx512;
        lanes = 16;
        strcpy(out->vectors, "AVX-512");
        if (__builtin_cpu_supports("avx512bf16")) narrow = fma_bf16;
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        fma = fma_avx2;
        triad = triad_avx2;
        lanes = 8;
        strcpy(out->vectors, "AVX2");
    }
#endif
    out->f32_gflops = best_rate((job){.fma = fma}, out->threads, 2 * SUMS * lanes);
    if (narrow) out->bf16_gflops = best_rate((job){.fma = narrow}, out->threads, 2 * SUMS * 2 * lanes);
    for (int i = 0; i < ROOFLINE_LEVELS; i++) {
        out->bytes[i] = 12.0 * (double)floats[i] * out->threads;
        out->gbs[i] = best_rate((job){.triad = triad, .floats = floats[i]}, out->threads, 12 * (double)floats[i]);
    }
    double f32 = product_gflops(XT_F32, 1024), bf16 = product_gflops(XT_BF16, 1024);
    if (f32 > out->f32_gflops) out->f32_gflops = f32; /* a device that is no CPU */
    if (bf16 > out->bf16_gflops) out->bf16_gflops = bf16; /* AMX, for one */
}

static void looked_at(xt_status error, void *user) {
    (void)error;
    (void)user;
}

/* In a process of its own, so that the products are no programs of this one's. */
bool roofline_measure(int threads, roofline *out) {
    int ends[2], status;
    memset(out, 0, sizeof *out);
    if (pipe(ends) != 0) return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("XT_SUMMARY", "off", 1);
        unsetenv("XT_DEBUG");
        xt_on_error(looked_at, NULL); /* a dtype that the device has no products of has no rate */
        measure_here(threads, out);
        bool ok = write(ends[1], out, sizeof *out) == (ssize_t)sizeof *out;
        xt_finish();
        _exit(!ok);
    }
    close(ends[1]);
    /* smaller than what a pipe takes at once */
    bool ok = pid > 0 && read(ends[0], out, sizeof *out) == (ssize_t)sizeof *out;
    close(ends[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return ok && out->f32_gflops > 0 && out->gbs[ROOFLINE_LEVELS - 1] > 0;
}

double roofline_gbs(const roofline *r, double bytes) {
    for (int i = 0; i < ROOFLINE_LEVELS; i++)
        if (bytes <= r->bytes[i]) return r->gbs[i];
    return r->gbs[ROOFLINE_LEVELS - 1];
}

double roofline_us(const roofline *r, double flops, double bytes, bool bf16) {
    double compute = flops / (bf16 && r->bf16_gflops > 0 ? r->bf16_gflops : r->f32_gflops) / 1e3,
           memory = bytes / roofline_gbs(r, bytes) / 1e3;
    return compute > memory ? compute : memory;
}

void roofline_print(const roofline *r) {
    cli_printf("roofline, measured now on %d threads, %s: %.0f GFLOP/s f32, %.0f GFLOP/s bf16;", r->threads, r->vectors,
               r->f32_gflops, r->bf16_gflops);
    for (int i = 0; i < ROOFLINE_LEVELS; i++)
        cli_printf(" %.0f GB/s %s %.3g MiB%s", r->gbs[i], i + 1 < ROOFLINE_LEVELS ? "within" : "over",
                   (i + 1 < ROOFLINE_LEVELS ? r->bytes[i] : r->bytes[i - 1]) / 1048576,
                   i + 1 < ROOFLINE_LEVELS ? "," : "");
    cli_printf("\n");
}

void roofline_print_json(const roofline *r) {
    cli_printf("{\"threads\": %d, \"vectors\": \"%s\", \"f32_gflops\": %.5g, \"bf16_gflops\": %.5g, \"triad\": [",
               r->threads, r->vectors, r->f32_gflops, r->bf16_gflops);
    for (int i = 0; i < ROOFLINE_LEVELS; i++)
        cli_printf("%s{\"bytes\": %.0f, \"gbs\": %.5g}", i ? ", " : "", r->bytes[i], r->gbs[i]);
    cli_printf("]}");
}
