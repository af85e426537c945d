/* Inside the modules: a root owns one flat list of named tensors; children are views with a prefix.
 * Invariants: a name stands once in the list; creation order is the order of the first forward pass. */
#ifndef XT_SRC_NN_H
#define XT_SRC_NN_H

#include <xtrain/module.h>

#include "ir/interp.h"
#include "lazy/lazy.h"

typedef struct nn_entry {
    char *name; /* full: "h.3.attn.c_attn.weight" */
    xt_tensor t; /* a state; none while only the shape is known (building without data) */
    const ir_type *type;
    bool is_param;
    bool waits; /* a checkpoint has it, and no layer has asked for it yet */
    bool anew; /* it waits, and a later checkpoint has none: it begins as its layer says */
    /* of all blocks of an xt_pipeline: dim 0 counts them, and rules are about the others; so much of its name is their
     * module. 0: of none */
    size_t stacked;
    int bits; /* of the integers that stand for a weight (integers.c); 0: it is itself */
    src_id src; /* the call that made it */
} nn_entry;
/* xt_train and xt_eval on a child are about it and its children; the root's end what was said of children. */
typedef enum nn_mode { NN_AS_PARENT, NN_TRAINING, NN_EVALUATING } nn_mode;
/* What a module was when nn_mode_begin or xt_eval_begin set another mode, until that ends (mode.c). */
typedef struct nn_kept_mode {
    xt_module *m;
    nn_mode mode;
    src_id said;
    bool begun; /* with this one; else it is below it, and has a mode of its own */
} nn_kept_mode;
typedef struct nn_root {
    bool by_mode; /* a layer of it has computed what depends on the mode */
    nn_entry *entries;
    size_t n, cap, n_waiting;
    map *by_name; /* name -> index + 1 */
    map *called; /* layer name -> src_id of its call in this pass, + 1 */
    int64_t called_step, called_sweeps; /* where layers are called without xt_forward: what names in `called` are of */
    map *shared; /* patterns xt_share was called for */
    map *fused; /* batch norms that are a part of the layer before them (xt_fuse_conv_bn); NULL: none */
    map *loaded; /* name -> nn_loaded: values read before the tensors exist */
    const char *loaded_path; /* of the newest file; kept for good. NULL: none */
    int loaded_files; /* that values wait of, or have been taken of */
    map *gradients; /* nn_loaded by name: of parameters that do not exist yet; NULL: none */
    bool loaded_all; /* every tensor must come from one of them, until the first pass has ended */
    bool loaded_whole; /* the same until nn_loaded_passed: of a pass with the weights of a checkpoint */
    bool resumed, told_lacking; /* a fit goes on from loaded_path: a tensor that it lacks is told, once */
    bool loaded_own; /* that file is a fit's own */
    bool loaded_adapts; /* a file that values wait of has matrices of LoRA's: it must have all of them */
    bool loaded_told; /* what nobody took of it */
    int loaded_updates; /* since then, until that */
    struct nn_wish *wishes;
    size_t n_wishes, cap_wishes, checked_wishes; /* checked: a pass has shown whether a parameter fits */
    bool first_update; /* an average as xt_ema has made it: its next update is a copy */
    int depth; /* forward passes running, one inside the other */
    xt_module *module;
    xt_dtype param_dtype; /* of f32 parameters made from here on; XT_DTYPE_NONE: f32 */
    bool building; /* xt_module_build is tracing: statistics stay */
    uint64_t number; /* no other root of the process has it */
    nn_kept_mode *kept_modes; /* a stack */
    size_t n_kept_modes, cap_kept_modes;
    struct nn_shard_rule *rules; /* of xt_shard_params, in order */
    size_t n_rules, cap_rules;
    uint32_t fsdp_axes; /* interned list; 0: parameters are divided by rules only */
    /* over which optimizer state is divided where its parameter is not; 0: state lies as parameters do */
    uint32_t zero_axes;
    uint32_t context_axes; /* over which attention divides positions; 0: over none */
    uint32_t expert_axes; /* over which xt_moe divides experts; 0: over none */
    xt_tensor balance; /* of the last pass, which was in step balance_step: xt_moe_balance */
    int64_t balance_step;
    uint32_t stage_axes; /* over which xt_pipeline divides its blocks; 0: over none */
    struct nn_stack *stack; /* while the block of an xt_pipeline is recorded (pipeline.c) */
    size_t stacking; /* a parameter of all its blocks is being made: so much of its name is their module */
} nn_root;
struct xt_module {
    nn_root *root;
    xt_module *parent, *children, *next;
    char *path; /* "" for the root */
    char *key; /* "h.3" in its parent */
    xt_module_fn fn; /* of a root: this, or the next one */
    xt_module_many_fn many;
    int n_in, n_out; /* of `many` */
    void *user;
    nn_mode mode; /* of a root never NN_AS_PARENT */
    bool sync_norms; /* batch norms of it and below take the statistics of all ranks */
    src_id mode_said; /* where, unless it is NN_AS_PARENT or as at birth */
    uint64_t number; /* its root's, or, where its mode is its own, one that no other module or root has */
};
/* Is a tensor of that full name of m or of a child below it? */
bool nn_below(const xt_module *m, const char *name);

