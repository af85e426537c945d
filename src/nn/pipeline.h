/* What the schedules of a pipeline share (pipeline.c, whose head says how it is one program; pipeline_1f1b.c). */
#ifndef XT_SRC_NN_PIPELINE_H
#define XT_SRC_NN_PIPELINE_H

#include "nn/nn.h"

#define PIPELINE_WHAT "xt_pipeline"

/* Which parameters a block (or the head) has, found by a first call that is thrown away; then what stands for them. */
typedef struct pipeline_stack {
    nn_stack base;
    int64_t layers; /* 0: of the head, whose parameters are not stacked */
    struct batch *finding; /* the call that is thrown away; NULL: `one` has the parameters of one block */
    char **names;
    xt_tensor *all; /* [layers,...] */
    const xt_tensor *one;
    size_t n, cap_names, cap_all;
    uint32_t draws; /* of random numbers, in one call */
} pipeline_stack;

typedef struct pipeline {
    const xt_src *src;
    xt_module *outer, *m; /* given; of the blocks, below it */
    const char *name;
    xt_module_fn fn;
    const xt_pipeline_opts *o;
    pipeline_stack stack;
    int64_t stages, micro; /* micro: how many micro-batches */
    const char *axes, *samples; /* of the stages and of a batch; NULL: not divided */
    const ir_type *whole;
    /* of a tick: parameters as [layers of a stage, stages, ...]; with keys, behind them what is added for a layer */
    xt_tensor *slices;
    xt_tensor place; /* [S,1,...]: the number of a stage, i32 */
    xt_tensor keys; /* [S,4]: of the draws of a stage's first layer in this tick; none: of the step's, as ever */
} pipeline;

/* nn_stack.give of a pipeline_stack, and its end. */
xt_tensor pipeline_give(nn_stack *of, const xt_src *src, xt_module *m, const char *name, const nn_stacked_ask *ask);
void pipeline_stack_free(pipeline_stack *s);
/* Calls once and forgets what was recorded; parameters are made, and noted in s. False with an error pending. */
typedef xt_tensor (*pipeline_call_fn)(pipeline *p, xt_tensor x, void *user);
bool pipeline_find(pipeline *p, pipeline_stack *s, xt_tensor x, pipeline_call_fn call, void *user);
/* The parameters are known and lie by stages behind it; parts: [micro, B / micro, ...]; buffer: [S, B / micro, ...], a
 * micro-batch at each place. */
bool pipeline_begin(pipeline *p, xt_tensor x, xt_tensor *parts, xt_tensor *buffer);
/* Each stage's blocks for what lies at its place. */
xt_tensor pipeline_stage(pipeline *p, xt_tensor at);
/* [S, ...] as it is, place by place on the devices of the stages, its micro-batch as batches lie. */
xt_tensor pipeline_in_places(const pipeline *p, xt_tensor x);
/* What stage i has goes to stage i + by. */
xt_tensor pipeline_turned(const pipeline *p, xt_tensor x, int64_t by);
/* `there` at place i, and `elsewhere`; what place i has of [..., S, ...], whose dim S is `axis`. */
xt_tensor pipeline_at_place(const pipeline *p, int64_t i, xt_tensor there, xt_tensor elsewhere);
xt_tensor pipeline_of_place(const pipeline *p, int64_t i, xt_tensor ys, int axis);
/* [layers,...] as [layers of a stage, stages,...] */
xt_tensor pipeline_by_stage(const pipeline *p, xt_tensor w);
/* Sample k of the batch is sample k / micro of micro-batch k % micro: so each device has its part of every micro-batch.
 * [B,...] -> [micro, B / micro, ...], and back */
xt_tensor pipeline_cut(const pipeline *p, xt_tensor x);
xt_tensor pipeline_join(const pipeline *p, xt_tensor x);
/* What comes in at place 0 in each tick: behind the last micro-batch that one again, which nobody reads. */
xt_tensor pipeline_rows(const pipeline *p, xt_tensor parts);
/* by [..., 1] added to word 2 of keys [..., 4] */
xt_tensor pipeline_keys(const pipeline *p, xt_tensor keys, xt_tensor by);
/* The loss, with one micro-batch forward and one backward in each tick (pipeline_1f1b.c). */
xt_tensor pipeline_1f1b(pipeline *p, xt_tensor x, xt_tensor y, xt_pipeline_head_fn head);

#endif
