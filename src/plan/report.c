/* From buffers to a report. The rows and kinds add up to the peak by construction: what the compiler counts and no
 * buffer explains is a kind of its own ("fragmentation" inside the arena, "reserved" outside of it). */
#include <limits.h>
#include <stdlib.h>

#include "base/handle.h"
#include "plan/plan.h"

const char *(xt_plan_kind_name)(xt_plan_kind k) {
    static const char *const names[XT_PLAN_KINDS] = {"parameters", "optimizer state", "gradients",     "activations",
                                                     "batch",      "other inputs",    "results",       "constants",
                                                     "scratch",    "padding",         "fragmentation", "reserved"};
    return k >= 0 && k < XT_PLAN_KINDS ? names[k] : "?";
}

static void shape_of(const ir_type *t, uint32_t *shape, uint32_t *dtype) {
    str s = STR_INIT;
    for (uint32_t i = 0; i < t->rank; i++) str_printf(&s, "%s%lld", i ? "x" : "", (long long)t->dims[i]);
    *shape = intern(str_cstr(&s));
    *dtype = intern(xt_dtype_name(t->dtype));
    str_free(&s);
}

/* A temporary of a parameter's own shape is a gradient (or the update made of it); other temporaries are
 * activations. */
static bool shaped_as_parameter(const plan_program *p, const plan_memory *m, uint32_t shape) {
    if (!shape || !strchr(intern_text(shape), 'x')) return false; /* vectors say nothing */
    for (size_t i = 0; i < m->n; i++) {
        const plan_buffer *b = &m->buffers[i];
        if (b->place == PLAN_INPUT && b->shape == shape && b->input >= 0 && (size_t)b->input < p->n_inputs &&
            p->inputs[b->input].kind == XT_PLAN_PARAMETERS)
            return true;
    }
    return false;
}

static xt_plan_kind kind_of(const plan_program *p, const plan_memory *m, const plan_buffer *b) {
    switch (b->place) {
    case PLAN_INPUT: return b->input >= 0 && (size_t)b->input < p->n_inputs ? p->inputs[b->input].kind : XT_PLAN_INPUTS;
    case PLAN_OUTPUT: return XT_PLAN_RESULTS;
    case PLAN_CONSTANT: return XT_PLAN_CONSTANTS;
    case PLAN_OTHER: return XT_PLAN_SCRATCH;
    case PLAN_TEMP: break;
    }
    if (strcmp(intern_text(b->op), "scratch") == 0) return XT_PLAN_SCRATCH;
    return shaped_as_parameter(p, m, b->shape) ? XT_PLAN_GRADIENTS : XT_PLAN_ACTIVATIONS;
}

/* The user's line and module behind an op, or else an input; false when both are unknown. */
static bool source_of(const plan_program *p, int64_t ordinal, int32_t input, const xt_src **at, uint32_t *module) {
    bool op = ordinal >= 0 && (size_t)ordinal < p->n_ops, in = !op && input >= 0 && (size_t)input < p->n_inputs;
    *at = src_get(op ? p->ops[ordinal].src : in ? p->inputs[input].src : 0);
    if (op || in) *module = op ? p->ops[ordinal].path : p->inputs[input].path;
    return op || in;
}

static void place_of(const plan_program *p, const plan_memory *m, const plan_buffer *b, xt_plan_row *row) {
    const xt_src *at;
    uint32_t shape = b->shape, dtype = b->dtype, module = b->place == PLAN_OTHER ? 0 : b->name, op = b->op;
    bool input = b->place == PLAN_INPUT, known = source_of(p, input ? -1 : b->ordinal, b->input, &at, &module);
    if (input && known) {
        const ir_type *type = p->inputs[b->input].type;
        op = intern("parameter");
        if (!shape && type) shape_of(type, &shape, &dtype);
    } else if (known && b->ordinal >= 0)
        op = intern(ir_op_infos[p->ops[b->ordinal].code].name);
    int64_t padding = b->logical >= 0 && b->logical < b->bytes ? b->bytes - b->logical : 0;
    *row = (xt_plan_row){.file = at->file,
                         .line = at->line,
                         .module = intern_text(module),
                         .op = intern_text(op),
                         .shape = intern_text(shape),
                         .dtype = intern_text(dtype),
                         .kind = kind_of(p, m, b),
                         .bytes = b->bytes - padding,
                         .padding = padding,
                         .count = 1,
                         .first = b->first < 0 ? 0 : b->first,
                         .last = b->last < 0 ? m->n_points : b->last};
}

