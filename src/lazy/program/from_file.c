/* xt_program: StableHLO programs from files. A program is a list of modules; each runs on the reference interpreter or,
 * printed again, on a device. Assertions are lifted out of the entry first: what they look at becomes results, and they
 * are checked on the host, so that a device needs to know nothing about them. */
#include <stdlib.h>

#include "base/handle.h"
#include "base/narrow.h"
#include "device/device.h"
#include "format/bytecode.h"
#include "format/hlo.h"
#include "format/npy.h"
#include "ir/interp.h"
#include "lazy/program/from_file.h"
#include "pass/pass.h"

#include <xtrain/program.h>

enum { ARRAY_MAX_RANK = 32 };
struct xt_program {
    char *name;
    ir_module **modules;
    size_t n, cap;
};

/* --- Loading --- */

static bool is_blank(const char *s, const char *end) {
    while (s < end) {
        while (s < end && strchr(" \t\r\n", *s)) s++;
        if (s + 1 >= end || s[0] != '/' || s[1] != '/') return s == end;
        while (s < end && *s != '\n') s++;
    }
    return true;
}

static const char *next_split(const char *s, const char *end) {
    static const char mark[] = "// -----";
    for (const char *line = s; line < end; line++) {
        if ((size_t)(end - line) >= sizeof mark - 1 && !memcmp(line, mark, sizeof mark - 1)) return line;
        line = memchr(line, '\n', (size_t)(end - line));
        if (!line) break;
    }
    return end;
}

static xt_status take_module(xt_program *p, ir_module *m) {
    xt_status st = ir_verify(m);
    if (!st) st = pass_expand_chlo(m);
    if (!st && !VEC_PUSH(p->modules, p->n, p->cap, m)) st = status_oom(sizeof m, "a program");
    if (st) ir_module_free(m);
    return st;
}

static xt_status load_binary(xt_program *p, const char *data, size_t n) {
    ir_module *m = NULL;
    XT_TRY(program_read(data, n, p->name, &m));
    return take_module(p, m);
}

/* One module between split lines; `lines` blank lines before it keep line numbers true. */
static xt_status load_part(xt_program *p, const char *s, size_t n, size_t lines) {
    char *text = base_malloc(n + lines + 1);
    ir_module *m = NULL;
    if (!text) return status_oom(n + lines, "a program");
    memset(text, '\n', lines);
    memcpy(text + lines, s, n);
    text[lines + n] = 0;
    xt_status st = ir_parse(text, lines + n, p->name, &m);
    base_free(text);
    return st ? st : take_module(p, m);
}

xt_status xt_program_parse(const char *text, size_t n, const char *name, xt_program **out) {
    xt_program *p = handle_new(HANDLE_program, sizeof *p);
    const char *end = text + n;
    xt_status s = NULL;
    *out = NULL;
    if (!p) return status_oom(sizeof *p, "a program");
    p->name = base_strdup(name);
    if (!p->name) s = status_oom(strlen(name), "a program's name");
    size_t lines = 0;
    bool binary = bytecode_is(text, n) || hlomod_is(text, n);
    if (!s && binary) s = load_binary(p, text, n);
    for (const char *at = text; !s && !binary && at < end;) {
        const char *stop = next_split(at, end);
        if (!is_blank(at, stop)) s = load_part(p, at, (size_t)(stop - at), lines);
        const char *after = stop < end ? memchr(stop, '\n', (size_t)(end - stop)) : NULL;
        after = after ? after + 1 : end;
        for (; at < after; at++) lines += *at == '\n';
    }
    if (!s && p->n == 0) s = status_new(XT_INVALID_ARGUMENT, NULL, "%s: there is no program in this file", name);
    if (s)
        xt_program_free(p);
    else
        *out = p;
    return s;
}

xt_status xt_program_load(const char *path, xt_program **out) {
    char *text;
    size_t n;
    *out = NULL;
    XT_TRY(file_read_all(path, &text, &n));
    xt_status s = xt_program_parse(text, n, path, out);
    base_free(text);
    return s;
}

void xt_program_free(xt_program *p) {
    if (!p) return;
    for (size_t i = 0; i < p->n; i++) ir_module_free(p->modules[i]);
    base_free(p->modules);
    base_free(p->name);
    handle_free(p);
}

