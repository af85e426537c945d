/* Programs: compiling, and the tables that clients ask for, made once from what the compiler tells. Shared by
 * executables and their loaded forms. */
#include "base/proto.h"
#include "format/hlo.h"
#include "pjrt/face.h"

void face_program_release(face_program *p) {
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1) return;
    cpu_exec_free(p->exec);
    face_options_deinit(&p->options);
    base_free(p->option_bytes);
    base_free(p->types);
    base_free(p->orders);
    base_free(p->out_types);
    base_free(p->out_dims);
    base_free(p->out_ranks);
    base_free(p->kinds);
    base_free(p->kind_sizes);
    base_free(p->in_kinds);
    for (size_t i = 0; p->shardings && i < p->n_in + p->n_out; i++) base_free(p->shardings[i]);
    base_free(p->shardings);
    base_free(p->layouts[0]);
    base_free(p->layouts[1]);
    pthread_mutex_destroy(&p->lock);
    base_free(p->sharding_sizes);
    base_free(p->hlo);
    base_free(p);
    live_add(LIVE_plugin_executable, -1);
}

static xt_status program_new(face_program **out) {
    *out = base_calloc(1, sizeof **out);
    if (!*out) return status_oom(sizeof **out, "a program");
    atomic_init(&(*out)->refs, 1);
    pthread_mutex_init(&(*out)->lock, NULL);
    live_add(LIVE_plugin_executable, 1);
    return NULL;
}

static xt_status keep_options(face_program *p, const char *bytes, size_t n) {
    p->option_bytes = base_malloc(n + 1);
    if (!p->option_bytes) return status_oom(n, "compile options");
    if (n > 0) memcpy(p->option_bytes, bytes, n);
    p->option_size = n;
    return face_options_read(bytes, n, &p->options);
}

/* Memory kinds that the program's attributes name; "device" without one. */
static xt_status describe_kinds(face_program *p) {
    size_t n = p->n_in + p->n_out;
    p->in_kinds = base_calloc(n + 1, sizeof *p->in_kinds);
    p->kinds = base_calloc(n + 1, sizeof *p->kinds);
    p->kind_sizes = base_calloc(n + 1, sizeof *p->kind_sizes);
    if (!p->in_kinds || !p->kinds || !p->kind_sizes) return status_oom(n * sizeof *p->kinds, "a program");
    p->out_kinds = p->in_kinds + p->n_in;
    for (size_t i = 0; i < n; i++) {
        const char *text = i < p->n_in ? cpu_exec_input_text(p->exec, i, "mhlo.memory_kind")
                                       : cpu_exec_output_text(p->exec, i - p->n_in, "mhlo.memory_kind");
        int kind = text ? face_kind_find(text, strlen(text)) : 0;
        if (kind < 0)
            return status_new(XT_INVALID_ARGUMENT, NULL,
                              "the memory kind '%s' is unknown: this plugin has device, pinned_host, unpinned_host",
                              text);
        p->in_kinds[i] = (uint8_t)kind;
        face_tell(face_kind_names[kind], &p->kinds[i], &p->kind_sizes[i]);
    }
    return NULL;
}

static xt_status describe_shardings(face_program *p) {
    size_t n = p->n_in + p->n_out;
    if (p->options.partitions < 2) return NULL;
    p->shardings = base_calloc(n + 1, sizeof *p->shardings);
    p->sharding_sizes = base_calloc(n + 1, sizeof *p->sharding_sizes);
    if (!p->shardings || !p->sharding_sizes) return status_oom(n * sizeof *p->shardings, "a program");
    for (size_t i = 0; i < n; i++) {
        str s = STR_INIT;
        const char *text = i < p->n_in ? cpu_exec_input_text(p->exec, i, "mhlo.sharding")
                                       : cpu_exec_output_text(p->exec, i - p->n_in, "mhlo.sharding");
        xt_status st = face_sharding_write(text, &s);
        if (!st && s.len && !(p->shardings[i] = base_malloc(s.len))) st = status_oom(s.len, "a sharding");
        if (!st && s.len) memcpy(p->shardings[i], s.data, s.len);
        p->sharding_sizes[i] = s.len;
        str_free(&s);
        XT_TRY(st);
    }
    return NULL;
}

/* The compiler's types are those of memory. */
static xt_status describe_type(const ir_type *stored, const int64_t *order, const ir_type **out_type,
                               const face_layout **out_layout) {
    int64_t dims[IR_MAX_RANK];
    *out_type = stored;
    *out_layout = NULL;
    if (!order) return NULL;
    for (uint32_t k = 0; k < stored->rank; k++) dims[order[k]] = stored->dims[k];
    *out_type = ir_tensor(stored->dtype, stored->rank, dims);
    return *out_type ? face_layout_get(stored->rank, order, out_layout) : status_oom(sizeof **out_type, "a type");
}

