/* The rank check. Ranks meet in the collectives of their programs: one that runs another program would wait for ever,
 * or get data that is not meant for it. So before a program with collectives runs for the first time, all ranks compare
 * what it computes for them; a difference is an error that shows the first op that differs, with the line of either
 * rank.
 *
 * What is compared (lazy_rank_check_describe): the ops that the collectives depend on, with how they are connected, and
 * of the collectives themselves types and attributes. Free to differ are what a rank computes, keeps or reads for
 * itself, shapes on the way to a collective (ranks may have sequences of other lengths), and numbers: whatever is made
 * of constants alone. With a mesh the compiler makes the collectives, and tensors are those of the whole run: there all
 * that the step's updates depend on is compared (without updates: all results), types and all, and how many bytes the
 * compiler's collectives have. So a rank may still read for itself what costs no collective. That ranks run the same
 * programs in another order shows where they meet (coll_set_tag).
 *
 * Invariants
 *  1. Programs with collectives are counted by each rank; ranks that are alike meet in program number k of all. The
 *     count is in the rank's note.
 *  2. What has been agreed on once is not compared again, so a rank compares only where all others do, or where they
 *     went another way, which their notes show: nobody waits for a rank that runs something else.
 *  3. A read in the middle of a step has the step's collectives, and would meet those of a rank that does not read but
 *     ends the step. So reads and steps are told apart, and each program's number is looked up in the others' notes:
 *     all ranks read, or none. */
#include "coll/coll.h"
#include "lazy/core/layout.h"
#include "lazy/program/program.h"

/* --- what is compared --- */
typedef struct walk {
    const lazy_ctx *c;
    lazy_program *p;
    uint64_t next;
    hash128 h;
    bool typed; /* types and attributes of all ops count */
    bool failed;
} walk;

enum { NUMBER = 1, WANTED = 2, FIRST_VALUE = 16 }; /* marks of values */

static bool is_collective(const ir_op *op) {
    return ir_op_infos[op->code].cls == IR_CLASS_COLLECTIVE;
}

static bool all_numbers(const ir_op *op) {
    for (uint32_t i = 0; i < op->n_in; i++)
        if (op->in[i]->mark != NUMBER) return false;
    return !is_collective(op) && op->n_regions == 0;
}

static hash128 hash_attrs(const ir_op *op, hash128 h) {
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        const ir_attr *a = &op->attrs[i];
        if (a->key == IR_A_none) continue;
        if (a->kind == IR_AK_INTS)
            h = hash_bytes(a->v.ints, a->n * sizeof *a->v.ints, hash_mix(h, (hash128){a->key, a->n}));
        if (a->kind == IR_AK_INT) h = hash_mix(h, (hash128){a->key, (uint64_t)a->v.i});
    }
    return h;
}

static hash128 hash_codes(const ir_block *b, hash128 h) {
    for (const ir_op *op = b->first; op; op = op->next) {
        h = hash_mix(h, (hash128){op->code, op->n_in});
        for (uint32_t r = 0; r < op->n_regions; r++)
            if (op->regions[r].block) h = hash_codes(op->regions[r].block, h);
    }
    return h;
}

static void describe_op(walk *w, ir_op *op) {
    hash128 h = {op->code, op->n_in};
    bool typed = w->typed || is_collective(op);
    for (uint32_t i = 0; i < op->n_in; i++) {
        ir_value *v = op->in[i];
        /* an argument, by its first use */
        if (!v->def && v->mark < FIRST_VALUE && v->mark != NUMBER) v->mark = w->next++;
        h = hash_mix(h, (hash128){v->mark, 3});
        if (typed && v->type->kind == IR_TENSOR)
            h = hash_bytes(v->type->dims, v->type->rank * sizeof *v->type->dims,
                           hash_mix(h, (hash128){v->type->dtype, v->type->rank}));
    }
    for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = w->next++;
    if (typed) h = hash_attrs(op, h);
    for (uint32_t r = 0; r < op->n_regions; r++)
        if (op->regions[r].block) h = hash_codes(op->regions[r].block, h);
    lazy_node node = {op->code, op->src, op->path, op->n_out ? op->out[0].type : NULL, h.lo, LAZY_ACTIVATION, 0, 0, 0};
    if (!VEC_PUSH(w->p->rank_nodes, w->p->n_rank_nodes, w->p->cap_rank_nodes, node)) w->failed = true;
    w->h = hash_mix(w->h, h);
}

