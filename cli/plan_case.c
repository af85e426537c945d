/* From a case to a plan: the model's training steps are rehearsed, or program files read, and given to the
 * topology's compiler. */
#include "cli/plan.h"

#include <stdlib.h>
#include <string.h>

int64_t plan_case_batch(const plan_case *c) {
    return c->batch ? c->batch : c->model ? c->model->batch : 0;
}

int64_t plan_case_positions(const plan_case *c) {
    return c->model && c->model->tokens ? c->model->x(c->side, c->seq).dims[0] : 0;
}

void plan_case_name(const plan_case *c, char *buf, size_t n) {
    if (!c->model) {
        snprintf(buf, n, "%s%s", c->title, c->donate ? ", donated" : "");
        return;
    }
    char accumulate[40] = "", experts[40] = "", tile[40] = "";
    if (c->attention_tile) snprintf(tile, sizeof tile, ", attention tile %lld", (long long)c->attention_tile);
    if (c->experts > 1) snprintf(experts, sizeof experts, ", %lld experts", (long long)c->experts);
    if (c->accumulate > 1) snprintf(accumulate, sizeof accumulate, ", accumulate %lld", (long long)c->accumulate);
    snprintf(buf, n, "%s, batch %lld%s%s%s%s%s%s%s%s%s", c->model->name, (long long)plan_case_batch(c), accumulate,
             experts, tile, c->bf16 ? ", bf16" : "", c->checkpoint ? ", checkpointed" : "", c->mesh ? ", mesh " : "",
             c->mesh ? c->mesh : "", c->fsdp ? ", fsdp" : "", c->offload ? ", offload" : "");
}

/* Two optimizer steps as a training loop makes them. With --accumulate the batch is cut into micro-batches. */
static int rehearse(void *user) {
    const plan_case *c = user;
    const model *m = c->model;
    int64_t k = c->accumulate > 1 ? c->accumulate : 1;
    xt_mesh *mesh = c->mesh ? cli_mesh_make(NULL, c->mesh) : NULL;
    if (c->mesh && !mesh) return 1;
    model_options own = *(const model_options *)(c->checkpoint ? m->checkpointed : m->config);
    if (c->experts) own.experts = c->experts;
    if (c->microbatches) own.microbatches = c->microbatches;
    if (c->pipeline) own.pipeline = c->pipeline;
    own.attention_tile = c->attention_tile;
    xt_module *net = xt_module_new(m->net, &own);
    if (mesh) cli_mesh_apply(mesh, net, c->fsdp);
    xt_optimizer *opt = net ? m->optimizer(net, -1) : NULL;
    if (c->offload && opt) xt_optimizer_offload(opt);
    xt_loader *loader = xt_sample_loader(.batch = plan_case_batch(c) / k, .count = 2 * k, .x = m->x(c->side, c->seq),
                                         .y = m->y(c->side, c->seq));
    int64_t i = 0;
    for (xt_batch b; loader && xt_next(loader, &b); i++) {
        xt_tensor loss = model_train_loss(m, &own, net, b.x, b.y, c->bf16);
        if (k > 1) loss = xt_mul_scalar(loss, 1.0 / (double)k);
        xt_backward(loss);
        if ((i + 1) % k == 0) xt_optimizer_step(opt);
    }
    xt_mark_step();
    return xt_error() != NULL;
}

static xt_status plan_files(const plan_case *c, const xt_plan_opts *o, xt_plan **out) {
    for (int i = 0; i < c->n_files; i++) {
        xt_recording *r = NULL, *donated = NULL;
        xt_plan *one = NULL;
        xt_status s = xt_recording_load(c->files[i], &r);
        if (!s && c->donate) s = xt_recording_donate(r, &donated);
        if (!s) s = xt_plan_make(donated ? donated : r, *o, &one);
        xt_recording_free(donated);
        xt_recording_free(r);
        if (s) {
            xt_plan_free(*out);
            *out = NULL;
            return s;
        }
        bool larger = !*out || xt_plan_get(one)->peak_bytes > xt_plan_get(*out)->peak_bytes;
        xt_plan_free(larger ? *out : one);
        if (larger) *out = one;
    }
    return NULL;
}

xt_status plan_case_run(const plan_case *c, xt_plan **out) {
    xt_plan_opts o = {.topology = c->topology,
                      .mesh = c->mesh,
                      .memory_limit = c->limit,
                      .dump_dir = c->dump,
                      .quick = c->quick,
                      .compile_limit_s = c->time_limit};
    xt_recording *r = NULL;
    xt_topology t = {.devices = 1};
    *out = NULL;
    if (!c->model) return plan_files(c, &o, out);
    xt_status s = c->mesh ? xt_topology_find(c->topology, &t) : NULL;
    if (!s) s = xt_record(rehearse, (void *)c, t.devices, &r);
    if (!s) s = xt_plan_make(r, o, out);
    xt_recording_free(r);
    return s;
}
