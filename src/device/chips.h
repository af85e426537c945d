/* The table of chips a program can be planned for. */
#ifndef XT_SRC_DEVICE_CHIPS_H
#define XT_SRC_DEVICE_CHIPS_H

#include "device/device.h"

typedef struct device_gpu {
    device_chip chip;
    int major, minor; /* compute capability */
    int cores, clock_mhz, memory_mhz, l2_mib, shared_kib;
} device_gpu;
const device_chip *chip_tpu(const char *name, size_t n); /* "v4"; NULL when unknown */
const device_gpu *chip_gpu(const char *name, size_t n); /* "h100" */
/* The card as XLA's GpuTargetConfigProto, in text form. */
void chip_gpu_target(const device_gpu *g, str *out);
void chip_names(str *out);

#endif
