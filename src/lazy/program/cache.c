/* Programs of the process: looked up by key, made on a miss (extract -> text -> disk cache -> compile), dropped least
 * recently used. */
#include "format/bytecode.h"
#include "lazy/core/layout.h"
#include "lazy/program/program.h"
#include "lazy/core/replay_log.h"
#include "pass/pass.h"

static struct {
    pthread_mutex_t lock;
    map *by_key;
    map *evicted; /* keys of programs that were dropped and not made again */
    lazy_program **all;
    size_t n, cap;
    int64_t clock, compiles, made;
} programs = {.lock = PTHREAD_MUTEX_INITIALIZER};

void lazy_program_release(lazy_program *g) {
    if (!g || atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1) return;
    device_exec_release(g->exec);
    base_free(g->inputs);
    base_free(g->donates);
    base_free(g->nodes);
    base_free(g->requesters);
    base_free(g->assigned);
    base_free(g->rank_nodes);
    lazy_origins_release(g->origins);
    base_free(g);
}

void lazy_programs_clear(void) {
    pthread_mutex_lock(&programs.lock);
    for (size_t i = 0; i < programs.n; i++) lazy_program_release(programs.all[i]);
    base_free(programs.all);
    map_free(programs.by_key, NULL);
    map_free(programs.evicted, NULL);
    programs.all = NULL;
    programs.by_key = programs.evicted = NULL;
    programs.n = programs.cap = 0;
    pthread_mutex_unlock(&programs.lock);
}

static void attend_close(void) {
    lazy_at_device_close(lazy_programs_clear);
}

enum { MOST_EVICTED = 1 << 16 }; /* remembered, for the report */

static void remember_evicted(hash128 key) {
    if (programs.evicted && map_count(programs.evicted) >= MOST_EVICTED) {
        map_free(programs.evicted, NULL);
        programs.evicted = NULL;
    }
    if (!programs.evicted) programs.evicted = map_new();
    if (programs.evicted) map_put(programs.evicted, &key, sizeof key, programs.evicted, NULL);
}

/* A program was made: was it there before? */
static void count_again(hash128 key, lazy_program_source source) {
    if (programs.evicted && map_remove(programs.evicted, &key, sizeof key))
        counter_add(source == LAZY_COMPILED ? COUNTER_recompiles : COUNTER_reloads, 1);
}

bool lazy_program_origin(int64_t program, size_t ordinal, src_id *out_src, uint32_t *out_path) {
    bool found = false;
    pthread_mutex_lock(&programs.lock);
    for (size_t i = 0; i < programs.n && !found; i++) {
        const lazy_origins *o = programs.all[i]->number == program ? programs.all[i]->origins : NULL;
        found = o && ordinal < o->n_ordinals;
        if (!found) continue;
        *out_src = o->ordinals[ordinal];
        *out_path = o->ordinal_paths[ordinal];
    }
    pthread_mutex_unlock(&programs.lock);
    return found;
}

int64_t lazy_programs_seen(void) {
    pthread_mutex_lock(&programs.lock);
    size_t n = programs.n + (programs.evicted ? map_count(programs.evicted) : 0);
    pthread_mutex_unlock(&programs.lock);
    return (int64_t)n;
}

static void evict(void) {
    int64_t limit = 256;
    env_int("XT_CACHE_ENTRIES", 2, &limit);
    while (programs.n > (size_t)limit) {
        size_t oldest = 0;
        for (size_t i = 1; i < programs.n; i++)
            if (programs.all[i]->last_used < programs.all[oldest]->last_used) oldest = i;
        lazy_program *p = programs.all[oldest];
        map_remove(programs.by_key, &p->key, sizeof p->key);
        remember_evicted(p->key);
        programs.all[oldest] = programs.all[--programs.n];
        lazy_program_release(p);
        counter_add(COUNTER_evictions, 1);
    }
}

static bool remember(lazy_program *p) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attend_close);
    if (!programs.by_key && !(programs.by_key = map_new())) return false;
    if (!VEC_PUSH(programs.all, programs.n, programs.cap, p)) return false;
    if (!map_put(programs.by_key, &p->key, sizeof p->key, p, NULL)) {
        programs.n--;
        return false;
    }
    evict();
    return true;
}

