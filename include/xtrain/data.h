/* Datasets and loaders. A dataset gives sample i; a loader shuffles, shards by rank (the same number of batches on
 * every rank), batches, and puts batches onto the device from background threads, ahead of the training loop.
 *
 *     xt_dataset *train = xt_augment(xt_cifar10("data", "train"), .crop_padding = 4, .flip = XT_ON);
 *     xt_loader *l = xt_loader_new(train, .batch = 128, .shuffle = XT_ON, .workers = 2);
 *     for (xt_batch b; xt_next(l, &b);) ...
 *
 * Ownership: what takes a dataset (a loader, a wrapper) takes it over, also when it fails. Several may be made over one
 * dataset while one of them lives: it is freed with the last of them. xt_dataset_retain keeps it beyond that (a
 * reference for each taker but the last is right too). A function that gives NULL has left its error pending
 * (xt_error). Functions of datasets run on loader threads, several at a time, and must not use tensors. */
#ifndef XTRAIN_DATA_H
#define XTRAIN_DATA_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { XT_MORE_FIELDS = 4 }; /* fields of a sample beside x and y */

/* Samples by their number, 0 up to a count (a stream: one after the other); counted owners, see above. */
typedef struct xt_dataset xt_dataset;
/* What batches come from: a dataset with an order, threads that read ahead, and a position. */
typedef struct xt_loader xt_loader;
/* What xt_next gives: samples side by side, on the device. Tensors live until the next xt_next. */
typedef struct xt_batch {
    xt_tensor x, y; /* inputs and labels, [batch] in front of a sample's dims; y none: no labels */
    /* samples of x, padding not counted: this rank's; on a mesh, where x is the whole batch (.strategy "zero2",
     * "fsdp"), all ranks' */
    int64_t size;
    int64_t index; /* batch number in the epoch, from 0 */
    /* from 0: of xt_next, of the loader's own passes; of a Trainer, of the training, also while it validates and tests
     */
    int64_t epoch;
    xt_tensor mask; /* with .pad_last: f32 [batch], 1 for samples and 0 for padding, in every batch; none otherwise */
    xt_tensor more[XT_MORE_FIELDS]; /* further fields, in the dataset's order */
    int64_t longest; /* with a sampler that has bounds: no sample of this batch, on any rank, is longer; else 0 */
    /* of xt_combined_loader: a batch of each loader, in their order (without x where one has ended); borrowed until the
     * next xt_next. NULL for others */
    const struct xt_batch *parts;
    int n_parts; /* of `parts`; 0 for others */
    int loader; /* of xt_combined_loader with XT_SEQUENTIAL: which of them this batch is of */
    /* real tokens of this batch on this rank, padding not counted: as the loader's .tokens counts them, else by the
     * lengths of its bucket sampler, else all of a token or text dataset; 0: nobody counts them */
    int64_t tokens;
} xt_batch;
/* The mean of `values` ([batch] or [batch,...]) over this rank's samples of a padded batch: sum(values * mask) / count,
 * 0 when all is padding (several ranks: doc/launch.md). */
#define xt_masked_mean(values, mask) xt_masked_mean_at(XT_HERE, values, mask)
XT_API xt_tensor xt_masked_mean_at(const xt_src *src, xt_tensor values, xt_tensor mask);

/* --- Datasets ---
 * A dataset of one's own: `get` fills sample i (dense host bytes of the specs). A status travels to xt_next with the
 * sample's index added. */