/* Marks what is made of constants alone, NUMBER, and everything else as not yet described. */
static void mark_numbers(const lazy_ctx *c, const ir_func *f, ir_value *const *leaves) {
    for (size_t i = 0; i < f->body->n_args; i++)
        f->body->args[i]->mark = c->leaves[leaves[i]->index].pack >= 0 ? NUMBER : 0;
    for (ir_op *op = f->body->first; op; op = op->next) {
        uint64_t mark = all_numbers(op) ? NUMBER : 0;
        for (uint32_t i = 0; i < op->n_out; i++) op->out[i].mark = mark;
    }
}

/* What the results depend on that update a state, or that do not. Gives how many there are. */
static size_t want_results(const ir_func *f, const lazy_roots *r, bool updates) {
    const ir_op *ret = f->body->last;
    size_t n = 0;
    for (uint32_t j = 0; j < ret->n_in && j < r->n; j++) {
        if ((r->alias_leaf[j] >= 0) != updates) continue;
        n++;
        if (ret->in[j]->def && ret->in[j]->mark == 0) ret->in[j]->mark = WANTED;
    }
    return n;
}

/* The ops that lead to what is WANTED, or to collectives. */
static void describe_wanted(walk *w, const ir_func *f, bool to_collectives) {
    for (ir_op *op = f->body->last; op; op = op->prev) {
        bool wanted = to_collectives && is_collective(op);
        for (uint32_t i = 0; i < op->n_out; i++) wanted |= op->out[i].mark == WANTED;
        if (!wanted || !op->n_out || op->out[0].mark == NUMBER) continue;
        op->out[0].mark = WANTED;
        for (uint32_t i = 0; i < op->n_in; i++)
            if (op->in[i]->def && op->in[i]->mark == 0) op->in[i]->mark = WANTED;
    }
    for (ir_op *op = f->body->first; op; op = op->next)
        if (op->n_out && op->out[0].mark == WANTED) describe_op(w, op);
}

xt_status lazy_rank_check_describe(const lazy_ctx *c, const ir_func *f, ir_value *const *leaves, const lazy_roots *r,
                                   lazy_program *p) {
    walk w = {.c = c, .p = p, .next = FIRST_VALUE, .h = {0x6d656574, 1}, .typed = p->partitioned};
    mark_numbers(c, f, leaves);
    size_t updates = p->partitioned ? want_results(f, r, true) : 0;
    if (p->partitioned && updates == 0) want_results(f, r, false);
    describe_wanted(&w, f, !p->partitioned);
    p->rank_key = w.h;
    if (updates > 0) { /* shown, should the compiler's collectives differ by them */
        want_results(f, r, false);
        describe_wanted(&w, f, false);
    }
    return w.failed ? status_oom(p->cap_rank_nodes * sizeof *p->rank_nodes, "a program") : NULL;
}

void lazy_rank_check_compiled(lazy_program *p) {
    if (p->partitioned)
        p->rank_key = hash_bytes(&p->stats.collective_bytes, sizeof p->stats.collective_bytes, p->rank_key);
}

static bool has_collectives(const lazy_program *p) {
    return p->uses_collectives || (p->partitioned && p->stats.collective_bytes != 0);
}

/* --- comparing --- */
/* ops whose looks are sent to other ranks: they fit one value of the store */
enum { MOST_COMPARED = 4000, SLICE_MS = 100 };
#define READS " of a value read" /* in a rank's note */
#define A_FILE "a file (xt_save or the like)"
#define BEHIND ", behind " /* in front of the file that ended the step before */
typedef struct look { /* of an op: what it computes, and what a message says of it */
    uint64_t hash, text;
} look;
typedef struct said { /* by each rank, before it runs something new */
    hash128 rank_key;
    uint64_t ops;
    int64_t step;
    uint64_t reads;
} said;

