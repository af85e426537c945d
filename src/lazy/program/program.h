/* Programs: how a step's is known, made, kept and run; values on their way to the host. */
#ifndef XT_SRC_LAZY_PROGRAM_H
#define XT_SRC_LAZY_PROGRAM_H

#include "lazy/core/ctx.h"

/* --- programs (key.c, cache.c, cache_disk.c, explain.c) --- */
typedef struct lazy_node { /* what a report can say about one op of a known program */
    ir_opcode code;
    src_id src;
    uint32_t path;
    const ir_type *type;
    uint64_t hash; /* of attributes and structure */
    lazy_role role; /* of an argument */
    src_id kept; /* of an argument: where xt_keep was called for it; 0: nowhere */
    uint32_t which; /* of an argument: lazy_buf's, of a state its slot */
    int64_t since; /* of an argument that is a state of a module's: the step in which that was made */
    uint32_t text; /* interned: the op's attributes, or the argument's layout; filled in by lazy_describe_nodes */
    bool is_number; /* likewise: it brings in one of the step's numbers (scalar.c) */
    bool derived; /* likewise: lazy_note_derived was called for it */
    bool of_step; /* likewise: a state or gradient of the step needs it, and not only what is asked for or assigned */
} lazy_node;
/* Who is behind a program's ops and inputs, for messages. Counted: a step in flight may outlive its program. */
typedef struct lazy_origins {
    atomic_int refs;
    src_id *ordinals; /* loc("nK") -> source */
    uint32_t *ordinal_paths;
    size_t n_ordinals;
    lazy_live *inputs; /* as of the program's first run; zeros for scalars */
    size_t n_inputs;
} lazy_origins;
lazy_origins *lazy_origins_retain(lazy_origins *o);
void lazy_origins_release(lazy_origins *o);
typedef struct lazy_last_collective {
    ir_opcode code;
    src_id src;
} lazy_last_collective;

typedef struct lazy_program {
    atomic_int refs;
    hash128 key;
    device_exec *exec;
    size_t n_inputs;
    uint32_t *inputs; /* input k is argument number inputs[k]: of the trace, or as lazy_numbered says */
    bool *donates; /* input k is consumed */
    size_t n_outputs;
    lazy_requester *requesters; /* of the outputs, then those noted besides */
    size_t n_requesters;
    lazy_assigned *assigned; /* in the step it was made for */
    size_t n_assigned;
    lazy_node *nodes; /* the ops in order, arguments first (code OP_COUNT) */
    size_t n_nodes;
    lazy_origins *origins;
    int64_t number; /* of the compile, from 1 */
    int64_t last_used, uses;
    device_exec_stats stats;
    lazy_flags flags; /* that it was recorded with */
    src_id src; /* the boundary or read it was made for */
    int64_t step; /* in which it was made */
    bool uses_collectives;
    lazy_last_collective last_collective; /* for what other ranks are told */
    hash128 rank_key; /* of `rank_nodes`: what the ranks of a program with collectives agree on (rank_check.c) */
    lazy_node *rank_nodes;
    size_t n_rank_nodes, cap_rank_nodes;
    size_t rehearsed; /* its number in the rehearsal, from 1 */
    bool forced; /* of a read in the middle of a step */
    const struct lazy_known_as *serves; /* made for what is known as this; only its address means something */
    bool debugs; /* of what XT_DEBUG=eager or nan looks at */
    bool partitioned; /* runs on all devices of the mesh, each with its part */
} lazy_program;
/* A program that serves other steps than the one it was made for is known by a key of its maker's. */
typedef struct lazy_known_as {
    hash128 key;
    /* p is about to run for this step, `made`: was made for it; sets c->places */
    xt_status (*bind)(lazy_ctx *c, struct lazy_known_as *k, const lazy_program *p, bool made);
} lazy_known_as;
/* Arguments by numbers of a read's own, in the order in which a walk from its roots meets them (forced.c). */
typedef struct lazy_numbered {
    uint32_t *places; /* of number k in the trace; room for all of its arguments */
    size_t n; /* set by lazy_key */
} lazy_numbered;
typedef struct lazy_roots {
    size_t n, cap;
    ir_value **values;
    int32_t *alias_leaf; /* argument whose buffer the output may take over, or -1 */
    lazy_requester *requesters; /* of the outputs */
    const lazy_requester *also; /* who else wants something of this step: lazy_note_requester */
    size_t n_also;
    const lazy_assigned *assigned; /* in this step */
    size_t n_assigned;
    const struct lazy_layout **layouts; /* of the outputs; NULL: all whole */
    struct lazy_known_as *known_as; /* the program is known by this instead of by its ops; else NULL */
    lazy_numbered *numbered; /* NULL: an argument's number is its place in the trace */
} lazy_roots;