typedef struct nn_loaded {
    const ir_type *type;
    void *data; /* NULL: it is still in the file */
    struct st_file *file; /* retained */
    const struct st_entry *entry;
    bool turned; /* the file has the matrix the other way round */
    const char *path; /* of the file; kept for good. NULL: of none */
    xt_tensor t; /* the value is in this state (nn_waiting); none: it is in memory or in the file */
} nn_loaded;
/* stored.c: values of files. A large one stays there until it is used (nn_stays_stored). */
bool nn_stays_stored(const struct st_entry *e);
xt_status nn_loaded_fetch(nn_loaded *l); /* brings it into memory, if it is not */
xt_status nn_loaded_copy(nn_loaded *l, char **out); /* base_free(*out); what is in the file stays there */
xt_status nn_stored_source(const nn_loaded *l, lazy_source *out); /* for a tensor of any type it converts to */
void nn_loaded_free(void *loaded);

/* How a tensor begins. The values come from Philox under the run's seed with the name's hash as stream: independent of
 * creation order, rank count and device. */
typedef enum nn_init {
    NN_ZEROS,
    NN_ONES,
    NN_UNIFORM,
    NN_NORMAL,
    NN_CONSTANT,
    NN_EMBEDDING,
    NN_TRUNCATED,
    NN_ORTHOGONAL,
    NN_ORTHOGONAL_EACH, /* of the last two dims; NN_ORTHOGONAL: of the first and all others */
    NN_EYE,
    NN_DIRAC,
    NN_SPARSE
} nn_init;
/* a: half the width of a uniform, the deviation of a normal (or of a sparse matrix's numbers), the constant, an
 * orthogonal matrix's gain, a Dirac kernel's groups; of an embedding, which is N(0,1), the row that is zeros (negative:
 * none). low: of a sparse matrix, the share of zeros. */
typedef struct nn_recipe {
    nn_init kind;
    double a, mean, low, high; /* low, high: of a truncated normal */
} nn_recipe;
/* The bytes a tensor begins with (base_free); NULL: zeros. */
xt_status nn_first_value(const char *name, const nn_recipe *r, const ir_type *type, void **out);
/* The same as a source, for a tensor that may get a value from elsewhere before it is used. under: 0, or of a stack how
 * much of the name its module is: layer i begins as "h.i.fc.weight" would. */
xt_status nn_draw_source(const char *name, size_t under, const nn_recipe *r, lazy_source *out);
/* "h.3.fc.weight" of "h.fc.weight"; false: it is longer than n */
bool nn_layer_name(const char *name, size_t under, int64_t layer, char *out, size_t n);