/* --- from trace to program --- */
static bool is_leaf(const ir_value *v, void *user) {
    (void)user;
    return v->def == NULL && v->block && v->block->owner == NULL;
}

static bool is_collective(ir_opcode c) {
    return ir_op_infos[c].cls == IR_CLASS_COLLECTIVE;
}

static bool annotate(ir_module *m, ir_func *f, size_t i, bool result, const lazy_layout *l) {
    ir_attr a = ir_attr_named_string(m, IR_SHARDING_ATTR, l ? intern_text(l->text) : "{replicated}");
    return result ? ir_func_set_result_attr(f, i, a) : ir_func_set_arg_attr(f, i, a);
}

/* A program that touches anything divided runs on all devices of the mesh; another one runs alike on each. */
static xt_status set_shardings(const lazy_ctx *c, const lazy_roots *r, ir_module *m, ir_func *f, lazy_program *p) {
    for (size_t k = 0; k < p->n_inputs; k++) p->partitioned |= c->leaves[p->inputs[k]].layout != NULL;
    for (size_t j = 0; j < r->n; j++) p->partitioned |= r->layouts && r->layouts[j];
    for (ir_op *op = f->body->first; op; op = op->next) p->partitioned |= ir_is_sharding(op);
    p->partitioned &= lazy_spmd();
    if (!p->partitioned) return NULL;
    if (p->uses_collectives)
        return status_new(
            XT_FAILED_PRECONDITION, NULL,
            "the step records collectives of its own, but with a mesh the compiler makes them: use one of the two");
    bool ok = true;
    for (size_t k = 0; k < p->n_inputs && ok; k++) ok = annotate(m, f, k, false, c->leaves[p->inputs[k]].layout);
    for (size_t j = 0; j < r->n && ok; j++) ok = annotate(m, f, j, true, r->layouts ? r->layouts[j] : NULL);
    return ok ? NULL : status_oom(sizeof(ir_attr), "a program");
}

lazy_origins *lazy_origins_retain(lazy_origins *o) {
    if (o) atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

void lazy_origins_release(lazy_origins *o) {
    if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1) return;
    base_free(o->ordinals);
    base_free(o->ordinal_paths);
    base_free(o->inputs);
    base_free(o);
}

static lazy_origins *origins_new(size_t n_ops, size_t n_inputs) {
    lazy_origins *o = base_calloc(1, sizeof *o);
    if (!o) return NULL;
    atomic_init(&o->refs, 1);
    o->n_inputs = n_inputs;
    o->ordinals = base_malloc((n_ops + 1) * sizeof *o->ordinals);
    o->ordinal_paths = base_malloc((n_ops + 1) * sizeof *o->ordinal_paths);
    o->inputs = base_calloc(n_inputs + 1, sizeof *o->inputs);
    if (o->ordinals && o->ordinal_paths && o->inputs) return o;
    lazy_origins_release(o);
    return NULL;
}