static const ir_func *main_of(const xt_program *p) {
    return p->n == 1 ? ir_func_find(p->modules[0], "main") : NULL;
}

bool xt_program_has_main(const xt_program *p) {
    return main_of(p) != NULL;
}
int xt_program_inputs(const xt_program *p) {
    return main_of(p) ? (int)main_of(p)->body->n_args : 0;
}
int xt_program_outputs(const xt_program *p) {
    return main_of(p) ? (int)main_of(p)->n_results : 0;
}

xt_spec xt_program_input(const xt_program *p, int i) {
    xt_spec spec = {XT_DTYPE_NONE, {0}};
    const ir_func *f = main_of(p);
    if (!f || i < 0 || (size_t)i >= f->body->n_args || f->body->args[i]->type->kind != IR_TENSOR) return spec;
    const ir_type *t = f->body->args[i]->type;
    spec.dtype = t->dtype;
    for (uint32_t d = 0; d < t->rank && d < XT_MAX_RANK; d++) spec.dims[d] = t->dims[d];
    return spec;
}

xt_status xt_program_text(const xt_program *p, const char *form, char **out) {
    str text = STR_INIT;
    xt_status s = NULL;
    bool generic = !strcmp(form, "generic");
    *out = NULL;
    if (!generic && strcmp(form, "pretty"))
        return status_new(XT_INVALID_ARGUMENT, NULL, "the form '%s' is neither pretty nor generic", form);
    for (size_t i = 0; !s && i < p->n; i++) {
        if (i) str_append(&text, "// -----\n");
        s = ir_print(p->modules[i], generic ? IR_PRINT_GENERIC : 0, &text);
    }
    if (!s) *out = base_strdup(str_cstr(&text));
    if (!s && !*out) s = status_oom(text.len, "a program's text");
    str_free(&text);
    return s;
}

/* "1.13.0" or "1.13" as 113; the last number is not asked. */
static xt_status read_version(const char *text, int *out) {
    int64_t major = -1, minor = -1;
    char digits[8];
    const char *dot = strchr(text, '.');
    if (dot && dot - text < 7) {
        size_t n = strcspn(dot + 1, ".");
        snprintf(digits, sizeof digits, "%.*s", (int)(dot - text), text);
        bool ok = parse_i64(digits, &major);
        snprintf(digits, sizeof digits, "%.*s", n < 7 ? (int)n : 0, dot + 1);
        if (!ok || !parse_i64(digits, &minor)) minor = -1;
    }
    if (major < 0 || minor < 0 || minor > 99 || major > 99)
        return status_new(XT_INVALID_ARGUMENT, NULL, "'%s' is no version of StableHLO: it would be like 1.13.0", text);
    *out = (int)(100 * major + minor);
    return NULL;
}

static xt_status print_short(const ir_module *m, str *out) {
    ir_module *copy;
    XT_TRY(ir_module_clone(m, &copy));
    program_drop_defaults(copy);
    xt_status s = ir_print(copy, 0, out);
    ir_module_free(copy);
    return s;
}

xt_status xt_program_write(const xt_program *p, const char *path, const char *version) {
    size_t n = strlen(path);
    bool text = n > 5 && strcmp(path + n - 5, ".mlir") == 0;
    str bytes = STR_INIT;
    bytecode_opts o = {.locs = IR_PRINT_LOC_SOURCE};
    if (version) XT_TRY(read_version(version, &o.version));
    if (p->n != 1 && !text)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s holds %zu modules; bytecode is of one module", p->name, p->n);
    xt_status s = NULL;
    for (size_t i = 0; !s && i < p->n; i++) {
        if (i) str_append(&bytes, "// -----\n");
        s = text ? print_short(p->modules[i], &bytes) : bytecode_write(p->modules[i], &o, &bytes);
    }
    if (!s) s = file_write_all(path, bytes.data, bytes.len);
    str_free(&bytes);
    return s;
}

void xt_text_free(char *text) {
    base_free(text);
}

/* --- Assertions --- */

typedef struct lifted {
    ir_module *m; /* a clone, to be freed */
    ir_func *f;
    size_t n_results; /* of the program itself; what checks look at follows */
    ir_op **checks;
    size_t n_checks, cap_checks;
} lifted;

static bool is_check(const ir_op *op) {
    const char *target = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
    if (target) return !strncmp(target, "check.", 6);
    return !strcmp(ir_op_infos[op->code].dialect, "check");
}

