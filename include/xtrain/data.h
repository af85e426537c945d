/* Datasets and loaders. A dataset gives sample i; a loader shuffles, shards by rank (the same length on every rank), batches, and puts
 * batches onto the device from background threads, ahead of the training loop. */
#ifndef XTRAIN_DATA_H
#define XTRAIN_DATA_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct xt_dataset xt_dataset;
typedef struct xt_loader xt_loader;
typedef struct xt_batch {
    xt_tensor x, y;
    int64_t size;   /* samples in this batch on this rank */
    int64_t index;  /* batch number in the epoch, from 0 */
    int64_t epoch;  /* from 0 */
} xt_batch;

/* A dataset of one's own: `get` fills sample i (dense host bytes of the specs); it is called from loader threads, several at a time. A
 * status travels to xt_next with the sample's index added. */
typedef struct xt_dataset_desc {
    size_t struct_size;
    int64_t count;
    xt_spec x, y;               /* of one sample; y.dtype 0 = no labels */
    xt_status (*get)(void *user, int64_t i, void *x, void *y);
    void (*free_user)(void *user);
    void *user;
    const char *name;
} xt_dataset_desc;
XT_API xt_dataset *xt_dataset_new(const xt_dataset_desc *d);
/* From C arrays (not copied: they must outlive the dataset): count samples of spec x and y. */
XT_API xt_dataset *xt_array_dataset(const void *x, xt_spec x_spec, const void *y, xt_spec y_spec, int64_t count);
XT_API void xt_dataset_free(xt_dataset *d);
XT_API int64_t xt_dataset_count(const xt_dataset *d);
XT_API xt_spec xt_dataset_x(const xt_dataset *d);
XT_API xt_spec xt_dataset_y(const xt_dataset *d);
XT_API xt_status xt_dataset_get(xt_dataset *d, int64_t i, void *x, void *y);

/* MNIST as f32 [1,28,28] normalised with mean 0.1307 and std 0.3081, labels i64. `dir` holds IDX files, plain or gzip (also under
 * MNIST/raw/): train-* and t10k-*; with one set only, its first 90 % train. split: "train" or "test". dir NULL: drawn digits (seeded). */
XT_API xt_status xt_mnist_open(const char *dir, const char *split, xt_dataset **out);
XT_API xt_dataset *xt_mnist_dataset(const char *dir);               /* split "train"; NULL after an error (xt_error has it) */
/* Digits drawn by the library: stroke glyphs with random slant, thickness, shift, elastic distortion and noise; 28x28, seeded. */
XT_API xt_dataset *xt_drawn_digits(int64_t count, uint64_t seed);

typedef struct xt_loader_opts {
    size_t struct_size;
    int64_t batch;        /* 0 = 1; per rank */
    xt_switch shuffle;    /* default off; reshuffled each epoch from (seed, epoch) */
    xt_switch drop_last;  /* default on for a training loop's fixed shapes; XT_OFF keeps the short batch (one more program, said once) */
    int workers;          /* 0 = 1 thread */
    int prefetch;         /* batches ahead, 0 = 2 */
    uint64_t seed;        /* 0 = the run's seed */
    int64_t limit;        /* 0 = all batches of an epoch */
    xt_switch shard;      /* default on: by rank */
} xt_loader_opts;
#define xt_loader_new(...) XT_LOADER_NEW_(__VA_ARGS__, )
#define XT_LOADER_NEW_(ds, ...) xt_loader_opt(ds, XT_OPTS(xt_loader_opts, __VA_ARGS__))
XT_API xt_loader *xt_loader_opt(xt_dataset *ds, xt_loader_opts o);  /* takes ds over */
/* Gives the same batch of zeros `count` times: shapes without data. */
typedef struct xt_sample_loader_opts {
    size_t struct_size;
    int64_t batch, count;
    xt_spec x, y;
} xt_sample_loader_opts;
#define xt_sample_loader(...) xt_sample_loader_opt(XT_OPTS(xt_sample_loader_opts, __VA_ARGS__))
XT_API xt_loader *xt_sample_loader_opt(xt_sample_loader_opts o);
#define xt_mnist_loader(split, batch) xt_mnist_loader_at(XT_HERE, split, batch) /* drawn digits, or XT_MNIST_DIR's files; train shuffles */
XT_API xt_loader *xt_mnist_loader_at(const xt_src *src, const char *split, int64_t batch);

/* Ends the previous step, begins one and gives its batch; false at the end of the epoch (the next call begins another) or after an error. */
#define xt_next(loader, out_batch) xt_next_at(XT_HERE, loader, out_batch)
XT_API bool xt_next_at(const xt_src *src, xt_loader *l, xt_batch *out);
XT_API int64_t xt_loader_batches(const xt_loader *l);               /* per epoch, on this rank */
XT_API int64_t xt_loader_batch_size(const xt_loader *l);
XT_API int64_t xt_loader_epoch(const xt_loader *l);
XT_API void xt_loader_set_epoch(xt_loader *l, int64_t epoch, int64_t batch); /* to resume: the next xt_next gives that batch */
XT_API void xt_loader_free(xt_loader *l);

#ifdef __cplusplus
}
#endif
#endif