/* What the user said of parameters by pattern, kept for those that come later. */
typedef struct nn_wish {
    char *pattern; /* on full names */
    src_id src;
    /* of a checkpoint, whose fit has said it, or of another wish: that no name fits is no mistake of the program's */
    bool again;
    enum {
        NN_WISH_INIT,
        NN_WISH_FREEZE,
        NN_WISH_THAW,
        NN_WISH_WEIGHT_NORM,
        NN_WISH_SPECTRAL_NORM,
        NN_WISH_ORTHOGONAL,
        NN_WISH_LORA
    } what;
    xt_init_kind kind;
    xt_init_opts opts;
    xt_spectral_norm_opts spectral;
    xt_orthogonal_opts orthogonal;
    xt_lora_opts lora;
} nn_wish;
bool nn_is_frozen(const struct xt_module *m, const char *name); /* by xt_freeze; name: the full one */
xt_status nn_wished(const struct nn_root *r, const char *name, const ir_type *type, nn_recipe *recipe, bool *frozen);
void nn_wishes_free(struct nn_root *r);
void nn_wishes_check(struct nn_root *r); /* after a pass: says which fit no parameter */
bool nn_keep_wish(struct nn_root *r, const nn_wish *w); /* copies it; false without memory, which is reported */
bool nn_keep_wish_first(struct nn_root *r, const nn_wish *w); /* the same, as if it had been said before all others */
uint64_t nn_next_numbers(uint64_t n); /* the first of n that no module or root has */
/* m and all below it are in this mode until nn_mode_end, which gives each of them back the mode it had: what the user
 * has said of children outlasts a validation. These nest. NULL does nothing. */
void nn_mode_begin(const xt_src *src, xt_module *m, nn_mode mode);
void nn_mode_end(const xt_src *src, xt_module *m);
void nn_modes_free(xt_module *root);
/* The mode that was said of m itself, whatever a pass that is under way has set for a while; and to say it. */
nn_mode nn_own_mode(const xt_module *m);
void nn_set_own_mode(xt_module *m, nn_mode mode);
/* mark.c: what is frozen, and which modules have which mode of their own, at a moment. NULL without memory. */
typedef struct nn_mark nn_mark;
nn_mark *nn_mark_take(const xt_module *m);
void nn_mark_free(nn_mark *k);
bool nn_mark_frozen(const nn_mark *k, const char *name); /* a parameter's full name, also of one that came later */
nn_mode nn_mark_mode(const nn_mark *k, const xt_module *m);
/* The wishes from *at on, in order, that freeze or unfreeze what comes later, without those from before the mark; begin
 * with *at = 0. NULL: there are no more. */
const nn_wish *nn_mark_next(const nn_mark *k, const struct nn_root *r, size_t *at);
bool nn_is_training(const xt_module *m, const char *layer); /* that layer of m, which may be a child's name */
/* The axes over which attention in m divides positions, of the run's mesh; NULL: over none. */
const char *nn_context_axes(const xt_module *m);
const char *nn_expert_axes(const xt_module *m); /* the same for the experts of xt_moe */
const char *nn_stage_axes(const xt_module *m); /* and for the blocks of xt_pipeline */
/* layers_moe.c: adds a layer's to the balance of the pass. */
void nn_note_balance(const xt_src *src, xt_module *m, xt_tensor balance);
/* softmax(q k^T / sqrt(D)) v of [B,H,T,D], T divided over axes of the run's mesh, whose devices divide it; causal:
 * position i sees those up to i (layers_attention_ring.c). */
xt_tensor nn_ring_attention(const xt_src *src, const xt_tensor qkv[3], const char *axes, bool causal);
/* What a dropout does in this step. A probability that has changed between two steps is data, and 0 and 1 are numbers
 * as others then: one program serves all. */