static int by_size(const void *a, const void *b) {
    const xt_plan_row *x = a, *y = b;
    int64_t p = x->bytes + x->padding, q = y->bytes + y->padding;
    return p != q ? (p < q ? 1 : -1) : x->line != y->line ? x->line - y->line : strcmp(x->module, y->module);
}

static bool same(const xt_plan_row *a, const xt_plan_row *b) { /* texts are interned */
    return a->file == b->file && a->line == b->line && a->module == b->module && a->op == b->op &&
           a->shape == b->shape && a->dtype == b->dtype && a->kind == b->kind;
}

static int by_identity(const void *a, const void *b) {
    const xt_plan_row *x = a, *y = b;
    const void *const ka[] = {x->file, x->module, x->op, x->shape, x->dtype}, *const kb[] = {y->file, y->module, y->op,
                                                                                             y->shape, y->dtype};
    for (size_t i = 0; i < BASE_COUNT(ka); i++)
        if (ka[i] != kb[i]) return (uintptr_t)ka[i] < (uintptr_t)kb[i] ? -1 : 1;
    if (x->line != y->line) return x->line - y->line;
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : 0;
}

/* Rows of one line, module, op and type become one. */
static int merge(xt_plan_row *rows, int n) {
    int k = 0;
    if (n == 0) return 0;
    qsort(rows, (size_t)n, sizeof *rows, by_identity);
    for (int i = 1; i < n; i++) {
        if (!same(&rows[i], &rows[k])) {
            rows[++k] = rows[i];
            continue;
        }
        rows[k].bytes += rows[i].bytes;
        rows[k].padding += rows[i].padding;
        rows[k].count += rows[i].count;
        if (rows[i].first < rows[k].first) rows[k].first = rows[i].first;
        if (rows[i].last > rows[k].last) rows[k].last = rows[i].last;
    }
    qsort(rows, (size_t)(k + 1), sizeof *rows, by_size);
    return k + 1;
}

static int by_place(const void *a, const void *b) {
    const plan_buffer *x = *(const plan_buffer *const *)a, *y = *(const plan_buffer *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : x < y ? -1 : 1;
}

/* Temporaries alive at the peak, each byte of the arena counted once: a buffer that lies over one before it counts with
 * what it adds. */
static int peak_temporaries(const plan_program *p, const plan_memory *m, xt_plan_row *rows, int n) {
    const plan_buffer **live = base_malloc((m->n + 1) * sizeof *live);
    size_t k = 0;
    if (!live) return n;
    for (size_t i = 0; i < m->n; i++) {
        const plan_buffer *b = &m->buffers[i];
        if (b->place == PLAN_TEMP && b->first <= m->peak_point && b->last >= m->peak_point) live[k++] = b;
    }
    qsort(live, k, sizeof *live, by_place);
    int64_t end = 0;
    for (size_t i = 0; i < k; i++) {
        plan_buffer b = *live[i];
        if (b.offset + b.bytes <= end) continue;
        if (b.offset < end) {
            b.bytes -= end - b.offset;
            b.offset = end;
        }
        end = b.offset + b.bytes;
        place_of(p, m, &b, &rows[n++]);
    }
    base_free(live);
    return n;
}

/* Helpers' own memory (PLAN_OTHER) is in the dump's total but not in the statistics. */
static int all_rows(const plan_program *p, const plan_memory *m, bool stated, xt_plan_row *rows) {
    int n = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->buffers[i].place != PLAN_TEMP && !(m->buffers[i].place == PLAN_OTHER && stated))
            place_of(p, m, &m->buffers[i], &rows[n++]);
    n = peak_temporaries(p, m, rows, n);
    for (size_t i = 0; i < p->n_others; i++) {
        const plan_other *o = &p->others[i];
        const xt_src *at = src_get(o->src);
        rows[n++] = (xt_plan_row){.file = at->file,
                                  .line = at->line,
                                  .module = intern_text(o->path),
                                  .op = "elsewhere",
                                  .shape = intern_text(o->type),
                                  .dtype = "",
                                  .kind = o->kind,
                                  .bytes = o->bytes,
                                  .count = 1,
                                  .last = m->n_points};
    }
    return n;
}