static inline uint32_t lazy_place(const lazy_ctx *c, const lazy_program *p, size_t k) {
    return c->places ? c->places[k] : c->numbered ? c->numbered[p->inputs[k]] : p->inputs[k];
}

/* rank_check.c: fills p->rank_key and p->rank_nodes from the ops of f, whose arguments stand for `leaves` and whose
 * results for the roots. */
xt_status lazy_rank_check_describe(const lazy_ctx *c, const ir_func *f, ir_value *const *leaves, const lazy_roots *r,
                                   lazy_program *p);
/* cache.c: what XLA's devices have no code for, by the user's line */
xt_status lazy_refuse_factorisations(const ir_module *m, const char *platform);
void lazy_rank_check_compiled(lazy_program *p); /* adds to p->rank_key what compiling told */

/* Marks what the roots reach; arguments by the order in which they are met, from 1. out_n_args: how many; may be NULL
 */
xt_status lazy_mark_reachable(lazy_ctx *c, const lazy_roots *r, size_t *out_n_args);
/* Marks what the roots reach, hashes it, and lists its nodes. `out_nodes` is base_malloc'ed. */
xt_status lazy_key(lazy_ctx *c, const lazy_roots *r, hash128 *out_key, lazy_node **out_nodes, size_t *out_n);
/* For steps that differ in what they are asked for: marks what `roots` reach with hashes of how it is made,
 * the same whatever else was recorded and in which order. Arguments count by the order in which a walk meets
 * them: out_numbers[i], from 1; 0 = not met; the first n_base roots meet *out_in_base of them, and all they
 * reach has LAZY_V_BASE until lazy_key_tree_done. Arguments that only the others read count by leaf_id
 * where that gives one. */
xt_status lazy_key_tree(lazy_ctx *c, size_t n_base, size_t n, ir_value *const *roots,
                        uint64_t (*leaf_id)(const lazy_ctx *c, uint32_t place), uint32_t *out_numbers,
                        uint32_t *out_in_base);
void lazy_key_tree_done(const lazy_ctx *c);
typedef struct lazy_sought { /* what memory knows of the program of a step */
    hash128 key;
    lazy_program *program; /* retained; NULL: not in memory */
    lazy_node *nodes; /* NULL of a superset that is in memory */
    size_t n_nodes;
    int64_t began_ns, hash_ns;
} lazy_sought;
/* Looks for the program of r and makes none. What it finds is freed by lazy_sought_free, or by who runs it. */
xt_status lazy_program_seek(lazy_ctx *c, const lazy_roots *r, lazy_sought *out);
void lazy_sought_free(lazy_sought *w);
/* The program sought for r, made where there is none; fills the parts of `ev` it knows. Retained for the caller. */
xt_status lazy_program_get(lazy_ctx *c, const lazy_roots *r, lazy_sought *w, lazy_event *ev, lazy_program **out);
void lazy_program_release(lazy_program *p);
void lazy_programs_clear(void);
/* After a miss: the texts of the nodes that lazy_key listed for r, and what they are for. *out_needless: lazy_flags's.
 */
xt_status lazy_describe_nodes(lazy_ctx *c, const lazy_roots *r, lazy_node *nodes, size_t n, src_id *out_needless);
/* Why the program of `nodes` with the outputs of r is new: sets why, reason, advice and expected of ev; texts are in
 * static-per-thread storage. */
