/* xt_plan_make: each program of a recording compiled into a dump folder of its own, read back, and the largest kept. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/handle.h"
#include "base/unfinished.h"
#include "plan/plan.h"

static void remove_folder(const char *dir) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        char *path = path_join(dir, e->d_name);
        if (path && unlink(path) != 0 && (errno == EISDIR || errno == EPERM)) remove_folder(path);
        base_free(path);
    }
    if (d) closedir(d);
    rmdir(dir);
}

/* A folder of one compilation; unique, so that plans at the same time do not meet. One that is to go is known to those
 * who remove it before it is there. */
static xt_status make_folder(const char *under, int program, char **out, int *out_unfinished) {
    static _Atomic unsigned serial;
    const char *tmp = getenv("TMPDIR");
    *out = NULL;
    *out_unfinished = -1;
    if (under) XT_TRY(file_make_dirs(under, 0755));
    for (int tries = 0; tries < 1000; tries++) {
        str path = STR_INIT;
        if (under)
            str_printf(&path, "%s/program_%03d.%ld-%u", under, program + 1, (long)getpid(), serial++);
        else
            str_printf(&path, "%s/xtrain-plan.%ld-%u", tmp && *tmp ? tmp : "/tmp", (long)getpid(), serial++);
        if (path.failed) {
            str_free(&path);
            return status_oom(64, "a path");
        }
        if (!under) *out_unfinished = unfinished_add(path.data, true);
        if (mkdir(path.data, 0700) == 0) {
            *out = path.data;
            return NULL;
        }
        unfinished_drop(*out_unfinished);
        *out_unfinished = -1;
        xt_status s = errno == EEXIST ? NULL : status_errno("making the dump folder", path.data);
        str_free(&path);
        if (s) return s;
    }
    return status_new(XT_ALREADY_EXISTS, NULL, "no name for a dump folder is free below %s", under ? under : "TMPDIR");
}

static xt_status plan_one(const plan_program *p, const xt_plan_opts *o, int number, xt_plan **out) {
    char *dir;
    plan_compiled c;
    plan_memory m = {.total_bytes = -1, .traffic = -1};
    int unfinished;
    XT_TRY(make_folder(o->dump_dir, number, &dir, &unfinished));
    xt_status s = plan_compile(p, o->topology, &(plan_compile_opts){dir, o->quick, o->compile_limit_s}, &c);
    if (!s) {
        s = c.ours ? plan_read_cpu(dir, &m) : plan_read_xla(dir, &m);
        if (s && status_code(s) == XT_NOT_FOUND) { /* a compiler that dumps nothing: totals are there all the same */
            xt_status_free(s);
            s = NULL;
        }
    }
    if (!s) s = plan_report_make(p, &c, &m, o, out);
    plan_memory_free(&m);
    if (!o->dump_dir) remove_folder(dir);
    unfinished_drop(unfinished);
    base_free(dir);
    return s;
}

/* A step runs each program so often, and waits for what moves between host and device. */
static double step_time(const xt_recording *r, double programs_ms, const xt_plan_report *any) {
    if (programs_ms < 0 || (r->moved > 0 && any->host_bytes_per_s <= 0)) return -1;
    return programs_ms + (r->moved > 0 ? (double)r->moved / any->host_bytes_per_s * 1e3 : 0);
}

xt_status xt_plan_make(const xt_recording *r, xt_plan_opts o, xt_plan **out) {
    *out = NULL;
    if (!r || r->n == 0) return status_new(XT_INVALID_ARGUMENT, NULL, "xt_plan_make: the recording is empty");
    if (!o.topology) o.topology = "cpu";
    double ms = 0;
    for (size_t i = 0; i < r->n; i++) {
        xt_plan *one;
        xt_status s = plan_one(&r->programs[i], &o, (int)i, &one);
        if (s) {
            xt_plan_free(*out);
            *out = NULL;
            return s;
        }
        if (r->programs[i].runs > 0)
            ms = one->report.program_ms < 0 || ms < 0 ? -1 : ms + one->report.program_ms * (double)r->programs[i].runs;
        one->report.program = (int)i;
        one->report.programs = (int)r->n;
        if (*out && (*out)->report.peak_bytes >= one->report.peak_bytes)
            xt_plan_free(one);
        else {
            xt_plan_free(*out);
            *out = one;
        }
    }
    (*out)->report.host_moved_bytes = r->moved;
    (*out)->report.step_ms = step_time(r, ms, &(*out)->report);
    return NULL;
}

const xt_plan_report *xt_plan_get(const xt_plan *p) {
    return p ? &p->report : NULL;
}

void xt_plan_free(xt_plan *p) {
    if (!p) return;
    base_free(p->rows);
    base_free(p->lives);
    base_free(p->collectives);
    base_free(p->verdict);
    handle_free(p);
}

xt_status xt_topology_find(const char *name, xt_topology *out) {
    plan_compiled c;
    XT_TRY(plan_topology(name, &c));
    *out = (xt_topology){.devices = c.devices,
                         .hosts = c.hosts,
                         .memory_bytes = c.memory_bytes,
                         .flops_bf16 = c.chip.flops_bf16,
                         .flops_f32 = c.chip.flops_f32,
                         .bytes_per_s = c.chip.bytes_per_s};
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->device, sizeof out->device, "%s", c.device);
    return NULL;
}