/* check.eq tells its answer as a value; after lifting it is checked here, and the program goes on as if it held. */
static xt_status replace_answer(ir_module *m, ir_op *op) {
    ir_builder b = ir_before(m, op);
    for (uint32_t i = 0; i < op->n_out; i++) {
        if (op->out[i].type->kind != IR_TENSOR || op->out[i].type->count < 0) continue;
        ir_value *yes = ir_splat(&b, op->out[i].type, 1);
        if (b.status) return b.status;
        ir_replace_uses(m, &op->out[i], yes);
    }
    return NULL;
}

static xt_status lift_returns(lifted *l, ir_op *ret) {
    /* first: a check may look at another's answer */
    for (size_t i = 0; i < l->n_checks; i++) XT_TRY(replace_answer(l->m, l->checks[i]));
    size_t n = ret->n_in, k = 0;
    for (size_t i = 0; i < l->n_checks; i++) n += l->checks[i]->n_in;
    ir_value **v = arena_alloc(l->m->mem, (n + 1) * sizeof *v);
    const ir_type **types = arena_alloc(l->m->mem, (n + 1) * sizeof *types);
    if (!v || !types) return status_oom(n * sizeof *v, "a program's results");
    for (uint32_t i = 0; i < ret->n_in; i++) v[k++] = ret->in[i];
    for (size_t i = 0; i < l->n_checks; i++)
        for (uint32_t j = 0; j < l->checks[i]->n_in; j++) v[k++] = l->checks[i]->in[j];
    for (size_t i = 0; i < n; i++) types[i] = v[i]->type;
    ir_erase(ret);
    for (size_t i = 0; i < l->n_checks; i++) ir_erase(l->checks[i]);
    l->f->n_results = n;
    l->f->result_types = types;
    l->f->result_attrs = NULL;
    l->f->n_result_attrs = NULL;
    ir_builder b = ir_at_end(l->m, l->f->body);
    b.src = ret->src;
    ir_return(&b, n, v);
    return b.status;
}

static xt_status lift_checks(const ir_module *m, const char *entry, lifted *l) {
    *l = (lifted){0};
    XT_TRY(ir_module_clone(m, &l->m));
    l->f = ir_func_find(l->m, entry);
    ir_op *ret = l->f ? ir_block_return(l->f->body) : NULL;
    if (!ret) return status_new(XT_INVALID_ARGUMENT, NULL, "the function @%s has no return", entry);
    l->n_results = ret->n_in;
    for (ir_op *op = l->f->body->first; op; op = op->next)
        if (is_check(op) && !VEC_PUSH(l->checks, l->n_checks, l->cap_checks, op))
            return status_oom(sizeof op, "assertions");
    return l->n_checks ? lift_returns(l, ret) : NULL;
}

static void lifted_free(lifted *l) {
    ir_module_free(l->m);
    base_free(l->checks);
}

/* `values` are what the checks look at, in order. */
static xt_status run_checks(const lifted *l, const array *values) {
    for (size_t i = 0; i < l->n_checks; i++) {
        ir_op op = *l->checks[i];
        op.n_out = 0; /* check.eq too is to fail with the element that differs */
        xt_status s = interp_op(l->m, &op, NULL, values, NULL, NULL, NULL);
        if (s) return status_at(s, src_get(op.src));
        values += op.n_in;
    }
    return NULL;
}

/* --- Devices --- */

static xt_status read_outputs(const ir_func *f, device_buffer *const *buffers, array *out) {
    for (size_t i = 0; i < f->n_results; i++) {
        const ir_type *t = f->result_types[i];
        XT_TRY(array_new(t, &out[i]));
        size_t want = ir_type_bytes(t), have = device_buffer_bytes(buffers[i]);
        if (want != have)
            return status_new(XT_INTERNAL, NULL, "output %zu has %zu bytes on the device, the program says %zu", i,
                              have, want);
        XT_TRY(device_read(buffers[i], out[i].data, want));
    }
    return NULL;
}