typedef struct xt_dataset_desc {
    size_t struct_size XT_ZERO;
    int64_t count XT_ZERO; /* samples, 0 and above */
    xt_spec x XT_ZERO, y XT_ZERO; /* of one sample; y.dtype 0 = no labels */
    /* needed; y NULL: without labels, or nobody wants them. On loader threads, several at a time */
    xt_status (*get)(void *user, int64_t i, void *x, void *y) XT_ZERO;
    void (*free_user)(void *user) XT_ZERO;
    void *user XT_ZERO;
    const char *name XT_ZERO; /* for messages; copied */
    /* further fields, up to the first without a dtype; then get_more fills them, after get */
    xt_spec more[XT_MORE_FIELDS] XT_ZERO;
    /* [XT_MORE_FIELDS] places to fill; NULL: that field is not wanted */
    xt_status (*get_more)(void *user, int64_t i, void *const *more) XT_ZERO;
} xt_dataset_desc;
/* xt_dataset_new(&desc): the struct is copied. Yours; NULL after an error, and then `user` is the caller's still. */
#define xt_dataset_new(...) xt_dataset_new_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_dataset_new_at(const xt_src *src, const xt_dataset_desc *d);
XT_API xt_dataset *xt_dataset_retain(xt_dataset *d); /* one more owner; gives d */
XT_API void xt_dataset_free(xt_dataset *d); /* one owner less; the last one frees it. NULL is allowed */
XT_API int64_t xt_dataset_count(const xt_dataset *d); /* -1: a stream */
XT_API xt_spec xt_dataset_x(const xt_dataset *d); /* of one sample, without the batch's dim */
/* of one label; dtype 0: there are none */
XT_API xt_spec xt_dataset_y(const xt_dataset *d);
XT_API XT_CHECK xt_status xt_dataset_get(xt_dataset *d, int64_t i, void *x, void *y); /* y may be NULL */
/* A random number in [0,1) for the sample being loaded: for `get` and map functions that transform at random. It
 * depends on the loader's seed, the epoch, the sample's index and how many were drawn for this sample before; so on
 * nothing that threads or ranks could change. */
XT_API double xt_sample_uniform(void);

/* From C arrays (not copied: they must outlive the dataset): count samples of spec x and y. */
#define xt_array_dataset(...) (XT_NO_DTYPE_AMONG_(__VA_ARGS__), xt_array_dataset_at(XT_HERE, __VA_ARGS__))
XT_API xt_dataset *xt_array_dataset_at(const xt_src *src, const void *x, xt_spec x_spec, const void *y, xt_spec y_spec,
                                       int64_t count);
/* From .npy files: dim 0 counts samples; y_path NULL = no labels. The arrays are read whole. */
#define xt_npy_dataset(...) xt_npy_dataset_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_npy_dataset_at(const xt_src *src, const char *x_path, const char *y_path);
/* From two tensors of a safetensors file, as above. */
#define xt_safetensors_dataset(...) xt_safetensors_dataset_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_safetensors_dataset_at(const xt_src *src, const char *path, const char *x_name,
                                             const char *y_name);
/* From a CSV file of numbers whose first line names the columns:
 *     xt_csv_dataset("houses.csv", .x = "rooms,age,income", .y = "price")
 * x is [columns] of each row, in the order of the list; y one value for one column, [columns] for several. A name
 * may be a pattern ("pixel*": all of them, in the file's order). Opening reads the file once: a row with too few
 * or too many fields, a missing value (empty, NA, NaN, ...) or a text is an error with FILE:LINE:COLUMN. The rows
 * stay on disk, with 8 bytes of memory each, and the file must stay as it is. Fields may be quoted; empty lines
 * are left out. */
#define XT_DEFAULTS_xt_csv_opts(is) is(separator, ',') is(header, XT_ON)
XT_DEFAULTS_OF(xt_csv_opts)
typedef struct XT_OPTIONS_ xt_csv_opts {
    size_t struct_size XT_SIZE(xt_csv_opts);
    const char *x XT_ZERO,
        *y XT_ZERO; /* comma lists of names. x NULL: all columns that are not in y; y NULL: no labels */
    /* XT_F32, XT_F64, XT_I32, XT_I64. 0: x is XT_F32; y XT_I64 when all its values are whole numbers, else XT_F32 */
    xt_dtype x_dtype XT_ZERO, y_dtype XT_ZERO;
    char separator XT_IS(xt_csv_opts, separator); /* one byte between fields */
    /* default on; off: the first line is a row, and the columns' names are "0", "1", ... */
    xt_switch header XT_IS(xt_csv_opts, header);
} xt_csv_opts;
#define xt_csv_dataset(...) XT_CSV_DATASET_(__VA_ARGS__, )
#define XT_CSV_DATASET_(path, ...) xt_csv_dataset_opt(XT_HERE, path, XT_OPTS(xt_csv_opts, __VA_ARGS__))
XT_API xt_dataset *xt_csv_dataset_opt(const xt_src *src, const char *path, xt_csv_opts o);
/* MNIST as f32 [1,28,28] normalised with mean 0.1307 and std 0.3081, labels i64. `dir` holds IDX files, plain or gzip
 * (also under MNIST/raw/): train-* and t10k-*; with one set only, its first 90 % train. split: "train" or "test". dir
 * NULL: drawn digits (seeded). */
