/* The arithmetic of the throughput monitor: a window over completed micro-batches. Pure: times come in as arguments.
 *
 * A batch's time is from the completion of the one before it (or from when training went on, if that is later) to its
 * own completion, so dispatch never counts and a pause never counts. The first batch only sets the clock: its time
 * would hold the compile. Thread-safe: completions come from other threads. */
#ifndef XT_SRC_TRAIN_THROUGHPUT_WINDOW_H
#define XT_SRC_TRAIN_THROUGHPUT_WINDOW_H

#include <pthread.h>

#include "base/base.h"

typedef struct thr_batch {
    int64_t seq, samples, items, took_ns; /* took_ns: < 0 while unknown */
    double flops;
} thr_batch;
typedef struct thr_window {
    pthread_mutex_t lock;
    thr_batch *ring;
    size_t window, cap; /* the ring has a few more places than the window, for batches under way */
    int64_t next_seq;
    int64_t clock_ns; /* when the device became free for training; < 0 before the first completion */
    int64_t batches, samples; /* completed since the start */
} thr_window;
typedef struct thr_stats {
    size_t n; /* batches in the window */
    double mean_s, p50_s, p95_s; /* of a micro-batch */
    double batches_per_s, samples_per_s, items_per_s, flops_per_s; /* of this device */
} thr_stats;

xt_status thr_init(thr_window *w, size_t window);
void thr_deinit(thr_window *w);
int64_t thr_begin(thr_window *w, int64_t samples); /* a batch is on its way; gives its number */
void thr_items(thr_window *w, int64_t seq, int64_t items); /* where batches differ in them */
void thr_flops(thr_window *w, int64_t seq, double flops);
void thr_done(thr_window *w, int64_t seq, int64_t finished_ns);
/* training goes on; also: other work of the device was done at now_ns */
void thr_resume(thr_window *w, int64_t now_ns);
bool thr_get(thr_window *w, thr_stats *out); /* of the newest `window` batches with a time; false while none has one */

/* What a row holds: the times, the rates of this device ("throughput/device/...") and of all `devices` together
 * ("throughput/..."). items: of a sample, where batches have not told theirs; 0 = they are not counted; tokens: they
 * are called so; peak: FLOP/s of one device, 0 = unknown, and then there is no MFU. Gives how many. */
enum { THR_VALUES = 16 };
int thr_values(const thr_stats *s, double devices, double peak, double items, bool tokens,
               const char *names[THR_VALUES], double values[THR_VALUES]);
double thr_items_per_s(const thr_stats *s, double items); /* of this device */
double thr_mfu(const thr_stats *s, double peak); /* 0 when it is unknown */

#endif