static xt_status upload_run_read(device_client *c, device_exec *e, const ir_func *f, size_t n_in, const array *in,
                                 array *out) {
    size_t n_out = f->n_results;
    device_buffer **buffers = base_calloc(n_in + n_out + 1, sizeof *buffers);
    xt_status s = buffers ? NULL : status_oom((n_in + n_out) * sizeof *buffers, "buffers");
    if (!s && device_exec_outputs(e) != n_out)
        s = status_new(XT_INTERNAL, NULL, "the device's program has %zu outputs, the text %zu", device_exec_outputs(e),
                       n_out);
    for (size_t i = 0; !s && i < n_in; i++)
        s = device_upload(c, in[i].type->dtype, in[i].type->rank, in[i].type->dims, in[i].data, &buffers[i]);
    if (!s) s = device_execute(e, n_in, buffers, NULL, buffers + n_in, NULL, NULL);
    if (!s) s = read_outputs(f, buffers + n_in, out);
    for (size_t i = 0; buffers && i < n_in + n_out; i++) device_buffer_release(buffers[i]);
    base_free(buffers);
    return s;
}

static xt_status run_on_device(const char *device, const ir_module *m, ir_func *f, size_t n_in, const array *in,
                               array *out) {
    device_client *c = NULL;
    device_exec *e = NULL;
    str text = STR_INIT;
    const char *name = f->name;
    bool is_public = f->is_public;
    ir_func_rename(f, "main"); /* what devices run; the module is a clone of ours */
    f->is_public = true;
    xt_status s = device_open(&(device_open_opts){.spec = device, .n_nodes = 1}, &c);
    if (!s) s = program_print(m, device_text_version(c), IR_PRINT_LOC_ORDINAL, &text);
    ir_func_rename(f, name);
    f->is_public = is_public;
    if (!s) s = device_compile(c, str_cstr(&text), text.len, &(device_compile_opts){.num_replicas = 1}, &e);
    if (!s) s = upload_run_read(c, e, f, n_in, in, out);
    device_exec_release(e);
    device_close(c);
    str_free(&text);
    return s;
}

/* --- Entries --- */

/* Runs one function; *out (when not NULL) receives its own results, to be freed by the caller. */
static xt_status run_entry(const ir_module *m, const char *entry, const char *device, size_t n_in, const array *in,
                           array *out) {
    lifted l;
    xt_status s = lift_checks(m, entry, &l);
    array *all = NULL;
    if (!s) { /* refinement changes the results' types, not their number */
        all = base_calloc(l.f->n_results + 1, sizeof *all);
        if (!all) s = status_oom(l.f->n_results * sizeof *all, "results");
    }
    bool interpret = device && !strcmp(device, "interpreter");
    if (!s && pass_is_dynamic(l.m)) s = pass_refine(l.m, entry, n_in, in);
    if (!s && !interpret) s = pass_expand_quant(l.m); /* devices know nothing of quantized tensors */
    if (!s)
        s = interpret ? interp_run(l.m, entry, NULL, n_in, in, l.f->n_results, all)
                      : run_on_device(device, l.m, l.f, n_in, in, all);
    if (!s) s = program_look_for_nan(l.m, l.f, n_in, in, all, l.f->n_results);
    if (!s) s = run_checks(&l, all + l.n_results);
    for (size_t i = 0; all && i < l.f->n_results; i++) {
        if (!s && out && i < l.n_results)
            out[i] = all[i];
        else if (all[i].type)
            array_free(&all[i]);
    }
    base_free(all);
    lifted_free(&l);
    return s;
}

xt_status xt_program_check(xt_program *p, const char *device, int *out_run) {
    *out_run = 0;
    for (size_t i = 0; i < p->n; i++) {
        const ir_func *main_func = ir_func_find(p->modules[i], "main");
        for (const ir_func *f = p->modules[i]->funcs; f; f = f->next) {
            if (main_func ? f != main_func : !f->is_public || f->body->n_args) continue;
            if (f->body->n_args)
                return status_new(XT_INVALID_ARGUMENT, NULL,
                                  "%s: @%s takes %zu arguments, so it cannot be run without inputs", p->name, f->name,
                                  f->body->n_args);
            xt_status s = run_entry(p->modules[i], f->name, device, 0, NULL, NULL);
            if (s) return status_context(s, "@%s", f->name);
            ++*out_run;
        }
    }
    if (*out_run) return NULL;
    return status_new(XT_INVALID_ARGUMENT, NULL,
                      "%s: there is neither a function @main nor a public function without arguments", p->name);
}

/* --- Inputs and outputs --- */

