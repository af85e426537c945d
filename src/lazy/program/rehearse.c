/* Rehearsals: a training program runs on the dry device, and every program it would have compiled is noted with its
 * inputs' roles and lines, and with what else is alive while it runs. XT_DEVICE=dry with XT_DUMP=DIR leaves the same in
 * files for `xtrain plan`: program_001.mlir and program_001.inputs, a line an input (role, bytes, file, line, name),
 * then the buffers that are alive besides, each beginning with "other". */
#include "lazy/program/rehearse.h"
#include "lazy/program/program.h"
#include "lazy/core/layout.h"

static struct {
    pthread_mutex_t lock;
    lazy_rehearsal *now;
} rt = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void rehearse_in(lazy_rehearsal *r) {
    rt.now = r;
    lazy_set_rehearsing(r != NULL);
}

void lazy_rehearsal_free(lazy_rehearsal *r) {
    if (!r) return;
    for (size_t i = 0; i < r->n; i++) {
        base_free(r->programs[i].text);
        base_free(r->programs[i].inputs);
        base_free(r->programs[i].others);
    }
    base_free(r->programs);
    base_free(r->runs);
    base_free(r);
}

/* --- noting a program --- */
static void append_live(str *out, const char *what, const lazy_live *b) {
    const xt_src *at = src_get(b->src);
    str type = STR_INIT;
    if (b->type) ir_type_print(b->type, &type);
    str_printf(out, "%s\t%s\t%lld\t%s\t%d\t%s\t%s\n", what, b->type ? lazy_role_name(b->role) : "scalars",
               (long long)b->bytes, at->file, at->line, b->type ? str_cstr(&type) : "-",
               b->path ? intern_text(b->path) : "-");
    str_free(&type);
}

/* XT_DUMP: the text once, the rows again when more is known. */
static void dump(const lazy_rehearsed *r, size_t number, bool text) {
    const char *dir = env_get("XT_DUMP");
    if (!dir) return;
    char name[64];
    str rows = STR_INIT;
    if (!text) {
        for (size_t i = 0; i < r->n_inputs; i++) append_live(&rows, "input", &r->inputs[i]);
        for (size_t i = 0; i < r->n_others; i++) append_live(&rows, "other", &r->others[i]);
    }
    snprintf(name, sizeof name, "program_%03zu.%s", number, text ? "mlir" : "inputs");
    xt_status s = rows.failed ? status_oom(rows.len, "a dump")
                  : text      ? file_dump(dir, name, r->text, r->text_size)
                              : file_dump(dir, name, str_cstr(&rows), rows.len);
    if (s) log_once("XT_DUMP", XT_SEV_WARNING, "XT_DUMP: %s", status_message(s));
    xt_status_free(s);
    str_free(&rows);
}

static lazy_rehearsal loose; /* XT_DEVICE=dry without lazy_rehearse: kept for the dump, without texts */

static xt_status note(lazy_program *p, const ir_module *m, size_t *out_number) {
    str text = STR_INIT;
    if (!rt.now) rehearse_in(&loose);
    lazy_rehearsed r = {.n_inputs = p->n_inputs, .partitions = p->partitioned ? (int)lazy_partitions() : 1};
    xt_status s = ir_print(m, IR_PRINT_LOC_ORDINAL | IR_PRINT_LOC_SOURCE, &text);
    r.inputs = base_calloc(p->n_inputs + 1, sizeof *r.inputs);
    if (!s && (text.failed || !r.inputs)) s = status_oom(text.len, "a program's text");
    if (s) {
        base_free(r.inputs);
        str_free(&text);
        return s;
    }
    r.text = text.data;
    r.text_size = text.len;
    for (size_t i = 0; i < p->n_inputs; i++) r.inputs[i] = p->origins->inputs[i];
    *out_number = rt.now->n + 1;
    dump(&r, *out_number, true);
    dump(&r, *out_number, false);
    if (rt.now == &loose) {
        str_free(&text);
        r.text = NULL;
    }
    if (VEC_PUSH(rt.now->programs, rt.now->n, rt.now->cap, r)) return NULL;
    base_free(r.inputs);
    base_free(r.text);
    return status_oom(sizeof r, "a rehearsal");
}

static xt_status dry_exec(lazy_program *p, const ir_module *m, const lazy_roots *r, device_client *client) {
    device_dry_program d = {.n_outputs = r->n, .n_inputs = p->n_inputs, .donates = p->donates};
    xt_dtype *dtypes = base_calloc(r->n + 1, sizeof *dtypes);
    size_t *ranks = base_calloc(r->n + 1, sizeof *ranks);
    const int64_t **dims = base_calloc(r->n + 1, sizeof *dims);
    const ir_func *f = ir_func_find(m, "main");
    xt_status s = dtypes && ranks && dims ? NULL : status_oom(r->n * sizeof *dims, "a program");
    for (size_t i = 0; i < r->n && !s; i++) {
        const ir_type *t =
            r->layouts && r->layouts[i] ? lazy_layout_local(r->layouts[i], f->result_types[i]) : f->result_types[i];
        if (!t)
            s = status_oom(64, "a type");
        else
            dtypes[i] = t->dtype, ranks[i] = t->rank, dims[i] = t->dims;
    }
    d.dtypes = dtypes;
    d.ranks = ranks;
    d.dims = dims;
    if (!s) s = device_dry_compile(client, &d, &p->exec);
    base_free(dtypes);
    base_free(ranks);
    base_free(dims);
    return s;
}

