/* What OpenBLAS's sets of kernels need of the processor (its driver/others/dynamic.c has the names, its kernel/x86_64
 * the instructions). */
#include "cpu/vector/blas_cores.h"

#include <stdlib.h>
#include <strings.h>

#include "base/base.h"

#if defined(__x86_64__)
typedef enum need { SSE3, SSSE3, SSE41, SSE42, AVX, FMA3, FMA4, AVX2, AVX512, BF16 } need;
static const struct {
    const char *core;
    need need;
} cores[] = {
    {"Prescott", SSE3},   {"Core2", SSSE3},    {"Penryn", SSE41},    {"Dunnington", SSE41}, {"Nehalem", SSE42},
    {"Sandybridge", AVX}, {"Bulldozer", FMA4}, {"Piledriver", FMA3}, {"Steamroller", FMA3}, {"Excavator", AVX2},
    {"Haswell", AVX2},    {"Zen", AVX2},       {"SkylakeX", AVX512}, {"Cooperlake", BF16},  {"SapphireRapids", BF16},
};

static bool has(need n) {
    __builtin_cpu_init();
    switch (n) {
    case SSE3: return __builtin_cpu_supports("sse3");
    case SSSE3: return __builtin_cpu_supports("ssse3");
    case SSE41: return __builtin_cpu_supports("sse4.1");
    case SSE42: return __builtin_cpu_supports("sse4.2");
    case AVX: return __builtin_cpu_supports("avx");
    case FMA3: return has(AVX) && __builtin_cpu_supports("fma");
    case FMA4: return has(AVX) && __builtin_cpu_supports("fma4");
    case AVX2: return has(FMA3) && __builtin_cpu_supports("avx2");
    case AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case BF16: return has(AVX512) && __builtin_cpu_supports("avx512bf16");
    }
    return true;
}

bool blas_core_runs(const char *core) {
    for (size_t i = 0; i < BASE_COUNT(cores); i++)
        if (strcasecmp(core, cores[i].core) == 0) return has(cores[i].need);
    return true;
}
#else
bool blas_core_runs(const char *core) {
    (void)core;
    return true;
}
#endif

void blas_cores_check_wish(void) {
    const char *wish = getenv("OPENBLAS_CORETYPE");
    if (!wish || blas_core_runs(wish)) return;
    log_once("blas-core", XT_SEV_WARNING,
             "OPENBLAS_CORETYPE=%s: this processor does not have the instructions of those kernels, so OpenBLAS "
             "chooses by the processor; unset the variable",
             wish);
    env_unset("OPENBLAS_CORETYPE");
}