/* --- collectives --- */
/* The names of the axes along which the devices of a group differ. Devices are numbered row-major over the axes. */
static uint32_t axes_of(const plan_link *l, const char *mesh) {
    char text[256], *name[8];
    int64_t size[8], stride[8], s = 1;
    int n = 0;
    str out = STR_INIT;
    snprintf(text, sizeof text, "%s", mesh ? mesh : "");
    char *save = NULL;
    for (char *t = strtok_r(text, ",", &save); t && n < 8; t = strtok_r(NULL, ",", &save)) {
        char *eq = strchr(t, '=');
        if (!eq) continue;
        *eq = 0;
        name[n] = t;
        size[n++] = strtoll(eq + 1, NULL, 10);
    }
    for (int i = n; i-- > 0; s *= size[i] > 0 ? size[i] : 1) stride[i] = s;
    for (int i = 0; i < n; i++) {
        bool varies = l->n_group == 0 && size[i] > 1; /* no groups: all devices */
        for (int k = 1; k < l->n_group && size[i] > 0; k++)
            varies |= l->group[k] / stride[i] % size[i] != l->group[0] / stride[i] % size[i];
        if (varies) str_printf(&out, "%s%s", out.len ? "+" : "", name[i]);
    }
    if (!out.len)
        for (int k = 0; k < l->n_group && k < 8; k++)
            str_printf(&out, "%s%lld", k ? "," : "devices ", (long long)l->group[k]);
    if (!out.len) str_append(&out, "all");
    uint32_t id = intern(str_cstr(&out));
    str_free(&out);
    return id;
}

static int by_traffic(const void *a, const void *b) {
    const xt_plan_collective *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->module, y->module);
}

static xt_status read_links(const plan_program *p, const plan_memory *m, const char *mesh, xt_plan *out) {
    int n = 0;
    out->collectives = base_calloc(m->n_links + 1, sizeof *out->collectives);
    if (!out->collectives) return status_oom(m->n_links, "collectives");
    for (size_t i = 0; i < m->n_links; i++) {
        const plan_link *l = &m->links[i];
        const xt_src *at;
        uint32_t module = l->name;
        source_of(p, l->ordinal, l->input, &at, &module);
        int64_t times = l->times > 1 ? l->times : 1;
        xt_plan_collective c = {.op = intern_text(l->op),
                                .axis = intern_text(axes_of(l, mesh)),
                                .file = at->file,
                                .module = intern_text(module),
                                .line = at->line,
                                .count = times < INT_MAX ? (int)times : INT_MAX,
                                .bytes = times * l->bytes};
        int k = 0;
        while (k < n && !(out->collectives[k].op == c.op && out->collectives[k].axis == c.axis &&
                          out->collectives[k].file == c.file && out->collectives[k].line == c.line &&
                          out->collectives[k].module == c.module))
            k++;
        if (k == n)
            out->collectives[n++] = c;
        else
            out->collectives[k].bytes += c.bytes, out->collectives[k].count += c.count;
    }
    qsort(out->collectives, (size_t)n, sizeof *out->collectives, by_traffic);
    out->report.collectives = out->collectives;
    out->report.n_collectives = n;
    return NULL;
}

/* --- totals --- */
static void totals(const plan_program *p, const plan_compiled *c, const plan_memory *m, xt_plan_report *r) {
    const device_exec_stats *s = &c->stats;
    int64_t inputs = 0, results = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (m->buffers[i].place == PLAN_INPUT) inputs += m->buffers[i].bytes;
        if (m->buffers[i].place == PLAN_OUTPUT) results += m->buffers[i].bytes;
    }
    for (size_t i = 0; i < p->n_others; i++) r->live_elsewhere_bytes += p->others[i].bytes;
    bool told = s->peak_bytes > 0; /* not when the program does not fit, or was cut: then the dump's own totals stand */
    r->argument_bytes = told ? s->argument_bytes : inputs;
    r->temp_bytes = told ? s->temp_bytes : m->arena_bytes;
    r->alias_bytes = told ? s->alias_bytes : 0;
    r->output_bytes = told ? s->output_bytes : results;
    r->code_bytes = told ? s->code_bytes : -1;
    int64_t program = told                 ? s->argument_bytes + s->output_bytes - s->alias_bytes + s->temp_bytes
                      : m->total_bytes > 0 ? m->total_bytes
                                           : inputs + results + m->arena_bytes;
    r->peak_bytes = program + r->live_elsewhere_bytes;
    r->compiler_peak_bytes = told ? s->peak_bytes : -1;
}

