/* Inside the loader: loader.c is the loop's side, loader_work.c the workers'. */
#ifndef XT_SRC_DATA_LOADER_INT_H
#define XT_SRC_DATA_LOADER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "data/data.h"
#include "device/device.h"
#include "lazy/core/labels.h"

typedef struct batch_order { /* the permutation of one epoch; counted: workers of two epochs may be at work */
    int64_t epoch;
    int refs; /* under the loader's lock */
    int64_t at[];
} batch_order;

typedef struct ready { /* a batch on the device */
    device_buffer *fields[DATA_FIELDS], *mask;
    lazy_extremes *extremes[DATA_FIELDS]; /* of what may be labels; else NULL */
    int64_t size;
    bool filled, end; /* end: of a stream's epoch, there is no batch */
    xt_status error;
} ready;

struct xt_loader {
    xt_dataset *ds; /* NULL: a sample loader */
    xt_loader_opts o;
    const ir_type *types[DATA_FIELDS]; /* of a batch */
    int64_t batches; /* per epoch; -1: a stream */
    int64_t part, parts; /* which part of a global batch is loaded here: by rank, or by the batch axes of the mesh */
    int64_t epoch, next; /* of the next batch xt_next gives */
    device_buffer *samples[DATA_FIELDS]; /* a sample loader's batch of zeros */
    device_buffer *ones; /* the mask of a full batch */
    xt_tensor resident[DATA_FIELDS]; /* .on_device: all samples */
    lazy_extremes *resident_extremes[DATA_FIELDS];
    uint32_t name; /* the dataset's, interned */
    bool told_short, told_ended;
    atomic_flag in_next; /* xt_next is under way */
    /* Workers. Batches are numbered from where the workers began; number t waits in ring[t % capacity]. Invariant:
     * taken <= t < taken + capacity for every batch that is claimed or filled, so a place is free when its batch is
     * claimed. All below is under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int running, capacity;
    bool stop, closed; /* closed: an error or a stream's end; nothing more is claimed */
    int64_t claimed, taken, claim_epoch, claim_index;
    batch_order *order; /* of the newest epoch claimed; .on_device: of this epoch */
    ready *ring;
    /* loader_keep_full: the newest batches given, n_kept of them; NULL: it is as usual */
    struct loader_kept {
        device_buffer *fields[DATA_FIELDS + 1]; /* the mask behind them */
    } * kept;
    int64_t n_kept;
    void *stream; /* the open epoch, of the one worker */
    bool stream_ended; /* with the batch before */
};

xt_status loader_put(const ir_type *type, int64_t n, const void *data, device_buffer **out);
/* Where this part's samples of batch `index` begin in the epoch's order, and how many they are. */
void loader_share(const xt_loader *l, int64_t index, int64_t *out_first, int64_t *out_size);
xt_status loader_start(xt_loader *l);
void loader_stop(xt_loader *l); /* and forgets what is ready */
xt_status loader_take(xt_loader *l, ready *out); /* waits; the next batch in order */
void ready_free(ready *r);
/* of field k of n samples, numbered from 0; NULL: no labels */
lazy_extremes *loader_extremes(const xt_loader *l, int k, const void *rows, int64_t n);

/* resident.c */
xt_status resident_next(const xt_src *src, xt_loader *l, xt_batch *out);

#endif