typedef enum nn_dropping { NN_DROPS_NOTHING, NN_DROPS_CONSTANT, NN_DROPS_DATA } nn_dropping;
/* Dropout of what is never there as a whole: rows of [...,rows,S], tile by tile in a loop. `begin`, outside of the
 * loop, takes one draw as xt_dropout does, and nn_drop_rows drops what it would have dropped in rows `first`, first +
 * 1, ... that x [...,t,S] is (layers_dropout.c). x of begin: a tensor of the dtype. False after an error, which is
 * *failed. */
typedef struct nn_row_dropout {
    nn_dropping how;
    double p;
    xt_tensor key;
} nn_row_dropout;
bool nn_row_dropout_begin(const xt_src *src, const xt_module *m, double p, xt_tensor x, nn_row_dropout *out,
                          xt_tensor *failed);
xt_tensor nn_drop_rows(const xt_src *src, const nn_row_dropout *d, xt_tensor x, int64_t rows, xt_tensor first);
bool nn_syncs(const xt_module *m, const char *layer); /* xt_sync_batch_norm was called for a module that it is in */
bool nn_drops(const xt_module *m, double p); /* dropout of that share: m trains, and p is not 0 */
uint64_t nn_network(const xt_module *m); /* of the network that m is of; no other ever has it */
/* The last wish for the parameter `name` (full) that it be made of others in each pass; NULL: it is one itself. */
const nn_wish *nn_parametrized(const struct nn_root *r, const char *name);
/* The error of a parameter that a file has, and that the wish makes of others. */
xt_tensor nn_made_of_others(const xt_src *src, const nn_root *r, const char *name, const nn_wish *w);
const char *nn_wish_function(const nn_wish *w); /* "xt_freeze" */
/* A wish of that kind, for parameters that are not there yet; takes its pattern's text from `pattern`. False after an
 * error that names `what`. */
bool nn_wish_parametrized(const char *what, xt_module *m, const char *pattern, nn_wish w);
/* "parametrizations.weight.original" of leaf "weight", or of a layer that is a tensor itself; *out_layer is what stands
 * before it. False after an error. */
bool nn_parametrization(const xt_src *src, const char *what, const char *layer, const char *leaf, const char *part,
                        char *name, size_t size, const char **out_layer);
/* The weight "conv.weight" that is made of "conv.parametrizations.weight.original" (or original1) and others; false:
 * the name is none of these, or longer than size. */
bool nn_weight_of(const char *name, char *out, size_t size);
/* weight_norm.c, orthogonal.c: that parameter. */
xt_tensor nn_weight_normed(const xt_src *src, xt_module *m, const char *layer, const char *leaf, nn_init init, double a,
                           xt_dtype dtype, int rank, const int64_t *dims);
xt_tensor nn_spectral_normed(const xt_src *src, xt_module *m, const char *layer, const char *leaf, nn_init init,
                             double a, xt_dtype dtype, int rank, const int64_t *dims, const xt_spectral_norm_opts *o);
/* first: how the layer's own weight would begin. */
xt_tensor nn_orthogonal(const xt_src *src, xt_module *m, const char *layer, const char *leaf, nn_recipe first,
                        xt_dtype dtype, int rank, const int64_t *dims, const xt_orthogonal_opts *o);
/* integers.c: entries of integers, with factors in an entry of their own. Its name; base_free. */
char *nn_scale_name(const char *weight);
/* Of a pattern of matrices that are to be turned around: the error where it fits a tensor `name` that is integers, or
 * their factors. is_of_integers: of a file's and of a module's tensors. */
xt_status nn_check_turned(const char *pattern, const char *name, bool is_of_integers, const char *path);
bool nn_file_has_integers(const struct st_file *f, const char *name);
bool nn_has_integers(const nn_root *r, const char *name);
/* 8 or 4: tensors of these types stand for a weight [rows,columns]; 0: they do not. */
int nn_integer_bits(const ir_type *q, const ir_type *factors, int64_t rows, int64_t columns);
/* The entry of that name becomes integers, whose values are taken or stay in their file, and the factors an entry of
 * their own; false after an error, which is the pending one. */
