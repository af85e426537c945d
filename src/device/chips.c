/* What vendors publish about the chips a program can be planned for, and how the CUDA plugin's compiler is told about a
 * card it has never seen.
 *
 * Figures are per device as a topology lists them: the TPUs v2, v3 and v7x list each of a chip's two cores, v4 and v5p
 * too when they are compiled for without hardware; such a core has half of its chip. Sources:
 * cloud.google.com/tpu/docs (system architecture, v4, v5e, v5p, v6e, tpu7x), NVIDIA's data sheets of H100 SXM, A100
 * 80GB SXM, L4 and B200; flops are dense. A TPU's f32 product is several bf16 passes (six for precision HIGHEST). The
 * way to the host is PCI Express of the card's generation, 16 lanes (L4: of generation 4); for TPUs it is not
 * published, and generation 3 or 4 is assumed. */
#include "device/chips.h"

#include <strings.h>

#define GIB (1024.0 * 1024 * 1024)

static const device_chip tpus[] = {
    {"v2", "TPU v2 core", 22.5e12, 22.5e12 / 6, 350e9, 62e9, (int64_t)(8 * GIB), 16e9},
    {"v3", "TPU v3 core", 61.5e12, 61.5e12 / 6, 450e9, 82e9, (int64_t)(16 * GIB), 16e9},
    {"v4", "half a TPU v4 chip", 137.5e12, 137.5e12 / 6, 614e9, 150e9, (int64_t)(16 * GIB), 16e9},
    {"v5e", "TPU v5e", 197e12, 197e12 / 6, 819e9, 200e9, (int64_t)(16 * GIB), 16e9},
    {"v5p", "TPU v5p", 459e12, 459e12 / 6, 2765e9, 600e9, (int64_t)(95 * GIB), 32e9},
    {"v6e", "TPU v6e", 918e12, 918e12 / 6, 1640e9, 448e9, (int64_t)(32 * GIB), 32e9},
    {"tpu7x", "half a TPU 7x chip", 1153.5e12, 1153.5e12 / 6, 3690e9, 600e9, (int64_t)(96 * GIB), 32e9},
};

static const device_gpu gpus[] = {
    {{"h100", "NVIDIA H100 SXM", 989.4e12, 66.9e12, 3350e9, 450e9, (int64_t)(80 * GIB), 64e9},
     9,
     0,
     132,
     1830,
     2619,
     50,
     227},
    {{"a100", "NVIDIA A100 SXM 80GB", 312e12, 19.5e12, 2039e9, 300e9, (int64_t)(80 * GIB), 32e9},
     8,
     0,
     108,
     1410,
     1593,
     40,
     163},
    {{"l4", "NVIDIA L4", 121e12, 30.3e12, 300e9, 32e9, (int64_t)(24 * GIB), 32e9}, 8, 9, 58, 2040, 6251, 48, 99},
    {{"b200", "NVIDIA B200", 2250e12, 75e12, 7700e9, 900e9, (int64_t)(180 * GIB), 64e9},
     10,
     0,
     148,
     1965,
     3996,
     126,
     227},
};

const device_chip *chip_tpu(const char *name, size_t n) {
    for (size_t i = 0; i < BASE_COUNT(tpus); i++)
        if (strlen(tpus[i].name) == n && strncasecmp(tpus[i].name, name, n) == 0) return &tpus[i];
    return NULL;
}

const device_gpu *chip_gpu(const char *name, size_t n) {
    for (size_t i = 0; i < BASE_COUNT(gpus); i++)
        if (strlen(gpus[i].chip.name) == n && strncasecmp(gpus[i].chip.name, name, n) == 0) return &gpus[i];
    return NULL;
}

void chip_gpu_target(const device_gpu *g, str *out) {
    str_printf(out,
               "gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 "
               "shared_memory_per_core: %d "
               "threads_per_core_limit: %d core_count: %d fpus_per_core: 128 block_dim_limit_x: 2147483647 "
               "block_dim_limit_y: 65535 block_dim_limit_z: 65535 "
               "memory_bandwidth: %lld l2_cache_size: %lld clock_rate_ghz: %.3f device_memory_size: %lld "
               "shared_memory_per_block_optin: %d "
               "cuda_compute_capability { major: %d minor: %d } registers_per_core_limit: 65536 "
               "registers_per_block_limit: 65536 } "
               "platform_name: \"CUDA\" dnn_version_info { major: 9 minor: 8 } device_description_str: \"%s\"",
               (g->shared_kib + 1) * 1024, g->major == 8 && g->minor == 9 ? 1536 : 2048, g->cores,
               (long long)g->chip.bytes_per_s, g->l2_mib * 1024LL * 1024, g->clock_mhz / 1e3,
               (long long)g->chip.memory_bytes, g->shared_kib * 1024, g->major, g->minor, g->chip.title);
}

void chip_names(str *out) {
    str_append(out, "cpu, cpu:N");
    static const char *const shapes[] = {"2x2", "2x2", "2x2x1", "2x2", "2x2x1", "2x2", "2x2x1"};
    for (size_t i = 0; i < BASE_COUNT(tpus); i++) str_printf(out, ", %s:%s", tpus[i].name, shapes[i]);
    for (size_t i = 0; i < BASE_COUNT(gpus); i++) str_printf(out, ", cuda:%s", gpus[i].chip.name);
}
