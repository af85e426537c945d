/* An exponential moving average of a module's tensors, as a module of its own: it has the same function and the same
 * names, so it is run, saved and loaded as any other. Its parameters are frozen and no optimizer has them. */
#include <xtrain/ops.h>

#include "nn/nn.h"

static bool takes_part(const xt_src *src, const char *what, const xt_module *m) {
    if (m->parent)
        lazy_error(src, XT_INVALID_ARGUMENT,
                   "%s: \"%s\" is a child module; averages are of a whole one, which xt_module_new made", what,
                   m->path);
    else if (m->root->n_rules || m->root->fsdp_axes || m->root->stage_axes)
        lazy_error(src, XT_UNIMPLEMENTED,
                   "%s: parameters of this module are divided over a mesh (fsdp, tensor or pipeline parallel, "
                   "xt_shard_params), and averages of such parts are not there; a mesh that divides batches alone has "
                   "them",
                   what);
    else
        return true;
    return false;
}

/* What was said of parameters holds for the average's, which are made of others in the same way (weight norm, LoRA). */
static bool same_wishes(const xt_src *src, xt_module *ema, const nn_root *of) {
    for (size_t i = 0; i < of->n_wishes; i++)
        if (!nn_keep_wish(ema->root, &of->wishes[i])) return false;
    return xt_freeze_at(src, ema, "*", true) >= 0;
}

/* w: how much of p comes in, as data. An average that is not finite ends where nothing of it stays. */
static xt_tensor mixed(const xt_src *src, xt_tensor mean, xt_tensor p, xt_tensor w) {
    xt_tensor whole = xt_eq_at(src, w, xt_full_at(src, 1, xt_dtype_of(w), XT_DIMS_(0)));
    return xt_where_at(src, whole, p, xt_cast_at(src, xt_lerp_at(src, mean, p, w), xt_dtype_of(p)));
}

/* How much of a module's tensors comes in, as data from the first update on, in the dtypes that averages are computed
 * in; made once a call. */
typedef struct weights {
    double value;
    xt_tensor single, twice;
} weights;
static xt_tensor weight_as(const xt_src *src, weights *w, xt_dtype d) {
    xt_dtype as = d == XT_F64 ? XT_F64 : XT_F32;
    xt_tensor *t = as == XT_F64 ? &w->twice : &w->single;
    if (!t->slot) *t = lazy_scalar(src, as, w->value);
    return *t;
}

static void types_differ(const xt_src *src, const char *name, const ir_type *mine, const ir_type *theirs) {
    str is = STR_INIT, other = STR_INIT;
    ir_type_print(mine, &is);
    ir_type_print(theirs, &other);
    lazy_error(src, XT_INVALID_ARGUMENT,
               "xt_ema_update: %s is %s in one module and %s in the other; an average and its module are of one "
               "function (xt_ema makes it)",
               name, str_cstr(&is), str_cstr(&other));
    str_free(&is);
    str_free(&other);
}

/* The tensor of `to` that is e's; *out_new: it has no value of its own yet. */
static nn_entry *partner(const xt_src *src, xt_module *to, const nn_entry *e, bool *out_new) {
    nn_root *r = to->root;
    nn_entry *mine = nn_find(r, e->name);
    *out_new = nn_is_new(r, e->name);
    if (*out_new) r->loaded_all = false; /* the other module has it: no file need have it */
    if (!mine) {
        nn_tensor(src, to, e->name, "", e->is_param, NN_ZEROS, 0, e->type->dtype, (int)e->type->rank, e->type->dims);
        mine = nn_find(r, e->name);
        if (mine) mine->bits = e->bits;
    }
    if (!mine || mine->type == e->type) return mine;
    types_differ(src, e->name, mine->type, e->type);
    return NULL;
}

/* Both in memory, or at one place of one file. */
static bool same_value(const nn_loaded *a, const nn_loaded *b) {
    if (a->type != b->type || a->t.slot || b->t.slot) return false;
    if (a->data && b->data) return memcmp(a->data, b->data, ir_type_bytes(a->type)) == 0;
    return a->file && a->file == b->file && a->entry == b->entry && a->turned == b->turned;
}

typedef struct waiting {
    const xt_src *src;
    xt_module *to;
    const xt_module *from;
    weights *w, *all;
} waiting;