bool nn_become_integers(const xt_src *src, nn_root *r, const char *weight, int bits, nn_loaded *q, nn_loaded *factors);
/* The entry, if the weight is integers, or is about to be made and a loaded file has it so; else NULL. */
nn_entry *nn_integers(const xt_src *src, nn_root *r, const char *weight, int64_t rows, int64_t columns);
/* dequantize.c: the weight [dims] that an entry of integers stands for. */
xt_tensor nn_dequantized(const xt_src *src, const nn_root *r, const nn_entry *e, int rank, const int64_t *dims);
/* Rows `indices` of such a [vocab,dim]: [...,dim]. The table stays narrow. */
xt_tensor nn_dequantized_rows(const xt_src *src, const nn_root *r, const nn_entry *e, int64_t vocab, int64_t dim,
                              xt_tensor indices);
bool nn_has_lora(const nn_root *r); /* lora.c: xt_lora was called */
/* The last xt_lora whose pattern fits the weight `name` (full); NULL: none. */
const nn_wish *nn_lora_of(const nn_root *r, const char *name);
/* What a linear layer gives, with what its narrow matrices add, if it has any. x [...,in] -> y [...,out] */
xt_tensor nn_lora_added(const xt_src *src, xt_module *m, const char *layer, xt_tensor x, xt_tensor y, int64_t in,
                        int64_t out);
bool nn_lora_adapts(const nn_root *r, const char *weight); /* the layer of this weight has matrices */
double nn_lora_scale(double alpha, int64_t r, bool rslora);
bool nn_is_lora(const char *name); /* of one of its matrices */
#define NN_LORA_A "lora_A.weight"
#define NN_LORA_B "lora_B.weight"
/* lora_file.c: an adapter's folder, checked: every tensor in it is an A or a B, and each has its other. `layer` is the
 * name of the layer it stands beside, as the base model's files have it. */
typedef struct lora_part {
    char *layer;
    const struct st_entry *a, *b;
    int64_t r;
    double alpha;
} lora_part;
typedef struct lora_file {
    struct st_file *f;
    lora_part *parts;
    size_t n, cap;
    double dropout;
    bool rslora, fan_in_fan_out;
} lora_file;
xt_status lora_open(const char *dir, lora_file *out);
void lora_close(lora_file *l);
/* A [r,in] and B [out,r] as f32, whatever the file has; base_free */
xt_status lora_read(const lora_file *l, const struct st_entry *e, float **out);
/* w [out,in] (or [in,out], where the adapter says so) += scale B A; w is the data of a tensor of this type */
xt_status lora_merge(const lora_file *l, const lora_part *p, const ir_type *type, void *w);
bool nn_matches(const char *pattern, const char *name); /* '*' and '?' */
/* Of values that were loaded before their tensors exist: after a pass, what comes later may be in no file; after an
 * update, and when the module goes, what no layer has taken is told, once. */
void nn_first_pass_ended(nn_root *r);
void nn_updated(nn_root *r);
void nn_loaded_left(nn_root *r);
void nn_resumed_left(nn_root *r); /* the same of the file that a fit went on from, at its end */
typedef xt_status (*nn_waiting_fn)(void *user, const char *name, nn_loaded *l);
xt_status nn_each_waiting(const nn_root *r, nn_waiting_fn fn, void *user);
/* The value that waits for that name as a state, which the layer that takes it will have: whoever has to do with a
 * parameter while it waits (an average) goes on with it when it is there. None: nothing waits for the name, or there
 * was an error. */
xt_tensor nn_waiting(nn_root *r, const char *name, bool is_param);
/* What waits in `from`, or lies in its file, waits in `to` too. */
xt_status nn_wait_as_well(nn_root *to, const char *name, nn_loaded *from);
/* The tensor of that full name; NULL: none. */
nn_entry *nn_find(const nn_root *r, const char *name);
xt_tensor nn_tensor_of(const xt_module *m, const char *layer,
                       const char *leaf); /* if it is there, whatever calls say */
