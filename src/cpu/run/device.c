/* A device: its threads, its group of ranks, its oneDNN stream. */
#include "cpu/run/pending.h"
#include "cpu/run/plan.h"
#include "cpu/vector/dnnl_util.h"

xt_status cpu_device_new(int threads, coll_group *group, cpu_device **out) {
    cpu_device *d = base_calloc(1, sizeof *d);
    if (!d) return status_oom(sizeof *d, "a CPU device");
    d->team.threads = threads > 0 ? threads : team_default_threads();
    d->group = group;
    *out = d;
    return NULL;
}

void cpu_device_set_group(cpu_device *d, coll_group *group) {
    d->group = group;
}

void cpu_device_free(cpu_device *d) {
    if (!d) return;
    dnnl_stream_close(&d->stream);
    cpu_pending_free(d);
    team_deinit(&d->team);
    base_free(d);
}