/* Sums the rows by kind; what is left of the arena and of the peak gets kinds of its own. */
static void sum_kinds(const plan_memory *m, xt_plan_report *r) {
    int64_t explained = 0, arena_live = 0;
    for (int i = 0; i < r->n_rows; i++) {
        const xt_plan_row *row = &r->rows[i];
        r->kinds[row->kind] += row->bytes;
        r->kinds[XT_PLAN_PADDING] += row->padding;
        explained += row->bytes + row->padding;
    }
    for (size_t i = 0; i < m->n; i++)
        if (m->buffers[i].place != PLAN_TEMP && !(m->buffers[i].place == PLAN_OTHER && r->compiler_peak_bytes > 0))
            arena_live -= m->buffers[i].bytes;
    arena_live += explained - r->live_elsewhere_bytes;
    int64_t left = r->peak_bytes - explained, unused = m->arena_bytes - arena_live;
    if (unused > left) unused = left;
    if (unused > 0) r->kinds[XT_PLAN_FRAGMENTATION] = unused;
    /* also below zero, by as much as the compiler's two accounts differ */
    r->kinds[XT_PLAN_RESERVED] = left - (unused > 0 ? unused : 0);
}

static xt_status lives(const plan_program *p, const plan_memory *m, xt_plan *out) {
    out->lives = base_calloc(m->n + 1, sizeof *out->lives);
    if (!out->lives) return status_oom(m->n * sizeof *out->lives, "a picture of memory");
    xt_plan_report *r = &out->report;
    for (size_t i = 0; i < m->n; i++) {
        if (m->buffers[i].place == PLAN_TEMP)
            place_of(p, m, &m->buffers[i], &out->lives[r->n_lives++]);
        else
            r->steady_bytes += m->buffers[i].bytes;
    }
    r->steady_bytes += r->live_elsewhere_bytes;
    r->lives = out->lives;
    return NULL;
}

xt_status plan_report_make(const plan_program *p, const plan_compiled *c, const plan_memory *m0, const xt_plan_opts *o,
                           xt_plan **out_plan) {
    plan_memory m = *m0;
    int64_t live = 0;
    xt_plan *out = handle_new(HANDLE_plan, sizeof *out);
    *out_plan = NULL;
    if (!out) return status_oom(sizeof *out, "a report");
    plan_find_peak(&m, &live);
    xt_plan_report *r = &out->report;
    snprintf(out->device, sizeof out->device, "%s", c->device);
    snprintf(out->compiler, sizeof out->compiler, "%s", c->compiler);
    *r = (xt_plan_report){
        .topology = intern_text(intern(o->topology)),
        .device = out->device,
        .compiler = out->compiler,
        .devices = c->devices,
        .hosts = c->hosts,
        .partitions = p->partitions,
        .compile_ms = c->compile_ms,
        .ended = !c->cut ? NULL
                 : c->late
                     ? "ended before its code was made, as the time limit was reached (--time-limit); memory was known"
                     : "ended when memory was known (--full waits for the code)",
        .n_points = m.n_points,
        .peak_point = m.peak_point,
        .programs = 1};
    totals(p, c, &m, r);
    xt_status s = (out->rows = base_calloc(m.n + p->n_others + 1, sizeof *out->rows))
                      ? NULL
                      : status_oom(m.n * sizeof *out->rows, "a report");
    if (!s) {
        r->n_rows = merge(out->rows, all_rows(p, &m, r->compiler_peak_bytes > 0, out->rows));
        r->rows = out->rows;
        sum_kinds(&m, r);
        s = lives(p, &m, out);
    }
    if (!s) s = read_links(p, &m, o->mesh, out);
    r->limit_bytes = o->memory_limit > 0 ? o->memory_limit : c->memory_bytes;
    r->fits =
        c->fits && (r->limit_bytes <= 0 || r->peak_bytes + (r->code_bytes > 0 ? r->code_bytes : 0) <= r->limit_bytes);
    if (!c->fits && (out->verdict = base_strdup(c->verdict))) r->verdict = out->verdict;
    if (!s) plan_estimate(p, c, &m, r);
    if (s)
        xt_plan_free(out);
    else
        *out_plan = out;
    return s;
}