/* Sets inputs, aliases and origins of p from the extracted module. */
static xt_status describe_program(lazy_ctx *c, const lazy_roots *r, ir_module *m, ir_value *const *leaves,
                                  size_t n_leaves, lazy_program *p) {
    ir_func *main_func = ir_func_find(m, "main");
    p->n_inputs = n_leaves;
    p->inputs = base_malloc((n_leaves + 1) * sizeof *p->inputs);
    p->donates = base_calloc(n_leaves + 1, sizeof *p->donates);
    p->n_requesters = r->n + r->n_also;
    p->requesters = base_malloc((p->n_requesters + 1) * sizeof *p->requesters);
    if (!p->requesters) return status_oom(p->n_requesters * sizeof *p->requesters, "a program");
    memcpy(p->requesters, r->requesters, r->n * sizeof *p->requesters);
    if (r->n_also) memcpy(p->requesters + r->n, r->also, r->n_also * sizeof *p->requesters);
    p->n_assigned = r->n_assigned;
    p->assigned = base_malloc((p->n_assigned + 1) * sizeof *p->assigned);
    if (!p->assigned) return status_oom(p->n_assigned * sizeof *p->assigned, "a program");
    if (p->n_assigned) memcpy(p->assigned, r->assigned, p->n_assigned * sizeof *p->assigned);
    size_t n_ops = 0;
    for (ir_op *op = main_func->body->first; op; op = op->next) n_ops++;
    lazy_origins *o = p->origins = origins_new(n_ops, n_leaves);
    if (!p->inputs || !p->donates || !o) return status_oom(n_ops * 8, "a program");
    for (ir_op *op = main_func->body->first; op; op = op->next) {
        o->ordinals[o->n_ordinals] = op->src;
        o->ordinal_paths[o->n_ordinals++] = op->path;
        if (!is_collective(op->code)) continue;
        p->uses_collectives = true;
        p->last_collective = (lazy_last_collective){op->code, op->src};
    }
    for (size_t k = 0; k < n_leaves; k++) {
        p->inputs[k] = leaves[k]->index;
        const lazy_buf *buf = c->leaves[leaves[k]->index].buf;
        if (buf) o->inputs[k] = buf->info;
        for (size_t j = 0; j < r->n; j++) {
            if (r->alias_leaf[j] != (int32_t)leaves[k]->index) continue;
            ir_attr a = ir_attr_named_int("tf.aliasing_output", XT_I32, (int64_t)j);
            if (!ir_func_set_arg_attr(main_func, k, a)) return status_oom(sizeof a, "a program");
            p->donates[k] = true;
        }
    }
    XT_TRY(set_shardings(c, r, m, main_func, p));
    return world_get()->size > 1 && (p->uses_collectives || p->partitioned)
               ? lazy_rank_check_describe(c, main_func, leaves, r, p)
               : NULL;
}

static void dump(const str *text, int64_t number) {
    const char *dir = env_get("XT_DUMP");
    if (!dir) return;
    char name[64];
    snprintf(name, sizeof name, "program_%03lld.mlir", (long long)number);
    xt_status s = file_dump(dir, name, text->data, text->len);
    if (s) log_msg(XT_SEV_WARNING, "XT_DUMP: %s", status_message(s));
    xt_status_free(s);
}

static xt_status disk_key(device_client *client, const str *text, const device_compile_opts *o, hash128 *out) {
    const device_info *info = device_get_info(client);
    char *opts = NULL;
    size_t n_opts = 0;
    XT_TRY(device_compile_options_bytes(client, o, &opts, &n_opts));
    hash128 h = hash_bytes(text->data, text->len, (hash128){0x78747261696eu, 1});
    h = hash_bytes(opts, n_opts, h);
    h = hash_bytes(info->platform, strlen(info->platform), h);
    h = hash_bytes(info->build_id, strlen(info->build_id), h);
    int64_t shape[4] = {info->n_devices, info->n_addressable, world_get()->size, world_get()->rank};
    if (o->num_replicas <= 1 && o->num_partitions <= 1) { /* programs of one rank are shared by all ranks */
        shape[0] = shape[1] = 1;
        shape[2] = 0;
    }
    shape[3] = 0;
    h = hash_bytes(shape, sizeof shape, h);
    base_free(opts);
    *out = h;
    return NULL;
}

static xt_status too_many_compiles(const lazy_event *ev) {
    int64_t limit;
    if (!env_int("XT_MAX_COMPILES", 0, &limit) || programs.compiles < limit) return NULL;
    return status_new(XT_FAILED_PRECONDITION, src_get(ev->src),
                      "XT_MAX_COMPILES=%lld programs are compiled already and this step needs another: %s: %s%s%s",
                      (long long)limit, lazy_why_name(ev->why), ev->reason, *ev->advice ? "; " : "", ev->advice);
}

const char *lazy_source_name(lazy_program_source s) {
    return s == LAZY_FROM_MEMORY ? "memory" : s == LAZY_FROM_DISK ? "disk" : "compiled";
}

static atomic_bool compiling;
bool lazy_compiling(void) {
    return atomic_load_explicit(&compiling, memory_order_relaxed);
}