XT_API XT_CHECK xt_status xt_mnist_open(const char *dir, const char *split, xt_dataset **out);
#define xt_mnist_dataset(...) xt_mnist_dataset_at(XT_HERE, __VA_ARGS__)
/* split "train"; NULL after an error (xt_error has it) */
XT_API xt_dataset *xt_mnist_dataset_at(const xt_src *src, const char *dir);
/* Digits drawn by the library: stroke glyphs with random slant, thickness, shift, elastic distortion and noise;
 * 28x28, seeded. */
#define xt_drawn_digits(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_drawn_digits_at(XT_HERE, __VA_ARGS__))
XT_API xt_dataset *xt_drawn_digits_at(const xt_src *src, int64_t count, uint64_t seed);
/* CIFAR's binary files as f32 [3,32,32] in 0..1 and labels i64 (CIFAR-100: the fine ones): data_batch_1.bin .. 5,
 * test_batch.bin (CIFAR-10), train.bin, test.bin (CIFAR-100), in `dir` or its cifar-10-batches-bin/, cifar-100-binary/.
 * split: "train" or "test". The files are read whole. */
#define xt_cifar10(...) xt_cifar10_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_cifar10_at(const xt_src *src, const char *dir, const char *split);
#define xt_cifar100(...) xt_cifar100_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_cifar100_at(const xt_src *src, const char *dir, const char *split);
/* PNG and JPEG pictures in one folder a class, classes in the order of their names: f32 [3,side,side] in 0..1 and
 * labels i64, as torchvision's Resize(side), CenterCrop(side) and ToTensor() give them of Pillow's pictures: bilinear,
 * and where it shrinks over all pixels that a new one covers, rounded to bytes. Pictures are decoded when they are
 * asked for; a damaged or cut one is an error with its path. A build without libjpeg refuses JPEG files by name. EXIF's
 * orientation is not looked at, as by torchvision's ImageFolder. */
#define xt_image_folder(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_image_folder_at(XT_HERE, __VA_ARGS__))
XT_API xt_dataset *xt_image_folder_at(const xt_src *src, const char *dir, int side);
XT_API const char *xt_image_folder_class(const xt_dataset *d, int64_t label); /* NULL when there is none */
/* A file as bytes: windows of seq tokens (i64) every `stride` bytes (0 = seq); y is x one byte later. */
#define xt_text_dataset(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_text_dataset_at(XT_HERE, __VA_ARGS__))
XT_API xt_dataset *xt_text_dataset_at(const xt_src *src, const char *path, int64_t seq, int64_t stride);

/* A file of token numbers, as nanoGPT's train.bin (16 bits each) or what `xtrain tokenize` writes (PATH.json beside it
 * says how wide they are, and of how many): windows of seq tokens (i64); y is x one token later. Windows are read when
 * they are asked for, so a file may be larger than memory. */
