/* Collectives: values that the ranks of a run make together. Those on tensors are recorded as StableHLO ops and run
 * inside the step's program, in order, with derivatives; those on host memory happen at once. Every rank must make the
 * same calls in the same order; one that does not is named by the others' errors within XT_TIMEOUT. Sums are taken by
 * rank, or over hosts in an order made of which rank is where: the same bits on every rank and in every run of that
 * layout. With one rank each call gives what it was given.
 *
 *     xt_tensor mean = xt_all_reduce(x, .op = XT_MEAN);
 *     xt_tensor rows = xt_all_gather(x, 0);                         // [n,...] -> [ranks * n,...]
 *     xt_tensor next = xt_collective_permute(x, .shift = 1);        // from the rank before
 *     xt_tensor pair = xt_all_reduce(x, .groups = "0,2;1,3");
 *
 * Gradients: the loss that is differentiated is the sum of all ranks' losses, so a collective's derivative is its
 * transpose: of a sum the sum of the cotangents, of all_gather reduce_scatter, of what was sent its way back; a
 * maximum's goes to the ranks that hold it, in equal parts; a product's to each the product of the others. and, or and
 * integers have none. On a mesh (mesh.h) tensors are those of the whole run and the compiler makes the collectives:
 * these are refused there. */
#ifndef XTRAIN_COLLECTIVE_H
#define XTRAIN_COLLECTIVE_H

#include <xtrain/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XT_DEFAULTS_xt_collective_opts(is)
typedef struct XT_OPTIONS_ xt_collective_opts {
    size_t struct_size XT_SIZE(xt_collective_opts);
    /* of all_reduce and reduce_scatter: 0 = XT_SUM; XT_MEAN (floats), XT_MIN, XT_MAX, XT_PRODUCT, XT_AND, XT_OR
     * (integers and bool) */
    xt_reduce op XT_ZERO;
    /* ranks that work together, groups of one size that name every rank once: "0,1;2,3". NULL = all in one */
    const char *groups XT_ZERO;
    int group_size XT_ZERO; /* instead of groups: so many neighbours each, 2 = "0,1;2,3;..."; 0 = all */
    int root XT_ZERO; /* broadcast: the sender's place in its group */
    /* collective_permute: "0>1;1>0", each rank at most once on either side; who gets nothing gets zeros */
    const char *pairs XT_ZERO;
    /* instead of pairs: to the rank so many places on in its group, around its end; may be negative */
    int shift XT_ZERO;
} xt_collective_opts;

/* --- On tensors. A mistake (a group that leaves a rank out, a dim that is not divisible, a dtype without such a
 * reduction) is an error tensor. --- */
#define xt_all_reduce(...) XT_COLL1_(xt_all_reduce_at, __VA_ARGS__, ) /* (x, options): [...] -> the same */
/* (x, dim, options): dim times the size of a group, by rank */
#define xt_all_gather(...) XT_COLL2_(xt_all_gather_at, __VA_ARGS__, )
/* (x, dim, options): reduces, and leaves each rank its part of dim */
#define xt_reduce_scatter(...) XT_COLL2_(xt_reduce_scatter_at, __VA_ARGS__, )
/* (x, split_dim, concat_dim, options): part i of split_dim goes to rank i */
#define xt_all_to_all(...) XT_COLL3_(xt_all_to_all_at, __VA_ARGS__, )
#define xt_collective_permute(...) XT_COLL1_(xt_collective_permute_at, __VA_ARGS__, ) /* (x, .pairs or .shift) */
/* (x, .root): the root's x, everywhere */
#define xt_broadcast(...) XT_COLL1_(xt_broadcast_at, __VA_ARGS__, )
#define XT_COLL1_(f, a, ...) f(XT_HERE, a, XT_OPTS(xt_collective_opts, __VA_ARGS__))
#define XT_COLL2_(f, a, n, ...) f(XT_HERE, a, XT_NUMBER_(n), XT_OPTS(xt_collective_opts, __VA_ARGS__))
#define XT_COLL3_(f, a, m, n, ...) f(XT_HERE, a, XT_NUMBER_(m), XT_NUMBER_(n), XT_OPTS(xt_collective_opts, __VA_ARGS__))
XT_API xt_tensor xt_all_reduce_at(const xt_src *src, xt_tensor x, xt_collective_opts o);
XT_API xt_tensor xt_all_gather_at(const xt_src *src, xt_tensor x, int dim, xt_collective_opts o);
XT_API xt_tensor xt_reduce_scatter_at(const xt_src *src, xt_tensor x, int dim, xt_collective_opts o);
XT_API xt_tensor xt_all_to_all_at(const xt_src *src, xt_tensor x, int split_dim, int concat_dim, xt_collective_opts o);
XT_API xt_tensor xt_collective_permute_at(const xt_src *src, xt_tensor x, xt_collective_opts o);
XT_API xt_tensor xt_broadcast_at(const xt_src *src, xt_tensor x, xt_collective_opts o);

