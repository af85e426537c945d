/* The run header: which versions of what make these numbers. Checkpoints and crash reports carry the same text. */
#include "diag/diag.h"

void diag_run_header(str *t) {
    device_client *client = NULL;
    xt_status s = lazy_device(&client);
    const world *w = world_get();
    str_printf(t, "xtrain %s", xt_version());
    if (!s) {
        const device_info *d = device_get_info(client);
        str_printf(t, " | %s, %d device%s (%s)", d->platform, d->n_devices, d->n_devices == 1 ? "" : "s",
                   d->platform_version);
        str_printf(t, " | PJRT %d.%d, StableHLO %lld.%lld.%lld", d->api_major, d->api_minor, (long long)d->stablehlo[0],
                   (long long)d->stablehlo[1], (long long)d->stablehlo[2]);
    }
    if (w->size > 1) str_printf(t, " | rank %d of %d (%s)", w->rank, w->size, w->source);
    xt_status_free(s);
}