#define XT_DEFAULTS_xt_token_opts(is) is(stride, -1) is(vocab, -1)
XT_DEFAULTS_OF(xt_token_opts)
typedef struct XT_OPTIONS_ xt_token_opts {
    size_t struct_size XT_SIZE(xt_token_opts);
    int64_t stride XT_IS(xt_token_opts, stride); /* tokens from a window to the next; -1 = seq */
    xt_dtype dtype XT_ZERO; /* XT_U8, XT_U16, XT_U32, XT_I32, XT_I64; 0 = PATH.json's, XT_U16 without one */
    /* a token of this number and above, or below 0, is an error; -1 = PATH.json's, any without one */
    int64_t vocab XT_IS(xt_token_opts, vocab);
    xt_switch jitter
        XT_ZERO; /* default off; on: each window begins at a random place of its stride, another each epoch */
} xt_token_opts;
/* xt_token_dataset("train.bin", 1024, .jitter = XT_ON) */
#define xt_token_dataset(path, ...)                                               \
    (XT_GIVEN_(#__VA_ARGS__, "xt_token_dataset(path, seq, ...): seq is missing"), \
     XT_TOKEN_DATASET_(path, __VA_ARGS__, ))
#define XT_TOKEN_DATASET_(path, seq, ...) \
    xt_token_dataset_opt(XT_HERE, path, XT_NUMBER_(seq), XT_OPTS(xt_token_opts, __VA_ARGS__))
XT_API xt_dataset *xt_token_dataset_opt(const xt_src *src, const char *path, int64_t seq, xt_token_opts o);

/* --- Tar shards: the files of WebDataset --- */
/* A sample of tar shards: the files of one basename, which lie side by side. Valid during the call of .decode. */
typedef struct xt_tar_sample {
    const char *key; /* "train/000123" of train/000123.jpg; a name, which nobody has opened as a file */
    int n; /* how many members */
    const char *const *names; /* "jpg", "cls", "seg.png": what is behind the basename's first dot, in small letters */
    const void *const *data; /* the file's bytes, with a 0 behind them */
    const size_t *sizes; /* bytes of each, without that 0 */
} xt_tar_sample;
XT_API int xt_tar_find(const xt_tar_sample *s, const char *names); /* the first of "jpg;jpeg;png"; -1: none */
/* Tar files without compression, "shard-{000000..000009}.tar" (ranges and lists in braces; "::" between several
 * patterns). x is the picture, f32 [3,side,side] as of xt_image_folder, y the number that the `label` file holds as
 * text (i64); .decode makes both of the bytes instead. Opening reads the shards' headers once, so samples are counted
 * and found by their number: a loader shuffles, divides, pads and resumes them as any others, with as many workers as
 * it likes, and xt_tar_sampler reads shards in turn where only that is fast. The shards must stay as they are.
 * Nothing is unpacked: members are keys and bytes. Folders, links and devices are left out, as are names without
 * an extension or with a leading dot (said once); absolute names, names with "..", sizes beyond the file's end, wrong
 * checksums, one name twice in a sample, and shards without their end are errors with shard and member. */
#define XT_DEFAULTS_xt_tar_opts(is) is(side, 224) is(image, "jpg;jpeg;png") is(label, "cls")
XT_DEFAULTS_OF(xt_tar_opts)
typedef struct XT_OPTIONS_ xt_tar_opts {
    size_t struct_size XT_SIZE(xt_tar_opts);
    int side XT_IS(xt_tar_opts, side); /* height and width of the pictures, 1 to 16384 */
    const char *image XT_IS(xt_tar_opts, image), *label XT_IS(xt_tar_opts, label); /* label NULL: no labels */
    /* makes x and y (NULL without labels, or when nobody wants them) of the specs below; on loader threads */
    xt_status (*decode)(void *user, const xt_tar_sample *s, void *x, void *y) XT_ZERO;
    void (*free_user)(void *user) XT_ZERO;
    void *user XT_ZERO;
    xt_spec x XT_ZERO, y XT_ZERO; /* with .decode: of one sample */
} xt_tar_opts;
/* xt_tar_dataset("data/shard-{000000..000009}.tar", .side = 32) */
#define xt_tar_dataset(...) XT_TAR_DATASET_(__VA_ARGS__, )
#define XT_TAR_DATASET_(pattern, ...) xt_tar_dataset_opt(XT_HERE, pattern, XT_OPTS(xt_tar_opts, __VA_ARGS__))
XT_API xt_dataset *xt_tar_dataset_opt(const xt_src *src, const char *pattern, xt_tar_opts o);
XT_API int64_t xt_tar_shards(const xt_dataset *d); /* how many files; 0: it is no tar dataset */

/* --- Datasets of datasets --- */
/* fn makes x and y (of the new specs) from a sample of d; y_in and y may be NULL without labels. Further fields
 * are left out. */
typedef xt_status (*xt_map_fn)(void *user, int64_t i, const void *x_in, const void *y_in, void *x, void *y);
/* xt_map_dataset(d, x, y, fn, user): as many samples as d, which it takes over; labels of y.dtype 0 are none */
#define xt_map_dataset(...) xt_map_dataset_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_map_dataset_at(const xt_src *src, xt_dataset *d, xt_spec x, xt_spec y, xt_map_fn fn, void *user);
#define xt_subset(...) \
    (XT_NO_DTYPE_(__VA_ARGS__), xt_subset_at(XT_HERE, __VA_ARGS__)) /* the samples at these indices, in this order */
/* indices are copied */
XT_API xt_dataset *xt_subset_at(const xt_src *src, xt_dataset *d, const int64_t *indices, int64_t n);
/* n parts of a random permutation, the same for the same seed; lengths must add up to the count. out: n datasets. */
XT_API XT_CHECK xt_status xt_random_split(xt_dataset *d, int n, const int64_t *lengths, uint64_t seed,
                                          xt_dataset **out);
#define xt_concat_datasets(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_concat_datasets_at(XT_HERE, __VA_ARGS__))
/* one after the other; equal specs */
XT_API xt_dataset *xt_concat_datasets_at(const xt_src *src, int n, xt_dataset *const *parts);
/* Pictures f32 [C,H,W], changed at random each time: cut out after padding with zeros, mirrored; then (x - mean[c]) /
 * std[c]. As torchvision's RandomCrop(size, padding), RandomHorizontalFlip, Normalize. */
#define XT_DEFAULTS_xt_augment_opts(is)
typedef struct XT_OPTIONS_ xt_augment_opts {
    size_t struct_size XT_SIZE(xt_augment_opts);
    int crop_padding XT_ZERO; /* 0 = no crop */
    xt_switch flip XT_ZERO; /* half of the pictures; default off */
    const float *mean XT_ZERO, *std XT_ZERO; /* one a channel, copied; NULL = 0 and 1 */
} xt_augment_opts;
#define xt_augment(...) XT_AUGMENT_(__VA_ARGS__, )
#define XT_AUGMENT_(ds, ...) xt_augment_opt(XT_HERE, ds, XT_OPTS(xt_augment_opts, __VA_ARGS__))
XT_API xt_dataset *xt_augment_opt(const xt_src *src, xt_dataset *d, xt_augment_opts o);

/* --- Streams: samples in their own order, of a number nobody knows before the end. `open` begins an epoch, `next`
 * fills a sample or sets *end. A loader reads a stream in one thread. With several ranks `open` picks this rank's share
 * (xt_rank()), and the loader needs .limit, so that all ranks have the same number of batches; a stream that ends
 * earlier on some rank is an error there. So is one that has no batch at all in an epoch. */
/* A dataset whose samples have no numbers. */
typedef struct xt_stream_desc {
    size_t struct_size XT_ZERO;
    xt_spec x XT_ZERO, y XT_ZERO; /* of one sample; y.dtype 0 = no labels */
    /* begins the epoch; *out_state goes to the next two */
    xt_status (*open)(void *user, int64_t epoch, void **out_state) XT_ZERO;
    /* fills x and y (NULL without labels), or sets *end and fills nothing */
    xt_status (*next)(void *state, void *x, void *y, bool *end) XT_ZERO;
    void (*close)(void *state) XT_ZERO; /* the epoch is over, or the loader goes */
    void (*free_user)(void *user) XT_ZERO;
    void *user XT_ZERO;
    const char *name XT_ZERO; /* for messages; NULL = "stream" */
} xt_stream_desc;
/* xt_stream_dataset(&desc): the struct is copied. Yours; NULL after an error, and then `user` is the caller's still. */
#define xt_stream_dataset(...) xt_stream_dataset_at(XT_HERE, __VA_ARGS__)
XT_API xt_dataset *xt_stream_dataset_at(const xt_src *src, const xt_stream_desc *d);

/* --- Samplers: which samples an epoch has, and in what order (torch.utils.data.Sampler), instead of .shuffle ---
 * A sampler is yours: any number of loaders may use one, at once or one after the other, and with several ranks each
 * computes the same order and reads its share. xt_sampler_free gives it back, and xt_finish those that are left; a
 * loader that uses it keeps what it needs of it. One of one's own is a function that fills out[0 .. e->count - 1]:
 *     static xt_status mine(void *user, const xt_epoch *e, int64_t *out);
 *     xt_sampler *s = xt_sampler_new(&(xt_sampler_desc){.count = 1000, .order = mine});
 *     xt_loader_new(ds, .batch = 32, .sampler = s) */
typedef struct xt_epoch {
    uint64_t seed; /* the loader's; xt_sample_uniform draws from it and the epoch */
    int64_t epoch; /* counts from 0 */
    int64_t count; /* samples of the epoch */
    int64_t batch; /* samples of a batch, of all ranks together: so many in a row become one */
    int64_t parts; /* of which so many ranks (or parts of a mesh) read an equal run each, in their order */
} xt_epoch;
/* The order of an epoch: which samples it has, one after the other, and how long they are. */
typedef struct xt_sampler xt_sampler;
/* One of one's own. Its functions run on loaders' threads, of several loaders at a time where several use it. */
typedef struct xt_sampler_desc {
    size_t struct_size XT_ZERO;
    int64_t count XT_ZERO; /* samples of an epoch; at least 1 */
    /* The dataset's indices, in order. An error travels to xt_next. */
    xt_status (*order)(void *user, const xt_epoch *e, int64_t *out) XT_ZERO;
    /* sample i is not longer; the batch's largest is b.longest. May be NULL */
    int64_t (*bound)(void *user, int64_t i) XT_ZERO;
    int64_t (*length)(void *user, int64_t i) XT_ZERO; /* tokens of sample i, for b.tokens. May be NULL */
    void (*free_user)(void *user) XT_ZERO; /* when neither you nor a loader needs it any more; may be NULL */
    void *user XT_ZERO;
} xt_sampler_desc;
/* xt_sampler_new(&desc): the struct is copied. NULL after an error, and then `user` is the caller's still. */
#define xt_sampler_new(...) xt_sampler_new_at(XT_HERE, __VA_ARGS__)
XT_API xt_sampler *xt_sampler_new_at(const xt_src *src, const xt_sampler_desc *d);
XT_API void xt_sampler_free(xt_sampler *s); /* NULL is allowed */
/* WeightedRandomSampler: sample i is drawn with probability weights[i] / their sum. Weights are copied. */
#define XT_DEFAULTS_xt_weighted_sampler_opts(is) is(count, -1) is(replacement, XT_ON)
XT_DEFAULTS_OF(xt_weighted_sampler_opts)
typedef struct XT_OPTIONS_ xt_weighted_sampler_opts {
    size_t struct_size XT_SIZE(xt_weighted_sampler_opts);
    int64_t count XT_IS(xt_weighted_sampler_opts, count); /* draws of an epoch; -1 = as many as there are weights */
    xt_switch replacement XT_IS(xt_weighted_sampler_opts, replacement); /* default on; off: no sample twice an epoch */
} xt_weighted_sampler_opts;
/* xt_weighted_sampler(weights, n, .count = 1000). A mistake gives NULL and leaves its error pending, as below. */
#define xt_weighted_sampler(weights, ...)                                           \
    (XT_GIVEN_(#__VA_ARGS__, "xt_weighted_sampler(weights, n, ...): n is missing"), \
     XT_WEIGHTED_SAMPLER_(weights, __VA_ARGS__, ))
#define XT_WEIGHTED_SAMPLER_(weights, n, ...) \
    xt_weighted_sampler_opt(XT_HERE, weights, XT_NUMBER_(n), XT_OPTS(xt_weighted_sampler_opts, __VA_ARGS__))
XT_API xt_sampler *xt_weighted_sampler_opt(const xt_src *src, const double *weights, int64_t n,
                                           xt_weighted_sampler_opts o);
/* Batches of samples of like length: sample i belongs to the first of the (ascending) boundaries that lengths[i] does
 * not exceed, and a batch's samples to one boundary, which is its b.longest; so a step that cuts its batch there has a
 * program for each boundary. Shuffled, samples and batches. What is left of a bucket fills up the next larger one.
 *     .sampler = xt_bucket_sampler(lengths, n, 3, (int64_t[]){16, 32, 64})
 *     xt_tensor x = xt_slice(b.x, 1, 0, b.longest); */
#define xt_bucket_sampler(...) (XT_NO_DTYPE_(__VA_ARGS__), xt_bucket_sampler_at(XT_HERE, __VA_ARGS__))
XT_API xt_sampler *xt_bucket_sampler_at(const xt_src *src, const int64_t *lengths, int64_t n, int n_boundaries,
                                        const int64_t *boundaries);

/* Shards as WebDataset reads them: their order is drawn anew each epoch, they are dealt to the ranks in turn, and each
 * rank reads its own one after the other through a buffer of so many samples, out of which the next is drawn. What
 * longer shares have left is dealt out at the end, so no sample is left out by it. Works on the indices alone: any
 * number of workers sees the same order, and a run that is resumed with as many ranks goes on with it. `d` is looked
 * at here and not taken. */
#define XT_DEFAULTS_xt_tar_sampler_opts(is) is(buffer, 1000) is(shuffle_shards, XT_ON)
XT_DEFAULTS_OF(xt_tar_sampler_opts)
typedef struct XT_OPTIONS_ xt_tar_sampler_opts {
    size_t struct_size XT_SIZE(xt_tar_sampler_opts);
    int64_t buffer XT_IS(xt_tar_sampler_opts, buffer); /* samples of a rank; 1 = in their order within a shard */
    xt_switch shuffle_shards XT_IS(xt_tar_sampler_opts, shuffle_shards); /* default on */
} xt_tar_sampler_opts;
/* .sampler = xt_tar_sampler(ds, .buffer = 5000) */
#define xt_tar_sampler(...) XT_TAR_SAMPLER_(__VA_ARGS__, )
#define XT_TAR_SAMPLER_(d, ...) xt_tar_sampler_opt(XT_HERE, d, XT_OPTS(xt_tar_sampler_opts, __VA_ARGS__))
XT_API xt_sampler *xt_tar_sampler_opt(const xt_src *src, const xt_dataset *d, xt_tar_sampler_opts o);

/* --- Loaders --- */
#define XT_DEFAULTS_xt_loader_opts(is)                                                                            \
    is(batch, 1) is(workers, 1) is(prefetch, -1) is(seed, XT_SEED_OF_RUN) is(limit, -1) is(drop_last, XT_DEFAULT) \
        is(shard, XT_ON)
XT_DEFAULTS_OF(xt_loader_opts)
typedef struct XT_OPTIONS_ xt_loader_opts {
    size_t struct_size XT_SIZE(xt_loader_opts);
    int64_t batch XT_IS(xt_loader_opts, batch); /* per rank */
    xt_switch shuffle XT_ZERO; /* default off; reshuffled each epoch from (seed, epoch); not for streams */
    /* default on for a training loop's fixed shapes; XT_OFF keeps the short batch (one more program, said once), of as
     * many samples on each rank: up to ranks - 1 of an epoch are left out still (.pad_last leaves none) */
    xt_switch drop_last XT_IS(xt_loader_opts, drop_last);
    int workers XT_IS(xt_loader_opts, workers); /* reading threads; batches arrive in their order all the same */
    /* batches ahead (and one more for each further worker); -1 = 2. Memory is a pool of fixed size: a batch of host
     * memory a worker, used again for each, and on the device prefetch + workers - 1 batches that wait, with those of
     * the steps under way */
    int prefetch XT_IS(xt_loader_opts, prefetch);
    uint64_t seed XT_IS(xt_loader_opts, seed); /* XT_SEED_OF_RUN: the run's */
    int64_t limit XT_IS(xt_loader_opts, limit); /* batches of an epoch; -1 = all */
    xt_switch shard XT_IS(xt_loader_opts, shard); /* default on: by rank */
    /* default off; on: no sample is left out, the last batch is filled up and b.mask tells; shapes stay fixed */
    xt_switch pad_last XT_ZERO;
    /* default off; on: all samples are put on the device once, and each step picks its batch there (one device; random
     * transforms are drawn once); nothing is read ahead then, so .workers and .prefetch are errors beside it */
    xt_switch on_device XT_ZERO;
    xt_sampler *sampler XT_ZERO; /* which samples, and in what order; not together with .shuffle, and not for streams */
    /* How many real tokens a sample has, of its host bytes (more: further fields): of its lengths, its loss mask, or
     * those that are no padding. They are summed in b.tokens. NULL: the sampler's lengths, or what the dataset knows.
     * On loader threads */
    int64_t (*tokens)(void *user, const void *x, const void *y, void *const *more) XT_ZERO;
    void *tokens_user XT_ZERO; /* passed to tokens */
} xt_loader_opts;
/* Batches of a data set, read and put together on threads of its own, for xt_next and xt_fit; with several ranks each
 * reads its share of an epoch. It takes ds over, also when it fails, and is yours: xt_loader_free, or xt_finish. A
 * mistake gives NULL and leaves its error pending, with the caller's line. Nothing is read, and nothing waited for,
 * before the first batch is asked for: xt_loader_new(ds, .batch = 32, .shuffle = XT_ON) */
#define xt_loader_new(...) XT_LOADER_NEW_(__VA_ARGS__, )
#define XT_LOADER_NEW_(ds, ...) xt_loader_opt(XT_HERE, ds, XT_OPTS(xt_loader_opts, __VA_ARGS__))
XT_API xt_loader *xt_loader_opt(const xt_src *src, xt_dataset *ds, xt_loader_opts o); /* takes ds over */
/* Gives the same batch of zeros `count` times: shapes without data. */
#define XT_DEFAULTS_xt_sample_loader_opts(is) is(batch, 1) is(count, XT_UNSET)
XT_DEFAULTS_OF(xt_sample_loader_opts)
typedef struct XT_OPTIONS_ xt_sample_loader_opts {
    size_t struct_size XT_SIZE(xt_sample_loader_opts);
    int64_t batch XT_IS(xt_sample_loader_opts, batch); /* samples of a batch */
    int64_t count XT_IS(xt_sample_loader_opts, count); /* needed: batches of an epoch */
    xt_spec x XT_ZERO, y XT_ZERO; /* of one sample; y.dtype 0 = no labels */
} xt_sample_loader_opts;
#define xt_sample_loader(...) xt_sample_loader_opt(XT_HERE, XT_OPTS(xt_sample_loader_opts, __VA_ARGS__))
XT_API xt_loader *xt_sample_loader_opt(const xt_src *src, xt_sample_loader_opts o);
/* drawn digits, or XT_MNIST_DIR's files; train shuffles */
#define xt_mnist_loader(split, batch) xt_mnist_loader_at(XT_HERE, split, XT_NUMBER_(batch))
XT_API xt_loader *xt_mnist_loader_at(const xt_src *src, const char *split, int64_t batch);

/* Lightning's CombinedLoader: several loaders as one, which takes them over (also when it fails), for training loops
 * and xt_fit. A batch has one of each in b.parts, and x, y of the first; with XT_SEQUENTIAL it is one loader's batch,
 * whose number is b.loader. b.size is of all parts together. Each needs a known number of batches. */
typedef enum xt_combined_mode {
    XT_MIN_SIZE = 0, /* an epoch ends with the shortest loader */
    XT_MAX_SIZE_CYCLE = 1, /* with the longest; shorter ones begin again */
    XT_MAX_SIZE = 2, /* with the longest; shorter ones have no x any more */
    XT_SEQUENTIAL = 3 /* one loader after the other */
} xt_combined_mode;
#define XT_DEFAULTS_xt_combined_opts(is)
typedef struct XT_OPTIONS_ xt_combined_opts {
    size_t struct_size XT_SIZE(xt_combined_opts);
    xt_combined_mode mode XT_ZERO; /* how long an epoch is, and what comes from which loader */
} xt_combined_opts;
/* Several loaders as one (above), which takes them over, also when it fails. A mistake gives NULL and leaves its error
 * pending: xt_combined_loader(2, ((xt_loader *[]){labelled, unlabelled}), .mode = XT_MAX_SIZE_CYCLE) */
#define xt_combined_loader(n, ...)                                                       \
    (XT_GIVEN_(#__VA_ARGS__, "xt_combined_loader(n, loaders, ...): loaders is missing"), \
     XT_COMBINED_LOADER_(n, __VA_ARGS__, ))
#define XT_COMBINED_LOADER_(n, loaders, ...) \
    xt_combined_loader_opt(XT_HERE, XT_NUMBER_(n), loaders, XT_OPTS(xt_combined_opts, __VA_ARGS__))
XT_API xt_loader *xt_combined_loader_opt(const xt_src *src, int n, xt_loader *const *loaders, xt_combined_opts o);

/* Ends the previous step, begins one and gives its batch; false at the end of the epoch (the next call begins another)
 * or after an error. A pass that was left (break) goes on with its next batch; xt_loader_set_epoch begins one anew. */
#define xt_next(loader, out_batch) xt_next_at(XT_HERE, loader, out_batch)
XT_API bool xt_next_at(const xt_src *src, xt_loader *l, xt_batch *out);
/* per epoch, on this rank; a stream without .limit: -1 */
XT_API int64_t xt_loader_batches(const xt_loader *l);
XT_API int64_t xt_loader_batch_size(const xt_loader *l); /* samples a batch, on this rank */
XT_API int64_t xt_loader_epoch(const xt_loader *l); /* of the coming xt_next; counts from 0 */
/* to resume: the next xt_next gives that batch */
XT_API void xt_loader_set_epoch(xt_loader *l, int64_t epoch, int64_t batch);
XT_API void xt_loader_free(xt_loader *l); /* joins its threads; xt_finish frees what is left */

#ifdef __cplusplus
}
#endif
#endif
