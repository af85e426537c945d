/* Recordings: the texts of programs, and tables that say what an op's ordinal and an input's number mean
 * to the user. */
#include "base/handle.h"
#include "format/bytecode.h"
#include "lazy/program/rehearse.h"
#include "pass/pass.h"
#include "plan/plan.h"

#include <stdlib.h>

void xt_recording_free(xt_recording *r) {
    if (!r) return;
    for (size_t i = 0; i < r->n; i++) {
        plan_program *p = &r->programs[i];
        base_free(p->text);
        base_free(p->ops);
        base_free(p->inputs);
        base_free(p->others);
    }
    base_free(r->programs);
    handle_free(r);
}

int xt_recording_count(const xt_recording *r) {
    return (int)r->n;
}

const char *xt_recording_text(const xt_recording *r, int i) {
    return i >= 0 && (size_t)i < r->n ? r->programs[i].text : NULL;
}

static xt_plan_kind kind_of_role(const char *role) {
    static const struct {
        const char *role;
        xt_plan_kind kind;
    } roles[] = {{"parameter", XT_PLAN_PARAMETERS},
                 {"state", XT_PLAN_PARAMETERS},
                 {"optimizer", XT_PLAN_OPTIMIZER},
                 {"gradient", XT_PLAN_GRADIENTS},
                 {"batch", XT_PLAN_BATCH}};
    for (size_t i = 0; i < BASE_COUNT(roles); i++)
        if (strcmp(role, roles[i].role) == 0) return roles[i].kind;
    return XT_PLAN_INPUTS;
}

/* "h.3.attn/n17" -> "h.3.attn": the ordinal was written for compilers. */
static uint32_t without_ordinal(uint32_t path) {
    const char *text = intern_text(path), *slash = strrchr(text, '/'), *last = slash ? slash + 1 : text;
    if (last[0] != 'n' || !last[1] || last[1 + strspn(last + 1, "0123456789")]) return path;
    return slash ? intern_n(text, (size_t)(slash - text)) : 0;
}

/* An op's share of products in f32 at full precision; -1 for one that is no product. */
static int product_in_f32(const ir_op *op) {
    if (op->code != OP_dot_general && op->code != OP_convolution) return -1;
    return op->n_in > 0 && (op->in[0]->type->dtype == XT_F32 || op->in[0]->type->dtype == XT_F64);
}

static xt_status describe(const ir_module *m, plan_program *p) {
    const ir_func *f = ir_func_find(m, "main");
    if (!f) return status_new(XT_INVALID_ARGUMENT, NULL, "the program has no function main");
    size_t n = 0;
    int64_t f32 = 0, other = 0;
    for (const ir_op *op = f->body->first; op; op = op->next) n++;
    p->ops = base_calloc(n + 1, sizeof *p->ops);
    p->inputs = base_calloc(f->body->n_args + 1, sizeof *p->inputs);
    if (!p->ops || !p->inputs) return status_oom(n * sizeof *p->ops, "a program's lines");
    for (const ir_op *op = f->body->first; op; op = op->next) {
        int product = product_in_f32(op);
        if (product == 1) f32++;
        if (product == 0) other++;
        p->ops[p->n_ops++] =
            (plan_op){op->src, without_ordinal(op->path), op->code, op->n_out ? op->out[0].type : NULL};
    }
    p->f32_products = f32 > other;
    p->n_inputs = f->body->n_args;
    for (size_t i = 0; i < p->n_inputs; i++)
        p->inputs[i] = (plan_input){.kind = XT_PLAN_INPUTS, .type = f->body->args[i]->type};
    return NULL;
}

static const ir_attr *partitions_of(const ir_module *m) {
    for (size_t i = 0; i < m->n_attrs; i++)
        if (strcmp(m->attrs[i].name, "mhlo.num_partitions") == 0 && m->attrs[i].kind == IR_AK_INT) return &m->attrs[i];
    return NULL;
}

/* The text as the compilers get it: with ordinals, so that whatever they say of an op leads back. */
static xt_status take_text(const char *text, size_t n, const char *name, plan_program *p) {
    ir_module *m = NULL;
    str out = STR_INIT;
    XT_TRY(program_read(text, n, name, &m));
    xt_status s = ir_verify(m);
    if (!s) s = pass_expand_quant(m);
    if (!s) s = pass_expand_chlo(m);
    if (!s) s = describe(m, p);
    const ir_attr *partitions = partitions_of(m);
    p->partitions = partitions && partitions->v.i > 0 ? (int)partitions->v.i : 1;
    if (!s) { /* paths get their ordinals anew */
        size_t k = 0;
        for (ir_op *op = ir_func_find(m, "main")->body->first; op; op = op->next) op->path = p->ops[k++].path;
        s = ir_print(m, IR_PRINT_LOC_ORDINAL | IR_PRINT_LOC_SOURCE, &out);
    }
    if (!s && out.failed) s = status_oom(out.len, "a program's text");
    ir_module_free(m);
    if (s) {
        str_free(&out);
        return status_context(s, "%s", name);
    }
    p->text = out.data;
    p->size = out.len;
    return NULL;
}