static struct {
    pthread_mutex_t lock;
    hash128 *agreed;
    size_t n, cap;
    int64_t questions; /* how often ranks have compared */
    int64_t started; /* programs with collectives started */
} ranks = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* the executions with collectives before, newest first, for ranks that come later: a rank may be three programs ahead
 */
static __thread char noted_last[120];

const char *lazy_rank_check_last(void) {
    return noted_last;
}

static size_t key_of(char *out, size_t n, const char *what, int rank) {
    return (size_t)snprintf(out, n, "meet/%lld/%s/%d", (long long)ranks.questions, what, rank);
}

static xt_status tell(coll_group *g, const char *what, const void *value, size_t n) {
    char key[64];
    size_t k = key_of(key, sizeof key, what, coll_rank(g));
    return coll_put(g, key, k, value, n);
}

static xt_status hear(coll_group *g, const char *what, int rank, int ms, char **out, size_t *n) {
    char key[64];
    size_t k = key_of(key, sizeof key, what, rank);
    return coll_get(g, key, k, ms, out, n);
}

static void describe_node(str *out, const lazy_program *p, size_t i) {
    char at[256];
    if (i >= p->n_rank_nodes) {
        str_append(out, "nothing more");
        return;
    }
    const lazy_node *n = &p->rank_nodes[i];
    str_printf(out, "%s ", ir_op_infos[n->code].name);
    if (n->type) ir_type_print(n->type, out);
    str_printf(out, " at %s", src_text(n->src, at, sizeof at));
    if (n->path) str_printf(out, " (%s)", intern_text(n->path));
}

/* Behind what the step being recorded began: a rank that ends steps where others do not has other programs. */
static void describe_begin(str *out, const lazy_ctx *c) {
    char at[256];
    const char *by = c->begun.cause == LAZY_CHECKPOINT ? A_FILE : c->begun.name;
    if (c->begun.at)
        str_printf(out, "%s at %s", by, src_text(c->begun.at, at, sizeof at));
    else
        str_append(out, "nothing");
}

static void say_begins(str *out, int a, int b, const char *of_a, const char *of_b) {
    if (strcmp(of_a, of_b) == 0) return;
    str_printf(out, "; the step of rank %d begins behind %s, that of rank %d behind %s", a, of_a, b, of_b);
    if (strncmp(of_a, A_FILE, sizeof A_FILE - 1) == 0 || strncmp(of_b, A_FILE, sizeof A_FILE - 1) == 0)
        str_append(out, ": one rank alone writes files between two steps, not within one");
}

static look look_of(const lazy_program *p, size_t i) {
    str text = STR_INIT;
    describe_node(&text, p, i);
    look l = {i < p->n_rank_nodes ? p->rank_nodes[i].hash : 0,
              hash_bytes(str_cstr(&text), strlen(str_cstr(&text)), (hash128){1, 1}).lo};
    str_free(&text);
    return l;
}

/* The first place where two programs differ; from there on the first that looks different to a reader, if there is one:
 * the same op on other operands says little. */
static size_t first_other(const look *a, size_t n_a, const look *b, size_t n_b) {
    size_t n = n_a < n_b ? n_a : n_b, i = 0;
    while (i < n && a[i].hash == b[i].hash) i++;
    size_t k = i;
    while (k < n && a[k].text == b[k].text) k++;
    return k < n || n_a != n_b ? k : i;
}

/* Of the first ops of p; base_free. */
static look *looks_of(const lazy_program *p, size_t *out_n) {
    *out_n = p->n_rank_nodes < MOST_COMPARED ? p->n_rank_nodes : MOST_COMPARED;
    look *l = base_calloc(*out_n + 1, sizeof *l);
    for (size_t i = 0; l && i < *out_n; i++) l[i] = look_of(p, i);
    return l;
}

/* Which program ran, or is about to run, in execution `number`, as the note of rank r says: its first 8 digits. */
static bool went_another_way(int r, int64_t number, const char *mine, char out[9], char *note, size_t n) {
    char want[48];
    if (!coll_run_last_note(r, note, n)) return false;
    snprintf(want, sizeof want, "sequence %lld, program ", (long long)number);
    const char *p = strstr(note, want);
    if (!p || strlen(p + strlen(want)) < 8 || strncmp(p + strlen(want), mine, 8) == 0) return false;
    snprintf(out, 9, "%.8s", p + strlen(want));
    return true;
}