static nn_loaded *waits_for(const nn_root *r, const char *name) {
    return r->loaded ? map_get(r->loaded, name, strlen(name)) : NULL;
}

/* What waits in `from` for layers to come is as good as there: averages of it go on. Where it waits in both nobody
 * knows yet whether it is a parameter; of a buffer the average is a copy, so what is equal stays as it is, infinities
 * too. */
static xt_status update_waiting(void *user, const char *name, nn_loaded *l) {
    const waiting *u = user;
    nn_root *r = u->to->root;
    const nn_entry *mine = nn_find(r, name);
    nn_loaded *other = mine ? NULL : waits_for(r, name);
    bool fresh = !mine && !other;
    if (other && same_value(other, l)) return NULL;
    if (fresh) {
        XT_TRY(nn_wait_as_well(r, name, l));
        if (!l->t.slot) return NULL; /* else this step may have given it another value */
        other = waits_for(r, name);
    }
    const ir_type *type = mine ? mine->type : other->type;
    if (!nn_converts(l->type, type)) {
        types_differ(u->src, name, type, l->type);
        return NULL;
    }
    bool floats = ir_dtype_is_float(type->dtype), means = floats && (!mine || mine->is_param);
    xt_tensor mean = mine ? mine->t : nn_waiting(r, name, floats);
    xt_tensor now = xt_cast_at(u->src, nn_waiting(u->from->root, name, floats), type->dtype);
    if (means && !lazy_pending()) {
        xt_tensor share = weight_as(u->src, fresh ? u->all : u->w, type->dtype);
        now = xt_where_at(u->src, xt_eq_at(u->src, mean, now), now, mixed(u->src, mean, now, share));
    }
    if (!lazy_pending()) xt_assign_at(u->src, mean, now);
    return NULL;
}

static bool update(const xt_src *src, xt_module *to, const xt_module *from, double decay) {
    weights w = {.value = to->root->first_update ? 1 : 1 - decay}, all = {.value = 1};
    xt_no_grad_begin();
    for (size_t i = 0; i < from->root->n && !lazy_pending(); i++) {
        const nn_entry *e = &from->root->entries[i];
        if (!lazy_type(e->t)) continue; /* only its shape is known */
        bool fresh;
        nn_entry *mine = partner(src, to, e, &fresh);
        if (!mine) break;
        /* all of the first values come in, by the program that later updates run too */
        bool mean = e->is_param && ir_dtype_is_float(e->type->dtype);
        xt_tensor share = mean ? weight_as(src, fresh ? &all : &w, e->type->dtype) : (xt_tensor){0};
        xt_assign_at(src, mine->t, mean ? mixed(src, mine->t, e->t, share) : e->t);
    }
    xt_status s = nn_each_waiting(from->root, update_waiting, &(waiting){src, to, from, &w, &all});
    if (s) lazy_fail(status_at(s, src));
    xt_no_grad_end_at(src);
    if (lazy_pending()) return false;
    to->root->first_update = false;
    return true;
}

xt_module *xt_ema_at(const xt_src *src, const xt_module *net) {
    if (!net || !takes_part(src, "xt_ema", net)) return NULL;
    xt_module *ema =
        net->many ? xt_module_new_many(net->many, net->n_in, net->n_out, net->user) : xt_module_new(net->fn, net->user);
    if (!ema) return NULL;
    ema->mode = NN_EVALUATING;
    ema->root->param_dtype = net->root->param_dtype;
    if (!same_wishes(src, ema, net->root) || !update(src, ema, net, 0)) {
        xt_module_free(ema);
        return NULL;
    }
    ema->root->first_update = true;
    return ema;
}

bool xt_ema_update_at(const xt_src *src, xt_module *ema, const xt_module *net, double decay) {
    if (!ema || !net || !takes_part(src, "xt_ema_update", ema) || !takes_part(src, "xt_ema_update", net)) return false;
    if (ema == net || !(decay >= 0 && decay <= 1)) {
        if (ema == net)
            lazy_error(src, XT_INVALID_ARGUMENT, "xt_ema_update: both are the same module; (ema, net, decay) is asked");
        else
            lazy_error(src, XT_INVALID_ARGUMENT, "xt_ema_update: decay is %g; it must be in [0,1]", decay);
        return false;
    }
    return update(src, ema, net, decay);
}