static xt_status add(xt_recording *r, const plan_program *p) {
    return VEC_PUSH(r->programs, r->n, r->cap, *p) ? NULL : status_oom(sizeof *p, "a recording");
}

static xt_status take_rehearsed(xt_recording *r, const lazy_rehearsed *from) {
    plan_program p = {0};
    xt_status s = take_text(from->text, from->text_size, "the recorded program", &p);
    p.others = base_calloc(from->n_others + 1, sizeof *p.others);
    if (!s && !p.others) s = status_oom(from->n_others * sizeof *p.others, "a recording");
    for (size_t i = 0; !s && i < from->n_inputs && i < p.n_inputs; i++) {
        const lazy_live *b = &from->inputs[i];
        p.inputs[i].src = b->src;
        p.inputs[i].path = b->path;
        p.inputs[i].kind = b->type ? kind_of_role(lazy_role_name(b->role)) : XT_PLAN_INPUTS;
    }
    for (size_t i = 0; !s && i < from->n_others; i++) {
        const lazy_live *b = &from->others[i];
        str type = STR_INIT;
        if (b->type) ir_type_print(b->type, &type);
        p.others[p.n_others++] =
            (plan_other){b->src, b->path, kind_of_role(lazy_role_name(b->role)), b->bytes, intern(str_cstr(&type))};
        str_free(&type);
    }
    if (from->partitions > 0) p.partitions = from->partitions;
    p.runs = from->runs;
    if (!s) s = add(r, &p);
    if (!s) return NULL;
    base_free(p.text), base_free(p.ops), base_free(p.inputs), base_free(p.others);
    return s;
}

xt_status xt_record(int (*fn)(void *user), void *user, int64_t devices, xt_recording **out) {
    lazy_rehearsal *rehearsed = NULL;
    *out = NULL;
    XT_TRY(lazy_rehearse(devices, fn, user, &rehearsed));
    xt_recording *r = handle_new(HANDLE_recording, sizeof *r);
    xt_status s = r ? NULL : status_oom(sizeof *r, "a recording");
    for (size_t i = 0; !s && i < rehearsed->n; i++) s = take_rehearsed(r, &rehearsed->programs[i]);
    if (r) r->moved = rehearsed->moved;
    lazy_rehearsal_free(rehearsed);
    if (s)
        xt_recording_free(r);
    else
        *out = r;
    return s;
}

/* --- files --- */
/* A line of NAME.inputs: what, role, bytes, file, line, type, name. */
static void read_line(char *line, plan_program *p, size_t *input) {
    char *part[7] = {0}, *save = NULL;
    int n = 0;
    for (char *t = strtok_r(line, "\t", &save); t && n < 7; t = strtok_r(NULL, "\t", &save)) part[n++] = t;
    int64_t bytes = 0, at = 0;
    if (n < 7 || !parse_i64(part[2], &bytes) || !parse_i64(part[4], &at)) return;
    uint32_t file = intern(part[3]), path = strcmp(part[6], "-") == 0 ? 0 : intern(part[6]);
    src_id src = strcmp(part[3], "?") == 0 ? 0 : src_intern(&(xt_src){intern_text(file), (int)at, ""});
    if (strcmp(part[0], "input") == 0 && *input < p->n_inputs) {
        plan_input *in = &p->inputs[(*input)++];
        in->src = src;
        in->path = path;
        in->kind = kind_of_role(part[1]);
    } else if (strcmp(part[0], "other") == 0)
        p->others[p->n_others++] = (plan_other){src, path, kind_of_role(part[1]), bytes, intern(part[5])};
}