int64_t lazy_rank_check_started(void) {
    if (pthread_mutex_trylock(&ranks.lock) != 0) return INT64_MAX; /* one is being started */
    int64_t started = ranks.started;
    pthread_mutex_unlock(&ranks.lock);
    return started;
}

/* A rank reads what the ranks compute together, and another one does not. */
static xt_status reads_alone(const lazy_ctx *c, const lazy_program *p, int reader, int other, const char *more) {
    char at[256];
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "rank %d reads a value in the middle of step %lld, and rank %d does not%s. The value depends on "
                      "what the ranks compute together in that step (%s at %s): all ranks must read it, or none before "
                      "the step has ended, as by xt_mark_step() behind xt_optimizer_step (XT_RANK_GUARD=warn goes on) "
                      "[XT302]",
                      reader, (long long)lazy_shown_step(c->step), other, more,
                      ir_op_infos[p->last_collective.code].name, src_text(p->last_collective.src, at, sizeof at));
}

static xt_status differ(const lazy_ctx *c, int a, int b, const char *of_a, const char *of_b, const char *more) {
    return status_new(XT_FAILED_PRECONDITION, NULL,
                      "rank %d runs another program in step %lld than rank %d, so their collectives cannot meet; first "
                      "difference: rank %d has %s, rank %d has %s%s. All ranks must record the same "
                      "ops for what they compute together; %s (XT_RANK_GUARD=warn goes on) [XT302]",
                      b, (long long)lazy_shown_step(c->step), a, a, of_a, b, of_b, more,
                      lazy_spmd() ? "with a mesh they end the same steps and read the same values (xt_item, xt_read, "
                                    "xt_save) in the same order"
                                  : "only what a rank keeps or reads for itself may differ");
}

/* Rank r is in a program that we know, where we have a new one: both graphs are here. */
static xt_status differs_from_known(const lazy_ctx *c, const lazy_program *p, bool reads, int r, const char *known,
                                    const char *note) {
    int me = world_get()->rank;
    const char *tail = strstr(note, " (");
    int place = (int)(tail ? tail - note : 120);
    bool they_read = strstr(note, READS) != NULL;
    if (!p->partitioned && reads != they_read) {
        char more[160];
        snprintf(more, sizeof more, ": rank %d is at %.*s", r, place < 120 ? place : 120, note);
        return reads ? reads_alone(c, p, me, r, more) : reads_alone(c, p, r, me, more);
    }
    str mine = STR_INIT, theirs = STR_INIT, more = STR_INIT;
    lazy_program *q = lazy_program_by_rank_key(known);
    size_t n = 0, n_other = 0, i = 0;
    look *a = looks_of(p, &n), *b = q ? looks_of(q, &n_other) : NULL;
    if (a && b) i = first_other(a, n, b, n_other);
    describe_node(&mine, p, i);
    if (q)
        describe_node(&theirs, q, i);
    else
        str_printf(&theirs, "program %s", known);
    const char *behind = strstr(note, BEHIND);
    if (behind || c->begun.cause == LAZY_CHECKPOINT) {
        str own = STR_INIT, other = STR_INIT;
        const char *begin = behind ? behind + strlen(BEHIND) : "another end";
        str_appendn(&other, begin, strcspn(begin, ","));
        describe_begin(&own, c);
        say_begins(&more, me, r, str_cstr(&own), str_cstr(&other));
        str_free(&own);
        str_free(&other);
    }
    str_printf(&more, "; rank %d is at %.*s", r, place, note);
    xt_status s = me < r ? differ(c, me, r, str_cstr(&mine), str_cstr(&theirs), str_cstr(&more))
                         : differ(c, r, me, str_cstr(&theirs), str_cstr(&mine), str_cstr(&more));
    lazy_program_release(q);
    base_free(a);
    base_free(b);
    str_free(&mine);
    str_free(&theirs);
    str_free(&more);
    return s;
}