void lazy_explain(const lazy_flags *now, const lazy_node *nodes, size_t n, const lazy_roots *r,
                  lazy_program *const *known, size_t n_known, lazy_event *ev);
xt_status lazy_disk_load(hash128 key, device_client *client, device_exec **out); /* NULL exec when not there */
void lazy_disk_store(hash128 key, device_exec *e);
/* Where XLA's GPU compiler keeps what it measured: a folder of the compile cache, made; base_free, NULL = no cache. */
char *lazy_tuning_folder(void);
const char *lazy_cache_damage(const char *data, size_t n, hash128 key); /* of a file's bytes; NULL = sound */
void lazy_cache_enforce_cap(const char *dir, int64_t added); /* cache_files.c: XT_CACHE_BYTES; a file was written */
/* cache_size.c: a file of so many bytes was written: what all files have together, -1 where nobody knows; and what they
 * have by a listing. */
int64_t lazy_cache_add(const char *dir, int64_t bytes);
void lazy_cache_counted(const char *dir, int64_t bytes);

/* rehearse.c: notes the program, and that it runs now with what else is alive. No-ops unless a rehearsal
 * is under way. */
xt_status lazy_rehearse_program(lazy_program *p, const ir_module *m, const lazy_roots *r, device_client *client);
void lazy_rehearse_run(const lazy_ctx *c, const lazy_program *p);

/* --- running (run.c) --- */
/* Executes the program that was sought for `r`; out[i] is yours for every root. Frees what was found. */
xt_status lazy_run_sought(lazy_ctx *c, const lazy_roots *r, lazy_sought *w, lazy_cause cause, bool forced,
                          const xt_src *src, device_buffer **out);
/* Seeks it and executes it. */
xt_status lazy_run(lazy_ctx *c, const lazy_roots *r, lazy_cause cause, bool forced, const xt_src *src,
                   device_buffer **out);
/* forced.c: for a read in the middle of a step, whose program is the same wherever in a step it stands */
xt_status lazy_run_forced(lazy_ctx *c, lazy_roots *r, lazy_cause cause, const xt_src *src, device_buffer **out);
/* Before the boundary of a step with such reads (c->was_read): what only they needed gets the last places, as numbers
 * and arguments. *out_moved: some did, and the roots'
 * alias_leaf is to be found anew. */
xt_status lazy_settle_reads(lazy_ctx *c, const lazy_roots *r, bool *out_moved);
void lazy_roots_free(lazy_roots *r);
void lazy_emit_event(const lazy_event *e);
xt_status lazy_take_async_error(void); /* of a program that failed after it was started */
/* waits for what is in flight and forgets its failures: consequences of one already taken */
void lazy_quiesce(void);

/* --- reader thread (reader.c) --- */
xt_status lazy_reader_add(lazy_buf *buf, const lazy_request *q); /* starts the transfer; fn runs in order of calls */
void lazy_reader_drain(void);
void lazy_reader_at_return(void (*fn)(const xt_src *asked)); /* on the reader thread, behind each function */
bool lazy_ran_together(void); /* the last program that lazy_run started in this thread has collectives */
xt_status lazy_execute(lazy_ctx *c, lazy_program *p, lazy_cause cause, bool forced, const xt_src *src,
                       device_buffer **in, bool *keep, device_buffer **out);
/* rank_check.c: before p runs, for a value that is read in the middle of a step or for the step; an error when other
 * ranks run something else in its place. Programs without collectives pass. */
xt_status lazy_rank_check(const lazy_ctx *c, const lazy_program *p, bool reads, const xt_src *src);
/* "sequence 5, program 1a2b3c4d" of the last programs with collectives; "" before the first */
const char *lazy_rank_check_last(void);
int64_t lazy_rank_check_started(void); /* programs with collectives, by this rank; INT64_MAX: one more is on its way */
lazy_program *lazy_program_find(hash128 key); /* retained; NULL when it was evicted */
lazy_program *
lazy_program_by_rank_key(const char *digits); /* whose rank_key begins with these 8 digits; retained, or NULL */

#endif