xt_status lazy_rehearse_program(lazy_program *p, const ir_module *m, const lazy_roots *r, device_client *client) {
    pthread_mutex_lock(&rt.lock);
    xt_status s = note(p, m, &p->rehearsed);
    pthread_mutex_unlock(&rt.lock);
    return s ? s : dry_exec(p, m, r, client);
}

/* Buffers in the ledger that are no input of p: the inputs are taken out one by one, by who made them and
 * what they are. */
static size_t besides(const lazy_ctx *c, const lazy_program *p, lazy_live **out) {
    size_t n = lazy_live_buffers(NULL, 0), kept = 0;
    lazy_live *all = base_malloc((n + 1) * sizeof *all);
    if (!all) return 0;
    size_t got = lazy_live_buffers(all, n);
    if (got < n) n = got;
    for (size_t k = 0; k < p->n_inputs; k++) {
        const lazy_leaf *leaf = &c->leaves[lazy_place(c, p, k)];
        const lazy_live *in = leaf->pack >= 0 ? &c->packs[leaf->pack].buf->info : &leaf->buf->info;
        for (size_t i = 0; i < n; i++) {
            if (all[i].src != in->src || all[i].path != in->path || all[i].role != in->role ||
                all[i].type != in->type || all[i].step != in->step)
                continue;
            all[i] = all[--n];
            break;
        }
    }
    for (size_t i = 0; i < n; i++)
        if (all[i].bytes > 0) all[kept++] = all[i];
    *out = all;
    return kept;
}

static int64_t moved_so_far(void) {
    return counter_get(COUNTER_upload_bytes) + counter_get(COUNTER_host_read_bytes);
}

void lazy_rehearse_run(const lazy_ctx *c, const lazy_program *p) {
    pthread_mutex_lock(&rt.lock);
    lazy_rehearsed *r =
        rt.now && p->rehearsed && p->rehearsed <= rt.now->n ? &rt.now->programs[p->rehearsed - 1] : NULL;
    if (r) {
        lazy_live *others = NULL;
        size_t n = besides(c, p, &others);
        int64_t bytes = 0;
        for (size_t i = 0; i < n; i++) bytes += others[i].bytes;
        lazy_ran run = {p->rehearsed - 1, c->step, moved_so_far()};
        /* without it the estimate of a step lacks a program */
        if (rt.now != &loose) (void)VEC_PUSH(rt.now->runs, rt.now->n_runs, rt.now->cap_runs, run);
        if (bytes > r->other_bytes) {
            base_free(r->others);
            r->others = others;
            r->n_others = n;
            r->other_bytes = bytes;
            dump(r, p->rehearsed, false);
        } else
            base_free(others);
    }
    pthread_mutex_unlock(&rt.lock);
}

/* What the later half of the steps runs and moves. */
static void count_runs(lazy_rehearsal *r) {
    if (r->n_runs == 0) return;
    int64_t first = r->runs[0].step, last = r->runs[r->n_runs - 1].step, from = first + (last - first + 1) / 2,
            before = -1;
    for (size_t i = 0; i < r->n_runs; i++) {
        if (r->runs[i].step < from) continue;
        if (before < 0) before = r->runs[i].moved;
        r->programs[r->runs[i].program].runs++;
    }
    r->moved = moved_so_far() - before;
}

/* --- a rehearsal --- */
xt_status lazy_rehearse(int64_t devices, int (*fn)(void *user), void *user, lazy_rehearsal **out) {
    char spec[32];
    *out = NULL;
    if (lazy_device_is_open(NULL))
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "a rehearsal opens a device of its own, and this process has one open; call xt_finish first");
    if (devices < 1 || devices > 4096)
        return status_new(XT_INVALID_ARGUMENT, NULL, "a rehearsal on %lld devices: 1 to 4096 are possible",
                          (long long)devices);
    lazy_rehearsal *r = base_calloc(1, sizeof *r);
    if (!r) return status_oom(sizeof *r, "a rehearsal");
    snprintf(spec, sizeof spec, "dry:%lld", (long long)devices);
    lazy_device_use(spec);
    lazy_mesh_pretend(devices);
    rehearse_in(r);
    lazy_hold hold = {0};
    lazy_hold_errors(&hold);
    int code = fn(user);
    lazy_drain();
    count_runs(r);
    const xt_status error = lazy_pending();
    xt_status s = error  ? status_clone(error)
                  : code ? status_new(XT_UNKNOWN, NULL, "the rehearsed function gave %d", code)
                         : NULL;
    xt_clear_error();
    lazy_tear_down();
    lazy_release_errors(&hold);
    rehearse_in(NULL);
    lazy_mesh_pretend(0);
    lazy_device_use(NULL);
    if (!s && r->n == 0) s = status_new(XT_INVALID_ARGUMENT, NULL, "the rehearsed function ran no step");
    if (s)
        lazy_rehearsal_free(r);
    else
        *out = r;
    return s;
}