bool nn_has(const xt_module *m, const char *layer, const char *leaf);
bool nn_is_fused(const xt_module *m, const char *norm); /* the batch norm gives its input back (xt_fuse_conv_bn) */
/* The tensor `layer`.`leaf` of m (leaf "" = layer itself), made at the first call. An error tensor when the shape
 * differs from the first call's. */
xt_tensor nn_tensor(const xt_src *src, xt_module *m, const char *layer, const char *leaf, bool is_param, nn_init init,
                    double a, xt_dtype dtype, int rank, const int64_t *dims);
/* What nn_tensor is asked for in a block of an xt_pipeline: it gives that parameter of one block. */
typedef struct nn_stacked_ask {
    const char *layer, *leaf;
    bool is_param;
    nn_init init;
    double a;
    xt_dtype dtype;
    int rank;
    const int64_t *dims;
} nn_stacked_ask;
typedef struct nn_stack { /* pipeline.c has more of it behind */
    const char *name; /* full, of the blocks' module; "": all that is asked for */
    xt_tensor (*give)(struct nn_stack *s, const xt_src *src, xt_module *m, const char *name, const nn_stacked_ask *ask);
} nn_stack;
/* Notes the call of a layer: false (with an error) when the same name was called before in this pass without xt_share.
 * Pushes the layer's module path; nn_layer_end pops it. */
bool nn_layer_begin(const xt_src *src, xt_module *m, const char *layer);
void nn_layer_end(void);
/* rename.c: names by rules "OLD=NEW,..." (xt_load_opts); NULL: none. The name as it is where no rule fits. */
xt_status nn_rename_check(const char *rules, const char *what);
void nn_rename(const char *rules, const char *name, str *out);
/* *data: [rows,columns] of elements of `size` bytes -> [columns,rows], in memory of its own. */
/* Which tensors a file takes, and what is done with each: its value, which is taken over. */
typedef struct nn_write {
    bool (*wanted)(void *user, const nn_entry *e);
    xt_status (*write)(void *user, const nn_entry *e, char *data);
    void *user;
} nn_write;
bool nn_writes_here(void); /* of a mesh: rank 0; without one everybody writes what it saves */
/* Gives each in its turn to write, on a mesh brought together in rank 0's memory, one at a time; every rank calls it.
 * `begun`: an error from before, with which nothing is written; it is given back. */
xt_status nn_write_each(const nn_root *r, const nn_write *w, xt_status begun);
xt_status nn_turn(char **data, int64_t rows, int64_t columns, size_t size);
/* Whether a value of type `have` may become one of type `want`: the same dims, and floats of any width for floats
 * (PyTorch converts too). */
bool nn_converts(const ir_type *have, const ir_type *want);
xt_status nn_convert(nn_loaded *l, const ir_type *want); /* in place; does nothing when the types are the same */
/* What most files of weights and most modules are, n elements of it; the values are those of nn_convert. */
bool nn_converts_some(xt_dtype have, xt_dtype want);
void nn_convert_some(xt_dtype have, const void *from, xt_dtype want, void *to, int64_t n);
struct st_file;
/* xt_load_with for whoever has the file open and has compared its checksums: what was compared is what is loaded,
 * though another file may have the path by now. */
xt_status nn_load_opened(const xt_src *src, xt_module *m, struct st_file *f, const char *path, xt_load_opts o);
/* The same, where what the module does not have yet waits for the layers that take it. resumes: of a fit that goes on,
 * whose adapters may be newer than the file. */
xt_status nn_load_waiting(const xt_src *src, xt_module *m, struct st_file *f, const char *path, bool resumes);
/* outline.c: a fit's own file, for a fit that goes on or for a pass: the module has all tensors of the file from here
 * on, in the file's order, though their layers may be called later, or beside its net; and what makes weights of others
 * there makes them here. */
