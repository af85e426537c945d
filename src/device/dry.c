/* The rehearsal device: objects of the usual kinds that hold no memory and run nothing. Its client has no plugin, its
 * buffers and programs no PJRT object; what an execution does to buffers (results appear, donated inputs go) happens as
 * on a real device. */
#include "device/device_int.h"

bool device_is_dry(const device_client *c) {
    return c->dry;
}

xt_status device_dry_open(const char *spec, device_client *c) {
    static const device_plugin none = {.path = (char *)"dry", .build_id = (char *)"dry"};
    int64_t n = 1;
    if (spec[3] && (!parse_i64(spec + 4, &n) || n < 1 || n > 4096))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the device '%s' is no rehearsal: dry, or dry:N with 1 to 4096 devices", spec);
    if (c->n_nodes > 1)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "a rehearsal is one process, and %d were started; dry:N pretends to have N devices",
                          c->n_nodes);
    c->plugin = &none;
    c->n_processes = 1;
    c->replica_ids = base_calloc(1, sizeof *c->replica_ids);
    if (!c->replica_ids) return status_oom(sizeof *c->replica_ids, "the list of devices");
    c->info = (device_info){.plugin_path = "dry",
                            .platform = "dry",
                            .platform_version = "rehearsal",
                            .n_devices = 1,
                            .n_addressable = 1,
                            .device_kind = "rehearsal",
                            .build_id = "dry"};
    return NULL;
}

xt_status device_dry_compile(device_client *c, const device_dry_program *p, device_exec **out) {
    size_t total = 0, at = 0;
    for (size_t i = 0; i < p->n_outputs; i++) total += p->ranks[i];
    device_exec *e = base_calloc(1, sizeof *e);
    *out = NULL;
    if (!e) return status_oom(sizeof *e, "an executable");
    e->out = base_calloc(p->n_outputs + 1, sizeof *e->out);
    e->dims = base_calloc(total + 1, sizeof *e->dims);
    e->donates = base_calloc(p->n_inputs + 1, sizeof *e->donates);
    if (!e->out || !e->dims || !e->donates) {
        base_free(e->out), base_free(e->dims), base_free(e->donates), base_free(e);
        return status_oom(total * sizeof *e->dims, "an executable");
    }
    e->client = c;
    e->n_out = p->n_outputs;
    if (p->n_inputs) memcpy(e->donates, p->donates, p->n_inputs * sizeof *e->donates);
    for (size_t i = 0; i < p->n_outputs; at += p->ranks[i++]) {
        e->out[i] = (device_output){.dtype = p->dtypes[i], .rank = p->ranks[i], .dims = e->dims + at};
        atomic_init(&e->out[i].device_bytes, -1);
        if (p->ranks[i]) memcpy(e->dims + at, p->dims[i], p->ranks[i] * sizeof *e->dims);
    }
    device_client_retain(c);
    live_add(LIVE_executable, 1);
    *out = e;
    return NULL;
}

xt_status device_dry_execute(device_exec *e, size_t n_in, device_buffer *const *in, const bool *keep,
                             device_buffer **out) {
    xt_status s = NULL;
    for (size_t i = 0; i < n_in; i++)
        if (e->donates[i] && !(keep && keep[i])) device_buffer_mark_gone(in[i]);
    for (size_t i = 0; i < e->n_out && !s; i++) {
        const device_output *o = &e->out[i];
        int64_t count = 0;
        size_t bytes = 0;
        out[i] = NULL;
        if (!dims_count(o->dims, o->rank, &count) || !size_mul((size_t)count, xt_dtype_size(o->dtype), &bytes))
            s = status_oom(0, "a result");
        else
            s = device_buffer_wrap(e->client, NULL, o->dtype, o->rank, o->dims, (int64_t)bytes, &out[i]);
        for (size_t k = 0; s && k < i; k++) {
            device_buffer_release(out[k]);
            out[k] = NULL;
        }
    }
    return s;
}
