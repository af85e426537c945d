/* Picks the vector loops by what the processor and the system support, and by XT_CPU_FEATURES, which may
 * ask for less. */
#include "cpu/vector/simd.h"

#include <pthread.h>

static const simd_ops *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* 0 base, 1 avx2, 2 avx512: what may be used at most. A name that means nothing is told once and ignored. */
static int most_wanted(void) {
    static const char *const levels[] = {"base", "avx2", "avx512"};
    const char *v = env_get("XT_CPU_FEATURES");
    for (int i = 0; v && i < (int)BASE_COUNT(levels); i++)
        if (strcmp(v, levels[i]) == 0) return i;
    if (v)
        log_once("XT_CPU_FEATURES", XT_SEV_WARNING, "XT_CPU_FEATURES=%s is ignored: expected base, avx2 or avx512", v);
    return (int)BASE_COUNT(levels) - 1;
}

static void choose(void) {
    int most = most_wanted();
    chosen = &simd_base;
    (void)most;
#if defined(__x86_64__)
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (most >= 2 && avx512)
        chosen = &simd_avx512;
    else if (most >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        chosen = &simd_avx2;
#endif
}

const simd_ops *simd_get(void) {
    pthread_once(&once, choose);
    return chosen;
}

bool simd_has_bf16(void) {
#if defined(__x86_64__)
    return simd_level() == 2 && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

int simd_level(void) {
    const char *name = simd_get()->name;
    return strcmp(name, "avx512") == 0 ? 2 : strcmp(name, "avx2") == 0;
}