xt_status nn_load_checkpoint(const xt_src *src, xt_module *m, struct st_file *f, const char *path, bool resumes);
void nn_loaded_passed(xt_module *m); /* the pass is over: layers that the checkpoint lacks may be made again */
/* What such a file says of the module beside its values, as metadata; base_free, NULL without memory. */
#define NN_OUTLINE "outline"
char *nn_outline_text(const nn_root *r);
/* The tensor of that name is made of what waits for it, and waits in the list for the layer that asks. */
xt_status nn_make_waiting(const xt_src *src, nn_root *r, const char *name, bool is_param, size_t stacked);
/* No layer has asked for a tensor yet: all that are there wait. */
static inline bool nn_is_unmade(const nn_root *r) {
    return r->n == r->n_waiting;
}
static inline void nn_taken(nn_root *r, nn_entry *e) { /* it waits no longer */
    r->n_waiting -= e->waits;
    e->waits = e->anew = false;
}
/* What to do where a file lacks a tensor of the module, to stand behind the error; "" where that is plain. */
const char *nn_lacking_advice(bool resumes);
/* A tensor of that full name is neither there nor waiting: whoever makes it says how it begins. */
bool nn_is_new(const nn_root *r, const char *name);
/* Gives the tensor `name` (full) its value (copied): one that is there has it now, one that is not takes it as what is
 * loaded from a file. */
xt_status nn_preload(nn_root *r, const char *name, const ir_type *type, const void *data);
/* Puts e at the end of the list; what waits for its name is gone. False without memory: e is the caller's still. */
bool nn_list(nn_root *r, nn_entry e);
/* A copy waits for that name in *where, which is made where it is NULL. */
xt_status nn_wait_in(map **where, const char *name, const ir_type *type, const void *data);
/* The parameter `name` (full) has this gradient waiting (copied), as if a backward pass had left it: now, or from its
 * first pass on. */
xt_status nn_give_gradient(xt_module *m, const char *name, const ir_type *type, const void *data);
void nn_take_gradient(nn_root *r, const char *name,
                      xt_tensor param); /* what was given to a parameter that is there now */
void nn_count_text(double n, char out[32]); /* Lightning's way: 123, 1.2 K, 12.3 M, 400 T, 5,000 T */
void nn_append_summary(str *text, const xt_module *m, int most); /* the table of layers, at most so many lines */
char *nn_full_name(const xt_module *m, const char *layer, const char *leaf); /* base_free; NULL with an error pending */

/* What layers share: the error for an input that does not fit (or the input's own error), and the dtype of
 * parameters for it. */
xt_tensor nn_bad_input(const xt_src *src, const char *what, const char *name, xt_tensor x, const char *need);
xt_dtype nn_param_dtype(const ir_type *x);
/* A constant of the program, whatever it was in another step (the library's own numbers; xt_full and xt_mul_scalar make
 * a user's number data once it has changed). */
xt_tensor nn_number(const xt_src *src, double v, xt_dtype dtype);
/* The caller's number, an option of `what`: data of the program once it has changed between two steps (ops_number). */
xt_tensor nn_given(const xt_src *src, const char *what, double v, xt_dtype dtype);
/* running = running * (1 - momentum) + batch * momentum, in this step; under xt_no_grad_begin. */
void nn_move_average(const xt_src *src, xt_tensor running, xt_tensor batch, xt_tensor momentum);
bool nn_tracks(const xt_module *m); /* statistics may move: false while xt_module_build traces */
/* shard.c: divides a new tensor as the rules of its module say. */
void nn_shard_entry(nn_root *r, const nn_entry *e);
void nn_shard_rules_free(nn_root *r);

/* On: batch norms of this thread that do not say .sync take the statistics of all ranks. */
void nn_sync_batch_norms(bool on);
/* running statistics are means over all batches since the count was 0, whatever the layers say */
void nn_cumulate_batch_norms(bool on);

#endif