static xt_status describe_types(face_program *p) {
    size_t n = p->n_in + p->n_out;
    p->types = base_calloc(n + 1, sizeof *p->types);
    p->orders = base_calloc(n + 1, sizeof *p->orders);
    if (!p->types || !p->orders) return status_oom(n * sizeof *p->types, "a program");
    for (size_t i = 0; i < p->n_in; i++)
        XT_TRY(describe_type(cpu_exec_input_type(p->exec, i), cpu_exec_input_order(p->exec, i), &p->types[i],
                             &p->orders[i]));
    for (size_t j = 0; j < p->n_out; j++)
        XT_TRY(describe_type(cpu_exec_output_type(p->exec, j), cpu_exec_output_order(p->exec, j),
                             &p->types[p->n_in + j], &p->orders[p->n_in + j]));
    return NULL;
}

/* Fills what depends on the compiled program. */
static xt_status describe(face_program *p) {
    p->n_in = cpu_exec_inputs(p->exec);
    p->n_out = cpu_exec_outputs(p->exec);
    size_t ranks = 0;
    XT_TRY(describe_types(p));
    for (size_t i = 0; i < p->n_out; i++) ranks += p->types[p->n_in + i]->rank;
    p->out_types = base_calloc(p->n_out + 1, sizeof *p->out_types);
    p->out_dims = base_calloc(ranks + 1, sizeof *p->out_dims);
    p->out_ranks = base_calloc(p->n_out + 1, sizeof *p->out_ranks);
    if (!p->out_types || !p->out_dims || !p->out_ranks) return status_oom(ranks * sizeof *p->out_dims, "a program");
    int64_t *dims = p->out_dims;
    for (size_t i = 0; i < p->n_out; i++) {
        const ir_type *t = p->types[p->n_in + i];
        p->out_types[i] = (PJRT_Buffer_Type)t->dtype;
        p->out_ranks[i] = t->rank;
        for (uint32_t k = 0; k < t->rank; k++) *dims++ = t->dims[k];
    }
    XT_TRY(describe_kinds(p));
    XT_TRY(describe_shardings(p));
    const cpu_stats *stats = cpu_exec_stats(p->exec);
    p->costs[0] = face_float("flops", stats->flops);
    p->costs[1] = face_float("bytes accessed", stats->bytes_accessed);
    p->costs[2] = face_float("transcendentals", stats->transcendentals);
    p->costs[3] = face_float("collective bytes", stats->collective_bytes);
    for (int k = 0; k < CPU_PHASES; k++) {
        double seconds;
        const char *name = cpu_exec_phase(p->exec, (cpu_phase)k, &seconds);
        p->costs[4 + k] = face_float(name, seconds);
    }
    return NULL;
}

/* --- HLO that went in comes out again with its shardings, which is where PyTorch/XLA looks for those of results --- */
static bool field_of(const unsigned char *data, size_t n, uint32_t number, proto_field *out) {
    bool found = false;
    proto_reader r = proto_read(data, n);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number == number && f.wire == PROTO_BYTES) *out = f, found = true;
    return found && !r.bad;
}

/* Of results as one message; a program that returns a tuple has one of tuple type. */
static void results_sharding(const face_program *p, bool tuple, str *module) {
    str all = STR_INIT;
    if (tuple) proto_int(&all, 1, 2);
    for (size_t i = p->n_in; tuple && i < p->n_in + p->n_out; i++)
        proto_bytes(&all, 5, p->shardings[i], p->sharding_sizes[i]);
    if (!tuple && p->n_out == 1) proto_bytes(module, 12, p->shardings[p->n_in], p->sharding_sizes[p->n_in]);
    if (tuple) proto_message(module, 12, &all);
    str_free(&all);
}

/* HloModuleProto: 4 program shape {2 result {2 element type}}, 12 the results' sharding, 14 the parameters'.
 * HloModuleProtoWithConfig: 1 module, 2 {1 shape}. */
static xt_status keep_hlo(face_program *p, const PJRT_Program *program) {
    enum { XLA_TUPLE = 13 };
    const unsigned char *code = (const unsigned char *)program->code;
    proto_field shape, result, unused;
    if (!p->shardings || program->format_size != 3 || memcmp(program->format, "hlo", 3) != 0) return NULL;
    if (!field_of(code, program->code_size, 4, &shape) || !field_of(shape.data, shape.size, 2, &result)) return NULL;
    if (field_of(code, program->code_size, 12, &unused)) return NULL;
    int64_t type = 0;
    proto_reader r = proto_read(result.data, result.size);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number == 2 && f.wire == PROTO_VARINT) type = (int64_t)f.value;
    str module = STR_INIT, config = STR_INIT, out = STR_INIT;
    str_appendn(&module, program->code, program->code_size);
    results_sharding(p, type == XLA_TUPLE, &module);
    if (!field_of(code, program->code_size, 14, &unused))
        for (size_t i = 0; i < p->n_in; i++) proto_bytes(&module, 14, p->shardings[i], p->sharding_sizes[i]);
    proto_bytes(&config, 1, shape.data, shape.size);
    proto_message(&out, 1, &module);
    proto_message(&out, 2, &config);
    out.failed |= module.failed | config.failed;
    str_free(&module);
    str_free(&config);
    p->hlo = out.data;
    p->hlo_size = out.len;
    return out.failed ? status_oom(program->code_size, "a program") : NULL;
}