/* Waits for what rank r says, as long as it may still come here. */
static xt_status wait_for(const lazy_ctx *c, coll_group *g, const lazy_program *p, bool reads, int r, const char *mine,
                          said *out) {
    int64_t deadline = clock_ns() + (int64_t)(coll_default_timeout() * 1e9);
    for (;;) {
        char *data = NULL, known[9], note[400] = "";
        size_t n = 0;
        xt_status s = hear(g, "said", r, SLICE_MS, &data, &n);
        if (!s && n == sizeof *out) memcpy(out, data, n);
        base_free(data);
        if (!s) return NULL;
        bool late = status_code(s) == XT_DEADLINE_EXCEEDED || status_code(s) == XT_NOT_FOUND;
        if (late && went_another_way(r, ranks.started, mine, known, note, sizeof note)) {
            xt_status_free(s);
            return differs_from_known(c, p, reads, r, known, note);
        }
        if (!late || clock_ns() >= deadline) {
            char at[256];
            coll_run_last_note(r, note, sizeof note);
            str of = STR_INIT;
            if (p->partitioned)
                str_append(&of, "a program of the mesh");
            else
                str_printf(&of, "a program with collectives (last %s at %s)", ir_op_infos[p->last_collective.code].name,
                           src_text(p->last_collective.src, at, sizeof at));
            s = status_context(s,
                               "before %s ran for the first time, rank %d waited for rank %d%s%s; rank %d did not "
                               "come, or runs another program",
                               str_cstr(&of), coll_rank(g), r, *note ? ", last seen at " : "", note, r);
            str_free(&of);
            return s;
        }
        xt_status_free(s);
    }
}

/* Rank 0 and rank `other` tell all what they have at the first place where they differ. */
static xt_status explain(const lazy_ctx *c, coll_group *g, const lazy_program *p, int other) {
    int two[2] = {0, other}, me = coll_rank(g);
    int limit = (int)(coll_default_timeout() * 1e3);
    char *looks[2] = {NULL, NULL}, *text[2] = {NULL, NULL}, *begin[2] = {NULL, NULL};
    size_t n[2] = {0, 0}, bytes;
    xt_status s = NULL;
    if (me == 0 || me == other) {
        size_t count;
        look *own = looks_of(p, &count);
        if (!own) return status_oom(count * sizeof *own, "comparing ranks");
        s = tell(g, "looks", own, count * sizeof *own);
        base_free(own);
        for (int k = 0; k < 2 && !s; k++) s = hear(g, "looks", two[k], limit, &looks[k], &n[k]);
        size_t i = s ? 0
                     : first_other((const look *)(void *)looks[0], n[0] / sizeof *own, (const look *)(void *)looks[1],
                                   n[1] / sizeof *own);
        str mine = STR_INIT;
        describe_node(&mine, p, i);
        if (!s) s = tell(g, "text", str_cstr(&mine), strlen(str_cstr(&mine)) + 1);
        str_clear(&mine);
        describe_begin(&mine, c);
        if (!s) s = tell(g, "begin", str_cstr(&mine), strlen(str_cstr(&mine)) + 1);
        str_free(&mine);
    }
    for (int k = 0; k < 2 && !s; k++) s = hear(g, "text", two[k], limit, &text[k], &bytes);
    for (int k = 0; k < 2 && !s; k++) s = hear(g, "begin", two[k], limit, &begin[k], &bytes);
    str more = STR_INIT;
    if (!s) say_begins(&more, 0, other, begin[0], begin[1]);
    if (!s) s = differ(c, 0, other, text[0], text[1], str_cstr(&more));
    str_free(&more);
    for (int k = 0; k < 2; k++) {
        base_free(looks[k]);
        base_free(text[k]);
        base_free(begin[k]);
    }
    return s;
}

static xt_status compare(const lazy_ctx *c, const lazy_program *p, hash128 what, bool reads) {
    coll_group *g;
    char mine[33];
    XT_TRY(coll_run_group(&g));
    hash_hex(what, mine);
    said own = {what, p->n_rank_nodes, c->step, reads}, *all = base_calloc((size_t)coll_size(g), sizeof *all);
    if (!all) return status_oom((size_t)coll_size(g) * sizeof *all, "comparing ranks");
    xt_status s = tell(g, "said", &own, sizeof own);
    for (int r = 0; r < coll_size(g) && !s; r++) s = wait_for(c, g, p, reads, r, mine, &all[r]);
    for (int r = 1; r < coll_size(g) && !s; r++)
        if (!p->partitioned && all[r].reads != all[0].reads)
            s = all[0].reads ? reads_alone(c, p, 0, r, "") : reads_alone(c, p, r, 0, "");
        else if (!hash_equal(all[r].rank_key, all[0].rank_key))
            s = explain(c, g, p, r);
    ranks.questions++;
    base_free(all);
    return s;
}

