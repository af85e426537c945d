/* Peak FLOP/s of one device, for MFU. */
#ifndef XT_SRC_TRAIN_THROUGHPUT_PEAK_H
#define XT_SRC_TRAIN_THROUGHPUT_PEAK_H

#include "base/base.h"

double throughput_peak_of(const char *device_kind, const char **out_row); /* from the table; 0 when unknown */
/* From the table, else measured: the best of a few 1024 x 1024 f32 matrix products, of a CPU by the time its threads
 * have computed. 0 when the device cannot do even that. Once a process. */
xt_status throughput_peak(double *out_peak, const char **out_source);

#endif
