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

/* What a sampler is: counted, the program's handle and each loader that uses it. */
typedef struct sampler {
    xt_sampler_desc d;
    _Atomic int owners;
} sampler;
struct xt_sampler {
    sampler *of;
};

typedef struct ready { /* a batch on the device */
    device_buffer *fields[DATA_FIELDS], *mask;
    lazy_extremes *extremes[DATA_FIELDS]; /* of what may be labels; else NULL */
    int64_t size, longest, tokens;
    bool filled, end; /* end: of a stream's epoch, there is no batch */
    xt_status error;
} ready;

struct xt_loader {
    xt_dataset *ds; /* NULL: a sample loader */
    xt_loader_opts o; /* without its sampler */
    sampler *sampler; /* NULL: as they lie, or shuffled */
    const ir_type *types[DATA_FIELDS]; /* of a batch */
    int64_t count; /* samples of an epoch; -1: a stream */
    int64_t batches; /* per epoch; -1: a stream */
    int64_t part, parts; /* which part of a global batch is loaded here: by rank, or by the batch axes of the mesh */
    int64_t epoch, next; /* of the next batch xt_next gives */
    device_buffer *samples[DATA_FIELDS]; /* a sample loader's batch of zeros */
    device_buffer *ones; /* the mask of a full batch */
    xt_tensor resident[DATA_FIELDS]; /* .on_device: all samples */
    int64_t *resident_tokens; /* of each of them */
    lazy_extremes *resident_extremes[DATA_FIELDS];
    uint32_t name; /* the dataset's, interned */
    src_id made; /* the line that made it */
    bool told_short, told_ended, told_left;
    int64_t updates; /* optimizer steps of the thread at the last batch; -1: the next place was set */
    atomic_flag in_next; /* xt_next is under way */
    /* Workers. Batches are numbered from where the workers began; number t waits in ring[t % capacity]. Invariant:
     * taken <= t < taken + capacity for every batch that is claimed or filled, so a place is free when its batch is
     * claimed. All below is under `lock`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t *threads;
    int running, capacity;
    bool stop, closed; /* closed: an error or a stream's end; nothing more is claimed */
    bool ordering; /* a thread makes an epoch's order: this one, which nobody else touches */
    batch_order *making;
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
    struct loader_combined *combined; /* of xt_combined_loader: combined.c. NULL: it reads by itself */
    bool owned; /* by a combined loader, which frees it */
};

xt_status loader_put(const ir_type *type, int64_t n, const void *data, device_buffer **out);
xt_status loader_order_new(const xt_loader *l, int64_t epoch, batch_order **out); /* without its numbers */
int64_t loader_full_size(const xt_loader *l); /* samples of x in a full batch: on a mesh of all its parts */
/* Where this part's samples of batch `index` begin in the epoch's order, and how many they are. */
void loader_share(const xt_loader *l, int64_t index, int64_t *out_first, int64_t *out_size);
xt_status loader_start(xt_loader *l);
void loader_stop(xt_loader *l); /* and forgets what is ready */
xt_status loader_take(xt_loader *l, ready *out); /* waits; the next batch in order */
void ready_free(ready *r);
/* of field k of n samples, numbered from 0; NULL: no labels */
lazy_extremes *loader_extremes(const xt_loader *l, int k, const void *rows, int64_t n);

/* sampler.c: the order of an epoch, l->count indices that are looked at. */
xt_status loader_order(const xt_loader *l, int64_t epoch, int64_t *out);
bool loader_ordered(const xt_loader *l); /* else samples come as they lie */
int64_t loader_longest(const xt_loader *l, const int64_t *order, int64_t index); /* of a batch of all ranks */
/* Of the library's own: takes d.user over, also when it fails. */
xt_status sampler_make(xt_sampler_desc d, xt_sampler **out);
sampler *sampler_hold(const xt_sampler *s); /* one owner more; NULL of NULL */
void sampler_let_go(sampler *s); /* NULL is allowed */
/* Adds the tokens of a sample (its host bytes: fields) to *total. */
xt_status loader_count_tokens(const xt_loader *l, int64_t sample, void *const *fields, int64_t *total);

/* loader.c: the next batch of a loader, in the step that is open; *end: of its epoch. */
xt_status loader_fill(const xt_src *src, xt_loader *l, xt_batch *out, bool *end);
xt_loader *loader_new(void);
bool loader_fits_mesh(const xt_src *src, const xt_loader *l);

/* combined.c */
typedef struct loader_combined loader_combined;
xt_status combined_fill(const xt_src *src, xt_loader *l, xt_batch *out);
void combined_free(xt_loader *l);
void combined_each(const xt_loader *l, void (*fn)(xt_loader *part));
xt_loader *combined_first(const xt_loader *l);

/* resident.c */
xt_status resident_next(const xt_src *src, xt_loader *l, xt_batch *out);

#endif