/* What this plugin reads. */
static xt_status check_format(const PJRT_Program *program) {
    static const char *const formats[] = {"mlir", "hlo", "hlo_with_config"};
    size_t i = 0;
    while (i < BASE_COUNT(formats) && (program->format_size != strlen(formats[i]) ||
                                       memcmp(program->format, formats[i], program->format_size) != 0))
        i++;
    if (!program->code || i == BASE_COUNT(formats))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the program's format is '%.*s': this plugin compiles 'mlir' (StableHLO as text or "
                          "bytecode), 'hlo' and 'hlo_with_config'",
                          (int)program->format_size, program->format ? program->format : "");
    if (i && !hlomod_is(program->code, program->code_size))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "the program's format is '%s', but it does not begin as an HloModuleProto does", formats[i]);
    return NULL;
}

xt_status face_program_compile(const PJRT_Program *program, const char *options, size_t options_size, int threads,
                               face_program **out) {
    face_program *p;
    XT_TRY(check_format(program));
    XT_TRY(program_new(&p));
    xt_status s = keep_options(p, options, options_size);
    cpu_compile_opts o = {.num_replicas = p->options.replicas,
                          .num_partitions = p->options.partitions,
                          .keep_divided = p->options.keep_divided,
                          .as_xla = !p->options.as_written,
                          .threads = threads};
    if (!s) s = cpu_compile(program->code, program->code_size, &o, &p->exec);
    if (!s) s = describe(p);
    if (!s) s = keep_hlo(p, program);
    if (!s && p->options.dump_to) s = cpu_dump_memory(p->exec, p->options.dump_to);
    if (s) {
        face_program_release(p);
        return s;
    }
    hash128 h = hash_bytes(program->code, program->code_size, hash_bytes(options, options_size, (hash128){0, 0}));
    hash_hex(hash_bytes(face_version, strlen(face_version), h), p->fingerprint);
    *out = p;
    return NULL;
}

/* --- serialised programs: a message of 1 compile options, 2 fingerprint, 3 the compiler's own bytes, 4 hash
 * of those --- */
static void hash_of(const void *p, size_t n, char out[33]) {
    hash_hex(hash_bytes(p, n, (hash128){0x5053, 0}), out);
}

xt_status face_program_write(const face_program *p, str *out) {
    char *code, hash[33];
    size_t n;
    XT_TRY(cpu_serialize(p->exec, &code, &n));
    hash_of(code, n, hash);
    proto_bytes(out, 1, p->option_bytes, p->option_size);
    proto_bytes(out, 2, p->fingerprint, strlen(p->fingerprint));
    proto_bytes(out, 3, code, n);
    proto_bytes(out, 4, hash, strlen(hash));
    base_free(code);
    return out->failed ? status_oom(n, "a serialised program") : NULL;
}

static xt_status damaged(void) {
    return status_new(XT_DATA_LOSS, NULL, "the serialised program is damaged or not of this plugin");
}

xt_status face_program_read(const char *data, size_t n, const char *options, size_t options_size, int threads,
                            face_program **out) {
    proto_field part[5] = {0};
    proto_reader r = proto_read(data, n);
    for (proto_field f; proto_next(&r, &f);)
        if (f.number < BASE_COUNT(part) && f.wire == PROTO_BYTES) part[f.number] = f;
    if (r.bad || !part[3].data || part[4].size != 32 || part[2].size != 32) return damaged();
    char hash[33];
    hash_of(part[3].data, part[3].size, hash);
    if (memcmp(hash, part[4].data, 32) != 0) return damaged();
    if (!options) {
        options = (const char *)part[1].data;
        options_size = part[1].size;
    }
    face_program *p;
    XT_TRY(program_new(&p));
    xt_status s = keep_options(p, options, options_size);
    memcpy(p->fingerprint, part[2].data, 32);
    if (!s) s = cpu_deserialize((const char *)part[3].data, part[3].size, threads, &p->exec);
    if (!s) s = describe(p);
    if (s)
        face_program_release(p);
    else
        *out = p;
    return s;
}
