/* The environment of a rank: who it is, where it meets the others, which device is its own, and its share
 * of the cores. */
#include <stdlib.h>
#include <unistd.h>

#include "dist/dist_int.h"
#include "base/cpus.h"

extern char **environ;

static void add_text(env_list *e, const char *name, const char *fmt, va_list ap) {
    str text = STR_INIT;
    str_printf(&text, "%s=", name);
    str_vprintf(&text, fmt, ap);
    if (text.failed || !VEC_PUSH(e->items, e->n, e->cap, text.data)) {
        e->failed = true;
        str_free(&text);
    }
}

void env_add(env_list *e, const char *name, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add_text(e, name, fmt, ap);
    va_end(ap);
}

void env_add_default(env_list *e, const char *name, const char *fmt, ...) {
    va_list ap;
    if (getenv(name)) return;
    va_start(ap, fmt);
    add_text(e, name, fmt, ap);
    va_end(ap);
}

void env_free(env_list *e) {
    for (size_t i = 0; i < e->n; i++) base_free(e->items[i]);
    base_free(e->items);
    *e = (env_list){0};
}

static bool same_name(const char *a, const char *b) {
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static bool replaced(const env_list *e, const char *entry) {
    for (size_t i = 0; i < e->n; i++)
        if (same_name(e->items[i], entry)) return true;
    return false;
}

char **env_merge(const env_list *e) {
    size_t n = 0, at = 0;
    while (environ && environ[n]) n++;
    char **merged = base_calloc(n + e->n + 1, sizeof *merged);
    if (!merged) return NULL;
    for (size_t i = 0; i < n; i++)
        if (!replaced(e, environ[i])) merged[at++] = environ[i];
    for (size_t i = 0; i < e->n; i++) merged[at++] = e->items[i];
    return merged;
}

/* Entry `rank` of CUDA_VISIBLE_DEVICES, or the rank itself. */
static void cuda_env(int rank, env_list *out) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list || !*list) {
        env_add(out, "CUDA_VISIBLE_DEVICES", "%d", rank);
        return;
    }
    for (int i = 0; i < rank && *list; i++) {
        list += strcspn(list, ",");
        if (*list) list++;
    }
    env_add(out, "CUDA_VISIBLE_DEVICES", "%.*s", (int)strcspn(list, ","), list);
}

xt_status rank_env(const launch_plan *p, const char *rendezvous, double timeout, int rank, env_list *out) {
    int share = cpus_count() / p->n;
    env_add(out, "XT_RANK", "%d", rank);
    env_add(out, "XT_WORLD_SIZE", "%d", p->n);
    env_add(out, "XT_LOCAL_RANK", "%d", rank);
    env_add(out, "XT_LOCAL_SIZE", "%d", p->n);
    env_add(out, "XT_RENDEZVOUS", "%s", rendezvous);
    if (timeout > 0) env_add(out, "XT_TIMEOUT", "%.0f", timeout < 1 ? 1 : timeout);
    env_add_default(out, "XT_THREADS", "%d", share > 0 ? share : 1);
    env_add_default(out, "OMP_NUM_THREADS", "%d", share > 0 ? share : 1);
    if (p->device) env_add(out, "XT_DEVICE", "%s", p->device);
    if (p->kind == KIND_CPU) env_add(out, "CPU_NUM_DEVICES", "1");
    if (p->kind == KIND_CUDA) cuda_env(rank, out);
    if (p->kind == KIND_TPU) XT_TRY(tpu_env(rank, p->n, out));
    return out->failed ? status_oom(1024, "a rank's environment") : NULL;
}

static bool any_set(const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (getenv(names[i])) return true;
    return false;
}

xt_status rank_env_adopt(void) {
    static const char *const divided[] = {"TPU_PROCESS_BOUNDS", "TPU_PROCESS_ADDRESSES", "CLOUD_TPU_TASK_ID",
                                          "TPU_WORKER_ID"};
    const world *w = world_get();
    device_kind kind = plan_kind(NULL);
    const char *gpus = getenv("CUDA_VISIBLE_DEVICES");
    if (!w->launched || getenv("XT_RANK") || w->local_size < 2 || w->local_size != w->size) return NULL;
    env_list env = {0};
    xt_status st = NULL;
    if (kind == KIND_TPU && !any_set(divided, BASE_COUNT(divided))) st = tpu_env(w->local_rank, w->local_size, &env);
    /* one entry: somebody has divided them */
    if (kind == KIND_CUDA && (!gpus || strchr(gpus, ','))) cuda_env(w->local_rank, &env);
    if (!st && env.failed) st = status_oom(1024, "a rank's environment");
    for (size_t i = 0; i < env.n && !st; i++)
        if (!env_put(env.items[i])) st = status_oom(1024, "a rank's environment");
    env_free(&env);
    return st;
}
