/* Inside the data layer. */
#ifndef XT_SRC_DATA_H
#define XT_SRC_DATA_H

#include <xtrain/data.h>

#include "lazy/lazy.h"

enum { DATA_FIELDS = 2 + XT_MORE_FIELDS }; /* x, y, more */

struct xt_dataset {
    xt_dataset_desc d; /* of a stream: count -1, no get */
    xt_stream_desc stream;
    const ir_type *types[DATA_FIELDS]; /* of one sample; NULL where there is no such field */
    int64_t tokens; /* of each sample, where the dataset knows; else 0 */
    char *name;
    int refs, taken; /* taken: those references that loaders and wrappers own. Both under the lock of dataset.c */
};

const ir_type *data_spec_type(const xt_spec *s); /* NULL for none or a bad one */
xt_status data_spec_check(const char *who, const char *what, const xt_spec *s); /* says what is wrong with it */
xt_spec data_spec(xt_dtype t, size_t rank, const int64_t *dims);
size_t data_spec_bytes(const xt_spec *s);
/* Makes `who` (a loader, a wrapper) an owner of d: of a reference that nobody else of its kind has taken, or of one
 * more. An error where d is freed already. */
xt_status data_take(xt_dataset *d, const char *who);
void data_drop(xt_dataset *d); /* what was taken; NULL is allowed */
/* A failure of a function that gives a dataset: leaves it pending, drops `over` (what the function has
 * taken), gives NULL. */
xt_dataset *data_fail(xt_status s, xt_dataset *over);
/* For dataset functions: xt_dataset_new, freeing d.user when that fails. */
xt_dataset *data_make(xt_dataset_desc d);
/* All fields of sample i; fields[k] NULL = not wanted. */
xt_status data_get(xt_dataset *d, int64_t i, void *const *fields);
/* One pass of the library's own over a loader. Several may be under way over one loader, one inside another (a fit, its
 * validation over the same loader, a callback's xt_validate, the program's own xt_next): each has its own iteration of
 * the samples, as each iter() of a DataLoader is, since a pass takes the loader back to where it stood itself. */
typedef struct loader_pass {
    xt_loader *l;
    int64_t epoch, next; /* where it stands itself; next < 0: it has taken nothing yet */
} loader_pass;
bool loader_pass_next(const xt_src *src, loader_pass *p, xt_batch *out);
/* Where a loader stands, for whoever moves it: behind the inner pass it goes back there, where that was within an
 * epoch. Where it was at one's begin, it goes nowhere: what it reads ahead is of use. */
loader_pass loader_mark(xt_loader *l);
void loader_return(const loader_pass *p);
/* From the next epoch on the samples come in their own order (a trainer's overfit_batches). */
void loader_set_sequential(xt_loader *l);
/* For a trial whose memory is to be that of the fullest moment, whoever is faster: each batch is given when all places
 * for the ones after it are filled, and those of the steps that may be in flight are kept. */
void loader_keep_full(xt_loader *l);
/* How many loaders read an epoch's order together: the ranks, or a mesh's parts. */
int64_t loader_readers(const xt_loader *l);
/* Samples of an epoch that are in no batch (of any rank), because the last batch would be short and
 * .drop_last is on. */
int64_t loader_left_out(const xt_loader *l);
xt_spec loader_x(const xt_loader *l); /* of a batch */
/* The loaders that a combined one gives one after the other (XT_SEQUENTIAL), and how many; of others 0. */
int loader_parts(const xt_loader *l, xt_loader *const **out);
/* Which sample xt_sample_uniform draws for, in this thread. Ended by data_draw_end: calls outside a loader begin anew
 * with each sample. */
void data_draw_begin(uint64_t seed, int64_t epoch, int64_t sample);
void data_draw_end(void);
/* A random permutation of 0 .. n-1 by Fisher and Yates: element k of the draw depends on (seed, stream, k) only. */
void data_permute(int64_t *order, int64_t n, uint64_t seed, uint64_t stream);

#endif