static xt_status check_input(const ir_type *t, const xt_array *a, size_t i) {
    char what[40];
    snprintf(what, sizeof what, "input %zu", i);
    XT_TRY(npy_whole(a, what));
    bool same = t->kind == IR_TENSOR && t->rank == (uint32_t)a->rank && program_bits_fit(a->dtype, t->dtype);
    for (uint32_t d = 0; same && d < t->rank; d++) same = t->dims[d] == IR_DYNAMIC || t->dims[d] == a->dims[d];
    if (same) return NULL;
    str want = STR_INIT, have = STR_INIT;
    ir_type_print(t, &want);
    for (int d = 0; d < a->rank; d++) str_printf(&have, "%lldx", (long long)a->dims[d]);
    xt_status s = status_new(XT_INVALID_ARGUMENT, NULL, "input %zu is a tensor<%s%s>, the program wants %s", i,
                             str_cstr(&have), xt_dtype_name(a->dtype), str_cstr(&want));
    str_free(&want);
    str_free(&have);
    return s;
}

static xt_status give_output(const array *a, xt_array *out) {
    const ir_type *t = a->type;
    if (t->kind != IR_TENSOR || t->rank > ARRAY_MAX_RANK)
        return status_new(XT_UNIMPLEMENTED, NULL, "a result that is no tensor of at most %d dims cannot be handed out",
                          ARRAY_MAX_RANK);
    size_t n = ir_type_bytes(t);
    *out = (xt_array){.dtype = t->dtype, .rank = (int)t->rank, .data = base_aligned(64, n ? n : 1), .bytes = n};
    if (!out->data) return status_oom(n, "an output");
    for (uint32_t d = 0; d < t->rank; d++) out->dims[d] = t->dims[d];
    memcpy(out->data, a->data, n);
    return NULL;
}

xt_status xt_program_run(xt_program *p, const char *device, const xt_array *in, int n_in, xt_array *out, int n_out) {
    const ir_func *f = main_of(p);
    if (!f)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "%s: there is no single function @main to run; xt_program_check runs every function without arguments",
            p->name);
    size_t args = f->body->n_args, results = f->n_results;
    if (n_in < 0 || (size_t)n_in != args)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: @main takes %zu inputs, %d are given", p->name, args, n_in);
    if (n_out < 0 || (size_t)n_out != results)
        return status_new(XT_INVALID_ARGUMENT, NULL, "%s: @main has %zu outputs, room for %d is given", p->name,
                          results, n_out);
    for (size_t i = 0; i < args; i++)
        XT_TRY(status_context(check_input(f->body->args[i]->type, &in[i], i), "%s", p->name));
    array *arrays = base_calloc(args + results + 1, sizeof *arrays), *made = arrays + args;
    if (!arrays) return status_oom((args + results) * sizeof *arrays, "arrays");
    for (size_t i = 0; i < args; i++) {
        const ir_type *t = f->body->args[i]->type;
        arrays[i] = (array){ir_with_quant(ir_tensor(t->dtype, (size_t)in[i].rank, in[i].dims), t->quant), in[i].data};
        if (!arrays[i].type) {
            base_free(arrays);
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s: the shape of input %zu is not valid", p->name, i);
        }
    }
    for (size_t i = 0; i < results; i++) out[i] = (xt_array){0};
    xt_status s = NULL;
    array *copies = base_calloc(args + 1, sizeof *copies); /* of inputs of less than a byte an element */
    if (!copies) s = status_oom(args * sizeof *copies, "arrays");
    for (size_t i = 0; !s && i < args; i++) {
        xt_dtype t = arrays[i].type->dtype;
        if (narrow_bits(t) == 255) continue;
        s = array_new(arrays[i].type, &copies[i]);
        if (s) break;
        memcpy(copies[i].data, in[i].data, ir_type_bytes(arrays[i].type));
        narrow_extend(t, copies[i].data, ir_type_bytes(arrays[i].type));
        arrays[i] = copies[i];
    }
    if (!s) s = run_entry(p->modules[0], "main", device, args, arrays, made);
    for (size_t i = 0; copies && i < args; i++) array_free(&copies[i]);
    base_free(copies);
    for (size_t i = 0; i < results; i++) {
        if (!s) s = give_output(&made[i], &out[i]);
        if (made[i].type) array_free(&made[i]);
    }
    for (size_t i = 0; s && i < results; i++) xt_array_free(&out[i]);
    base_free(arrays);
    return s;
}