static void read_inputs(const char *path, plan_program *p) {
    size_t len = strlen(path), n = 0, lines = 1, input = 0;
    str name = STR_INIT;
    char *data = NULL;
    if (len > 5 && strcmp(path + len - 5, ".mlir") == 0) len -= 5;
    str_printf(&name, "%.*s.inputs", (int)len, path);
    /* the text is enough for a plan */
    if (file_exists(str_cstr(&name))) xt_status_free(file_read_all(str_cstr(&name), &data, &n));
    for (size_t i = 0; i < n; i++) lines += data[i] == '\n';
    p->others = data ? base_calloc(lines, sizeof *p->others) : NULL;
    char *save = NULL;
    if (p->others)
        for (char *line = strtok_r(data, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
            read_line(line, p, &input);
    base_free(data);
    str_free(&name);
}

/* Arguments nobody has described stand where the text has them: the line of @main, and which argument it is. */
static void place_arguments(const char *path, const char *data, size_t n, plan_program *p) {
    const char *at = memmem(data, n, "@main(", 6);
    int line = 1;
    for (const char *c = data; at && c < at; c++) line += *c == '\n';
    src_id src = at ? src_intern(&(xt_src){intern_text(intern(path)), line, ""}) : 0;
    for (size_t i = 0; i < p->n_inputs; i++) {
        plan_input *in = &p->inputs[i];
        char name[32];
        if (in->src || in->path) continue;
        snprintf(name, sizeof name, "argument %zu", i);
        in->src = src;
        in->path = intern(name);
    }
}

xt_status xt_recording_load(const char *path, xt_recording **out) {
    char *data;
    size_t n;
    plan_program p = {0};
    *out = NULL;
    XT_TRY(file_read_all(path, &data, &n));
    xt_recording *r = handle_new(HANDLE_recording, sizeof *r);
    xt_status s = r ? take_text(data, n, path, &p) : status_oom(sizeof *r, "a recording");
    if (!s) {
        read_inputs(path, &p);
        place_arguments(path, data, n, &p);
    }
    base_free(data);
    p.runs = 1;
    if (!s) s = add(r, &p);
    if (s) {
        base_free(p.text), base_free(p.ops), base_free(p.inputs), base_free(p.others);
        handle_free(r);
    } else
        *out = r;
    return s;
}

/* --- donation --- */
static int64_t alias_of(const ir_func *f, size_t arg) {
    for (size_t i = 0; f->arg_attrs && f->n_arg_attrs && i < f->n_arg_attrs[arg]; i++)
        if (strcmp(f->arg_attrs[arg][i].name, "tf.aliasing_output") == 0 && f->arg_attrs[arg][i].kind == IR_AK_INT)
            return f->arg_attrs[arg][i].v.i;
    return -1;
}

static xt_status donate(const plan_program *from, str *out) {
    ir_module *m = NULL;
    XT_TRY(ir_parse(from->text, from->size, "program", &m));
    ir_func *f = ir_func_find(m, "main");
    bool *taken = base_calloc(f->n_results + 1, 1);
    xt_status s = taken ? NULL : status_oom(f->n_results, "a program");
    for (size_t i = 0; !s && i < f->body->n_args; i++)
        if (alias_of(f, i) >= 0 && (size_t)alias_of(f, i) < f->n_results) taken[alias_of(f, i)] = true;
    for (size_t i = 0; !s && i < f->body->n_args; i++) {
        if (alias_of(f, i) >= 0) continue;
        for (size_t j = 0; j < f->n_results; j++) {
            if (taken[j] || f->result_types[j] != f->body->args[i]->type) continue;
            taken[j] = true;
            if (!ir_func_set_arg_attr(f, i, ir_attr_named_int("tf.aliasing_output", XT_I32, (int64_t)j)))
                s = status_oom(sizeof(ir_attr), "a program");
            break;
        }
    }
    if (!s) s = ir_print(m, IR_PRINT_LOC_SOURCE, out);
    base_free(taken);
    ir_module_free(m);
    return s;
}

xt_status xt_recording_donate(const xt_recording *from, xt_recording **out) {
    xt_recording *r = handle_new(HANDLE_recording, sizeof *r);
    xt_status s = r ? NULL : status_oom(sizeof *r, "a recording");
    *out = NULL;
    for (size_t i = 0; !s && i < from->n; i++) {
        const plan_program *old = &from->programs[i];
        plan_program p = {0};
        str text = STR_INIT;
        s = donate(old, &text);
        if (!s) s = take_text(str_cstr(&text), text.len, "the program", &p);
        for (size_t k = 0; !s && k < p.n_inputs; k++) p.inputs[k] = old->inputs[k];
        p.runs = old->runs;
        if (!s && (p.others = base_calloc(old->n_others + 1, sizeof *p.others))) {
            if (old->n_others) memcpy(p.others, old->others, old->n_others * sizeof *p.others);
            p.n_others = old->n_others;
        }
        if (!s) s = add(r, &p);
        if (s) base_free(p.text), base_free(p.ops), base_free(p.inputs), base_free(p.others);
        str_free(&text);
    }
    if (s)
        xt_recording_free(r);
    else
        *out = r;
    return s;
}