/* --- On host memory: at once, waiting for the other ranks (at most XT_TIMEOUT). Counts are elements, sizes bytes;
 * dtypes as above. A group's call costs and waits for its own ranks only; a permute is a call of all. src and dst must
 * not overlap. */
/* (data, dtype, count, options): in place */
#define xt_host_all_reduce(...) XT_HOST_ALL_REDUCE_(__VA_ARGS__, )
/* (src, bytes, dst, options): dst has bytes for each rank of a group */
#define xt_host_all_gather(...) XT_HOST3_(xt_host_all_gather_at, __VA_ARGS__, )
/* (src, dtype, count, dst, options): count elements stay here; src has them for each rank */
#define xt_host_reduce_scatter(...) XT_HOST_REDUCE_SCATTER_(__VA_ARGS__, )
/* (src, bytes, dst, options): bytes for each rank, in both */
#define xt_host_all_to_all(...) XT_HOST3_(xt_host_all_to_all_at, __VA_ARGS__, )
/* (src, bytes, dst, .pairs or .shift) */
#define xt_host_permute(...) XT_HOST3_(xt_host_permute_at, __VA_ARGS__, )
#define xt_host_broadcast(...) XT_HOST2_(xt_host_broadcast_at, __VA_ARGS__, ) /* (data, bytes, .root) */
#define XT_HOST2_(f, a, b, ...) XT_COLL2_(f, a, b, __VA_ARGS__)
#define XT_HOST3_(f, a, n, b, ...) f(XT_HERE, a, XT_NUMBER_(n), b, XT_OPTS(xt_collective_opts, __VA_ARGS__))
#define XT_HOST_ALL_REDUCE_(data, dtype, count, ...) \
    xt_host_all_reduce_at(XT_HERE, data, XT_DTYPE_(dtype), XT_NUMBER_(count), XT_OPTS(xt_collective_opts, __VA_ARGS__))
#define XT_HOST_REDUCE_SCATTER_(src, dtype, count, dst, ...)                          \
    xt_host_reduce_scatter_at(XT_HERE, src, XT_DTYPE_(dtype), XT_NUMBER_(count), dst, \
                              XT_OPTS(xt_collective_opts, __VA_ARGS__))
XT_API XT_CHECK xt_status xt_host_all_reduce_at(const xt_src *src, void *data, xt_dtype t, size_t count,
                                                xt_collective_opts o);
XT_API XT_CHECK xt_status xt_host_all_gather_at(const xt_src *src, const void *from, size_t bytes, void *to,
                                                xt_collective_opts o);
XT_API XT_CHECK xt_status xt_host_reduce_scatter_at(const xt_src *src, const void *from, xt_dtype t, size_t count,
                                                    void *to, xt_collective_opts o);
XT_API XT_CHECK xt_status xt_host_all_to_all_at(const xt_src *src, const void *from, size_t bytes, void *to,
                                                xt_collective_opts o);
XT_API XT_CHECK xt_status xt_host_permute_at(const xt_src *src, const void *from, size_t bytes, void *to,
                                             xt_collective_opts o);
XT_API XT_CHECK xt_status xt_host_broadcast_at(const xt_src *src, void *data, size_t bytes, xt_collective_opts o);

#ifdef __cplusplus
}
#endif
#endif
