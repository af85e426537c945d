/* How many ranks to start: the device count found (without opening a device) against what the caller asked for. */
#include <stdlib.h>

#include "device/device.h"
#include "dist/dist_int.h"

static const struct {
    const char *name, *variable;
    const char *word; /* part of a plugin path that tells the kind */
} kinds[] = {
    [KIND_CPU] = {"CPU", "CPU_NUM_DEVICES", "cpu"},
    [KIND_TPU] = {"TPU", "TPU_NUM_DEVICES", "tpu"},
    [KIND_CUDA] = {"CUDA", "CUDA_VISIBLE_DEVICES", "cuda"},
    [KIND_OTHER] = {"plugin", NULL, NULL},
};

/* The same order as device_find_plugin: what the caller says, XT_DEVICE, PJRT_DEVICE, CPU. */
device_kind plan_kind(const char *spec) {
    if (!spec || !*spec) spec = env_get("XT_DEVICE");
    if (!spec) spec = getenv("PJRT_DEVICE");
    if (!spec || !*spec) return KIND_CPU;
    const char *slash = strrchr(spec, '/');
    if (slash) spec = slash + 1;
    for (int k = KIND_CPU; k < KIND_OTHER; k++)
        if (strcasestr(spec, kinds[k].word)) return (device_kind)k;
    return strcasecmp(spec, "GPU") == 0 ? KIND_CUDA : KIND_OTHER;
}

static xt_status count(const char *device, launch_plan *out) {
    *out = (launch_plan){.kind = plan_kind(device), .device = device};
    XT_TRY(status_context(device_count(device, &out->found, &out->source), "counting devices"));
    return NULL;
}

/* The variable that made the count, where one did. */
static const char *counted_value(const launch_plan *p) {
    const char *value = strncmp(p->source, "/dev", 4) == 0 ? NULL : getenv(p->source);
    return value && *value ? value : NULL;
}

/* "CPU_NUM_DEVICES=4", "TPU_VISIBLE_CHIPS=0,1", "the default, CPU_NUM_DEVICES is not set", "/dev/accel*,
 * TPU_NUM_DEVICES is not set" */
static void source_text(const launch_plan *p, str *out) {
    const char *variable = kinds[p->kind].variable, *value = variable ? getenv(variable) : NULL;
    if (counted_value(p))
        str_printf(out, "%s=%s", p->source, counted_value(p));
    else if (!variable)
        str_append(out, p->source);
    else if (value && *value)
        str_printf(out, "%s=%s", variable, value);
    else if (strcmp(p->source, variable) == 0)
        str_printf(out, "%s is empty", variable);
    else
        str_printf(out, "%s; %s is not set", strcmp(p->source, "default") == 0 ? "the default" : p->source, variable);
}

static void advice_text(const launch_plan *p, int nprocs, str *out) {
    if (p->kind == KIND_CUDA || (strstr(p->source, "_VISIBLE_") && counted_value(p))) {
        str_printf(out, "set %s=0", p->kind == KIND_CUDA ? kinds[KIND_CUDA].variable : p->source);
        for (int i = 1; i < nprocs && i < 16; i++) str_printf(out, ",%d", i);
        if (nprocs > 16) str_append(out, ",...");
    } else if (kinds[p->kind].variable) {
        str_printf(out, "set %s=%d", kinds[p->kind].variable, nprocs);
    } else {
        str_append(out, "tell the plugin by its own variable to offer as many");
    }
}

static xt_status wrong_number(const xt_src *src, int nprocs, const launch_plan *p) {
    str text = STR_INIT;
    if (nprocs < 0)
        str_printf(&text, "nprocs is %d: a number of ranks from 1 on is expected; this host offers", nprocs);
    else
        str_printf(&text, "nprocs is %d, but this host offers", nprocs);
    str_printf(&text, " %d %s device%s (", p->found, kinds[p->kind].name, p->found == 1 ? "" : "s");
    source_text(p, &text);
    str_printf(&text, "). Leave nprocs unset for one rank per device, set it to 1 to debug in this process, or ");
    int say = nprocs > 0 ? nprocs : p->found == 2 ? 4 : 2;
    advice_text(p, say, &text);
    str_printf(&text, " to have %d%s", say, nprocs < 0 ? ", say" : "");
    xt_status st = status_new(XT_INVALID_ARGUMENT, src, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

static xt_status no_devices(const xt_src *src, const launch_plan *p) {
    str text = STR_INIT;
    str_printf(&text, "this host offers no %s device (", kinds[p->kind].name);
    source_text(p, &text);
    str_append(&text, "); set XT_DEVICE=CPU to run on the CPU");
    if (kinds[p->kind].variable) {
        str_append(&text, ", or, where the devices are there but not seen, ");
        advice_text(p, 1, &text);
    }
    xt_status st = status_new(XT_NOT_FOUND, src, "%s", str_cstr(&text));
    str_free(&text);
    return st;
}

xt_status plan_ranks(const xt_src *src, int nprocs, const char *device, launch_plan *out) {
    xt_status st = status_at(count(device, out), src);
    if (nprocs == 1) { /* any count will do, even one that cannot be found out: opening the device will say why */
        xt_status_free(st);
        out->n = 1;
        return NULL;
    }
    XT_TRY(st);
    if (nprocs != 0 && nprocs != out->found) return wrong_number(src, nprocs, out);
    if (out->found < 1) return no_devices(src, out);
    out->n = out->found;
    if (nprocs)
        log_msg(XT_SEV_INFO, "xt_launch: nprocs = %d need not be given: it is the number of %s devices found", nprocs,
                kinds[out->kind].name);
    return NULL;
}

xt_status plan_program(int n, launch_plan *out) {
    XT_TRY(count(NULL, out));
    if (n < 0 || n > 4096)
        return status_new(XT_INVALID_ARGUMENT, NULL, "-n %d: a number of ranks from 1 to 4096 is expected", n);
    if (n == 0 && out->found < 1) return no_devices(NULL, out);
    if (out->kind != KIND_CPU && n > out->found) return wrong_number(NULL, n, out);
    out->n = n ? n : out->found;
    return NULL;
}

int xt_device_count(void) {
    const world *w = world_get();
    launch_plan p;
    if (w->launched) return w->local_size; /* the launcher counted, and each rank has one of them */
    xt_status st = count(NULL, &p);
    if (!st) return p.found;
    log_msg(XT_SEV_ERROR, "xt_device_count: %s", status_message(st));
    xt_status_free(st);
    return 0;
}