static xt_status load_or_compile(device_client *client, const str *text, const device_compile_opts *o, lazy_event *ev,
                                 lazy_program *p) {
    hash128 key;
    int64_t looked = clock_ns();
    XT_TRY(disk_key(client, text, o, &key));
    XT_TRY(lazy_disk_load(key, client, &p->exec));
    ev->disk_ns = clock_ns() - looked;
    counter_add(COUNTER_lower_ns, ev->disk_ns);
    if (p->exec) {
        ev->source = LAZY_FROM_DISK;
        counter_add(COUNTER_disk_hits, 1);
        return NULL;
    }
    counter_add(COUNTER_disk_misses, 1);
    XT_TRY(too_many_compiles(ev));
    int64_t began = clock_ns();
    atomic_store_explicit(&compiling, true, memory_order_relaxed);
    xt_status s = device_compile(client, text->data, text->len, o, &p->exec);
    atomic_store_explicit(&compiling, false, memory_order_relaxed);
    XT_TRY(s);
    ev->compile_ns = clock_ns() - began;
    ev->source = LAZY_COMPILED;
    ev->compile_number = ++programs.compiles;
    counter_add(COUNTER_compiles, 1);
    began = clock_ns();
    lazy_disk_store(key, p->exec);
    ev->store_ns = clock_ns() - began;
    counter_add(COUNTER_compile_ns, ev->compile_ns + ev->store_ns);
    return NULL;
}

static xt_status build_exec(const str *text, lazy_event *ev, lazy_program *p) {
    device_client *client;
    XT_TRY(lazy_device(&client));
    char *tuning = strcmp(device_get_info(client)->platform, "cuda") == 0 ? lazy_tuning_folder() : NULL;
    device_compile_opts o = {.num_replicas = p->uses_collectives ? world_get()->size : 1,
                             .num_partitions = p->partitioned ? (int)lazy_partitions() : 1,
                             .tuning_dir = tuning};
    xt_status s = load_or_compile(client, text, &o, ev, p);
    base_free(tuning);
    return s;
}

/* XLA's compilers say "unknown target" of factorisations, which are custom calls; the user's line says more. Other
 * devices are asked. */
xt_status lazy_refuse_factorisations(const ir_module *m, const char *platform) {
    static const char *const xla[] = {"cpu", "cuda", "gpu", "rocm", "tpu"};
    bool foreign = false, tpu = !strcmp(platform, "tpu"); /* which knows Eigh and Qr */
    for (size_t i = 0; i < BASE_COUNT(xla); i++) foreign |= !strcmp(platform, xla[i]);
    for (const ir_func *f = foreign ? m->funcs : NULL; f; f = f->next)
        for (const ir_op *op = f->body ? f->body->first : NULL; op; op = op->next) {
            const char *target = op->code == OP_custom_call ? ir_get_string(op, IR_A_call_target_name) : NULL;
            bool lapack = target && !strncmp(target, "lapack_", 7), eigh = target && !strcmp(target, "Eigh"),
                 qr = target && !strcmp(target, "Qr");
            if (!lapack && ((!eigh && !qr) || tpu)) continue;
            return status_new(
                XT_UNIMPLEMENTED, src_get(op->src),
                "%s is not known to the device %s (custom call @%s): run this on xtrain's CPU compiler (XT_DEVICE=CPU)",
                eigh                      ? "xt_linalg_eigh"
                : qr                      ? "xt_linalg_qr"
                : strstr(target, "gesdd") ? "xt_linalg_svd"
                                          : "a factorisation",
                platform, target);
        }
    return NULL;
}

/* Before ordinals are given out: what the pass adds carries the source of the op it stands for. */
static xt_status adapt_to_device(ir_module *m) {
    device_client *client;
    XT_TRY(lazy_device(&client));
    XT_TRY(lazy_refuse_factorisations(m, device_get_info(client)->platform));
    return device_sums_in_one_accumulator(client) ? pass_run(&(pass_ctx)PASS_CTX_INIT, pass_find("lower_sums"), m)
                                                  : NULL;
}

/* The program's text, or an artefact in its place where the device's StableHLO is older than ours. */
static xt_status for_device(const ir_module *m, const device_client *c, str *text) {
    str bytes = STR_INIT;
    const int64_t *version = device_text_version(c);
    if (!version[0]) return NULL;
    xt_status s = program_print(m, version, IR_PRINT_LOC_ORDINAL, &bytes);
    if (s) {
        str_free(&bytes);
        return s;
    }
    str_free(text);
    *text = bytes;
    return NULL;
}