static bool is_agreed(hash128 h) {
    for (size_t i = ranks.n; i-- > 0;)
        if (hash_equal(ranks.agreed[i], h)) return true;
    return false;
}

static bool digits_are_agreed(const char *digits) {
    char hex[33];
    for (size_t i = ranks.n; i-- > 0;) {
        hash_hex(ranks.agreed[i], hex);
        if (strncmp(hex, digits, 8) == 0) return true;
    }
    return false;
}

/* Ranks that have come to this program's number already, with another one that has been agreed on too (a rank with a
 * new one compares, and tells more). Of two ranks the later one sees it. */
static xt_status meet(const lazy_ctx *c, const lazy_program *p, hash128 what, bool reads) {
    char mine[33], known[9], note[400];
    const world *w = world_get();
    hash_hex(what, mine);
    atomic_thread_fence(memory_order_seq_cst); /* our note is written, and then theirs are read */
    for (int r = 0; r < w->size; r++)
        if (r != w->rank && went_another_way(r, ranks.started, mine, known, note, sizeof note) &&
            digits_are_agreed(known))
            return differs_from_known(c, p, reads, r, known, note);
    return NULL;
}

static void note(const lazy_ctx *c, const lazy_program *p, hash128 what, bool reads, const xt_src *src) {
    char key[33], mine[64], at_op[100], text[900];
    str begin = STR_INIT;
    hash_hex(what, key);
    if (c->begun.cause == LAZY_CHECKPOINT) { /* which one rank may have come to alone */
        str_append(&begin, BEHIND);
        describe_begin(&begin, c);
    }
    const char *op = p->partitioned ? "the mesh's" : ir_op_infos[p->last_collective.code].name;
    snprintf(mine, sizeof mine, "sequence %lld, program %.8s", (long long)ranks.started, key);
    snprintf(text, sizeof text, "%.100s:%d (collectives%s, step %lld, %s%.170s, last %s at %.60s, %d in flight%s%s)",
             src ? src->file : "?", src ? src->line : 0, reads ? READS : "", (long long)lazy_shown_step(c->step), mine,
             str_cstr(&begin), op, src_text(p->last_collective.src, at_op, sizeof at_op), lazy_in_flight(),
             *noted_last ? ", after " : "", noted_last);
    coll_run_note(text);
    str_free(&begin);
    char older[sizeof noted_last];
    memcpy(older, noted_last, sizeof older);
    snprintf(noted_last, sizeof noted_last, "%.50s%s%.60s", mine, *older ? ", " : "", older);
}

xt_status lazy_rank_check(const lazy_ctx *c, const lazy_program *p, bool reads, const xt_src *src) {
    const hash128 read = {0x72656164, 1};
    if (world_get()->size < 2 || !has_collectives(p)) return NULL;
    const char *how = env_get("XT_RANK_GUARD");
    hash128 what = reads && !p->partitioned ? hash_mix(p->rank_key, read) : p->rank_key;
    pthread_mutex_lock(&ranks.lock);
    ranks.started++;
    note(c, p, what, reads, src);
    xt_status s = NULL;
    if (!(how && strcmp(how, "off") == 0)) {
        bool agreed = is_agreed(what);
        s = agreed ? meet(c, p, what, reads) : compare(c, p, what, reads);
        if (s && status_code(s) == XT_FAILED_PRECONDITION && how && strcmp(how, "warn") == 0) {
            log_msg(XT_SEV_WARNING, "%s", status_message(s));
            xt_status_free(s);
            s = NULL;
        }
        if (!s && !agreed && !VEC_PUSH(ranks.agreed, ranks.n, ranks.cap, what))
            s = status_oom(sizeof what, "comparing ranks");
    }
    pthread_mutex_unlock(&ranks.lock);
    return s;
}
