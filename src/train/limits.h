/* Options with a unit in their text: how many batches, when to validate, how long. Pure functions, tested
 * without a device. */
#ifndef XT_SRC_TRAIN_LIMITS_H
#define XT_SRC_TRAIN_LIMITS_H

#include "base/base.h"

/* A limit in batches: 0 = all, a whole number = so many, below 1 = that share of `batches` (rounded down; a share that
 * leaves none is an error, for it is never meant). `batches` < 0: unknown length, which a share cannot be taken of. */
xt_status limit_batches(const char *name, double limit, int64_t batches, int64_t *out);

/* "45s", "90min", "2h", "1d", or Lightning's DD:HH:MM:SS. */
xt_status duration_parse(const char *name, const char *text, int64_t *out_ns);

typedef enum interval_unit {
    INTERVAL_EPOCHS,
    INTERVAL_BATCHES,
    INTERVAL_STEPS,
    INTERVAL_SHARE,
    INTERVAL_TIME
} interval_unit;
typedef struct train_interval {
    interval_unit unit;
    int64_t n; /* epochs, batches and steps since the training began; nanoseconds for time */
    double share; /* of an epoch, below 1 */
} train_interval;
/* "2epochs" (a bare "2" too), "0.25epochs", "100steps", "200batches", "10min". */
xt_status interval_parse(const char *name, const char *text, train_interval *out);

#endif