static xt_status make(lazy_ctx *c, const lazy_roots *r, lazy_event *ev, lazy_program *p) {
    static __thread device_compile_phase phases[DEVICE_COMPILE_PHASES]; /* until the event has been told */
    ir_module *m = NULL;
    ir_value **leaves;
    size_t n_leaves;
    str text = STR_INIT;
    int64_t began = clock_ns();
    xt_status s = ir_extract(r->n, r->values, "step", is_leaf, NULL, &m, &leaves, &n_leaves);
    if (!s) s = pass_expand_chlo(m); /* before ops are counted: a device knows StableHLO only */
    if (!s) s = adapt_to_device(m);
    if (!s) s = describe_program(c, r, m, leaves, n_leaves, p);
    if (!s) {
        int64_t replicas = p->uses_collectives ? world_get()->size : 1;
        ir_module_set_attr(m, ir_attr_named_int("mhlo.num_partitions", XT_I32, p->partitioned ? lazy_partitions() : 1));
        ir_module_set_attr(m, ir_attr_named_int("mhlo.num_replicas", XT_I32, replicas));
        s = ir_print(m, IR_PRINT_LOC_ORDINAL, &text);
    }
    if (!s && text.failed) s = status_oom(text.len, "a program's text");
    ev->lower_ns = clock_ns() - began;
    counter_add(COUNTER_lower_ns, ev->lower_ns);
    device_client *client = NULL;
    if (!s) s = lazy_device(&client);
    if (!s && device_is_dry(client)) {
        p->n_outputs = r->n;
        s = lazy_rehearse_program(p, m, r, client);
        ev->source = LAZY_COMPILED;
    } else if (!s) {
        p->number = ++programs.made;
        dump(&text, p->number);
        p->n_outputs = r->n;
        s = for_device(m, client, &text);
        if (!s) s = build_exec(&text, ev, p);
    }
    if (!s) {
        device_exec_get_stats(p->exec, &p->stats);
        lazy_rank_check_compiled(p);
        ev->n_phases = device_exec_compile_phases(p->exec, phases);
        ev->phases = phases;
        counter_max(COUNTER_program_temp_bytes, p->stats.temp_bytes);
    }
    ir_module_free(m);
    str_free(&text);
    return s;
}

/* Under the lock: the caller gets a reference. */
static void use(lazy_program *p) {
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    p->last_used = ++programs.clock;
    p->uses++;
}

/* Under the lock. Retained; NULL: not in memory. */
static lazy_program *find(hash128 key) {
    lazy_program *p = programs.by_key ? map_get(programs.by_key, &key, sizeof key) : NULL;
    if (!p) return NULL;
    use(p);
    counter_add(COUNTER_memory_hits, 1);
    return p;
}

lazy_program *lazy_program_find(hash128 key) {
    pthread_mutex_lock(&programs.lock);
    lazy_program *p = find(key);
    pthread_mutex_unlock(&programs.lock);
    return p;
}

lazy_program *lazy_program_by_rank_key(const char *digits) {
    char hex[33];
    lazy_program *p = NULL;
    pthread_mutex_lock(&programs.lock);
    for (size_t i = 0; i < programs.n && !p; i++) {
        if (!programs.all[i]->n_rank_nodes) continue;
        hash_hex(programs.all[i]->rank_key, hex);
        if (strncmp(hex, digits, 8) == 0) use(p = programs.all[i]);
    }
    pthread_mutex_unlock(&programs.lock);
    return p;
}

/* Of a module that was built and freed within the step: whether a result reads its parameters. */
static xt_status none_is_needed(lazy_ctx *c, const lazy_roots *r) {
    XT_TRY(lazy_mark_reachable(c, r, NULL));
    for (size_t i = 0; i < c->n_leaves; i++)
        if (!c->leaves[i].buf && c->leaves[i].pack < 0 && c->b.block->args[i]->mark) return lazy_leaf_gone();
    return NULL;
}

/* A superset is known by its key alone, which no other thread has. */
xt_status lazy_program_seek(lazy_ctx *c, const lazy_roots *r, lazy_sought *out) {
    *out = (lazy_sought){.began_ns = clock_ns()};
    size_t gone;
    XT_TRY(lazy_fill_leaves(c, &gone));
    if (gone && r->known_as) XT_TRY(none_is_needed(c, r));
    if (r->known_as) out->program = lazy_program_find(out->key = r->known_as->key);
    if (!out->program) {
        hash128 key;
        XT_TRY(lazy_key(c, r, &key, &out->nodes, &out->n_nodes));
        if (!r->known_as) out->program = lazy_program_find(out->key = key);
    }
    out->hash_ns = clock_ns() - out->began_ns;
    counter_add(COUNTER_hash_ns, out->hash_ns);
    return NULL;
}

void lazy_sought_free(lazy_sought *w) {
    lazy_program_release(w->program);
    base_free(w->nodes);
    *w = (lazy_sought){0};
}

/* While a program is made its inputs are places of the trace; it serves other traces by their numbers. */
static xt_status number_inputs(const lazy_ctx *c, const lazy_numbered *numbered, lazy_program *p) {
    uint32_t *numbers = base_calloc(c->b.block->n_args + 1, sizeof *numbers);
    if (!numbers) return status_oom(c->b.block->n_args * sizeof *numbers, "a program");
    for (size_t i = 0; i < numbered->n; i++) numbers[numbered->places[i]] = (uint32_t)i;
    for (size_t i = 0; i < p->n_inputs; i++) p->inputs[i] = numbers[p->inputs[i]];
    base_free(numbers);
    return NULL;
}

/* Under the lock. Takes the nodes over. */
static xt_status make_new(lazy_ctx *c, const lazy_roots *r, lazy_sought *w, const lazy_flags *flags, lazy_event *ev,
                          lazy_program **out) {
    lazy_program *p = base_calloc(1, sizeof *p);
    if (!p) return status_oom(sizeof *p, "a program");
    atomic_init(&p->refs, 1);
    p->key = w->key;
    p->nodes = w->nodes;
    p->n_nodes = w->n_nodes;
    w->nodes = NULL;
    p->flags = *flags;
    p->src = ev->src;
    p->step = ev->step;
    p->forced = ev->forced;
    p->serves = r->known_as;
    p->debugs = ev->debugs;
    p->last_used = ++programs.clock; /* before it can be evicted as the oldest */
    xt_status s = make(c, r, ev, p);
    if (!s && r->numbered) s = number_inputs(c, r->numbered, p);
    if (!s) count_again(w->key, ev->source);
    if (!s && !remember(p)) s = status_oom(sizeof *p, "a program");
    if (s)
        lazy_program_release(p);
    else
        use(*out = p);
    return s;
}

/* For the report of a program that is not in memory. */
static xt_status tell_new(lazy_ctx *c, const lazy_roots *r, const lazy_sought *w, lazy_flags *flags, lazy_event *ev) {
    XT_TRY(lazy_describe_nodes(c, r, w->nodes, w->n_nodes, &flags->needless));
    ev->device_before = counter_get(COUNTER_device_bytes);
    ev->rss_before = base_rss();
    if (programs.evicted && map_get(programs.evicted, &w->key, sizeof w->key)) ev->why = LAZY_WHY_EVICTED;
    lazy_explain(flags, w->nodes, w->n_nodes, r, programs.all, programs.n, ev);
    return NULL;
}

xt_status lazy_program_get(lazy_ctx *c, const lazy_roots *r, lazy_sought *w, lazy_event *ev, lazy_program **out) {
    lazy_flags flags = c->used;
    flags.no_grad &= !flags.backward;
    ev->evaluation = flags.no_grad || flags.mode;
    ev->hash_ns = w->hash_ns;
    ev->key = w->key;
    ev->ops = w->n_nodes;
    ev->outputs = r->n;
    pthread_mutex_lock(&programs.lock);
    lazy_program *p = w->program ? w->program : find(w->key); /* another thread may have made it since */
    w->program = NULL;
    xt_status s = p ? NULL : tell_new(c, r, w, &flags, ev);
    if (!s && c->replay_log && c->replay_log->admit) s = c->replay_log->admit(c->replay_log, w->key, ev);
    if (!s && !p) s = make_new(c, r, w, &flags, ev, &p);
    if (!s) {
        ev->program = p->number;
        ev->inputs = p->n_inputs;
        ev->stats = p->stats;
    }
    if (!s && r->known_as) s = r->known_as->bind(c, r->known_as, p, ev->source != LAZY_FROM_MEMORY);
    pthread_mutex_unlock(&programs.lock);
    *out = p;
    return s;
}
