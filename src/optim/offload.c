/* Optimizer state in host memory. The step's own program makes the gradients (averaged, unscaled, clipped) and keeps
 * them; when it has been started, programs of the same step update one group of parameters after the other (lazy_then):
 * the group's state is uploaded, updated, and brought back while the next group runs. So at most two groups' states are
 * on the device, and none during forward and backward.
 *
 * Groups hold parameters of one type, hyper-parameters and step count, so that equal ones are one program; small
 * parameters share a group. */
#include <stdlib.h>

#include <xtrain/memory.h>

#include "optim/optim.h"

enum { SMALL_GROUP = 1 << 20 }; /* bytes of state below which types are mixed */

typedef struct item { /* a parameter of the step under way */
    int tensor; /* in the module */
    int group, counter;
    int64_t bytes; /* of its state */
    const ir_type *type;
    xt_tensor grad; /* kept for its group's program */
    void *memory[OPTIM_MAX_STATES]; /* where its state was on the host, while it is on the device */
} item;
struct optim_offload {
    int64_t group_bytes;
    xt_optimizer *o;
    src_id src;
    item *items;
    size_t n, cap;
    size_t begin, next; /* the group that was started last is [begin, next) */
    xt_tensor skip; /* kept; none: no loss scaler */
    lazy_move *moving; /* the group before it */
};
typedef struct optim_offload offload;

/* --- recording the step --- */
static int by_program(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->group != y->group) return x->group - y->group;
    if (x->counter != y->counter) return x->counter - y->counter;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    for (uint32_t i = 0; x->type != y->type && i < x->type->rank && i < y->type->rank; i++)
        if (x->type->dims[i] != y->type->dims[i]) return x->type->dims[i] < y->type->dims[i] ? -1 : 1;
    return x->tensor - y->tensor;
}

static bool add_item(offload *f, const xt_src *src, int tensor, xt_tensor param, ir_value *grad) {
    const optim_param *p = optim_param_of(f->o, src, tensor);
    item it = {.tensor = tensor, .type = lazy_type(param)};
    if (!p || !it.type) return false;
    it.group = p->group;
    it.counter = p->counter;
    for (int k = 0; k < f->o->kind->n_states; k++)
        if (lazy_type(p->state[k])) it.bytes += (int64_t)ir_type_bytes(lazy_type(p->state[k]));
    it.grad = lazy_carry(src, LAZY_GRADIENT, grad, param);
    if (VEC_PUSH(f->items, f->n, f->cap, it)) return true;
    xt_drop_at(src, it.grad);
    lazy_fail(status_oom(sizeof it, "an offloaded step"));
    return false;
}

static bool record_group(void *user);
static void finished(void *user);

void optim_offload_step(const xt_src *src, xt_optimizer *o, const gradients *g, ir_value *skip) {
    offload *f = o->offload;
    if (f->n) {
        lazy_error(src, XT_FAILED_PRECONDITION,
                   "xt_optimizer_step twice in one step of an optimizer whose state is in host memory: end the step "
                   "between them (xt_mark_step)");
        return;
    }
    f->src = src_intern(src);
    f->begin = f->next = 0;
    f->skip = skip ? lazy_carry(src, LAZY_VALUE, skip, (xt_tensor){0}) : (xt_tensor){0};
    for (size_t i = 0; i < g->n; i++)
        if (!add_item(f, src, g->index[i], g->params[i], g->values[i])) break;
    qsort(f->items, f->n, sizeof *f->items, by_program);
    lazy_begin(src);
    lazy_then(&(lazy_phases){record_group, finished, f},
              "its optimizer's state is in host memory (xt_optimizer_offload)");
}

/* --- groups --- */
static size_t group_end(const offload *f, size_t from) {
    int64_t sum = f->items[from].bytes;
    size_t i = from + 1;
    for (; i < f->n; i++) {
        const item *a = &f->items[from], *b = &f->items[i];
        if (a->group != b->group || a->counter != b->counter || (sum += b->bytes) > f->group_bytes) break;
        if (b->type != a->type && sum > SMALL_GROUP) break;
    }
    return i;
}

static bool failed(xt_status s) {
    if (s) lazy_fail(s);
    return s != NULL;
}

/* The states of [begin, next) set out for the host; those of the group before have arrived. */
static bool bring_back(offload *f) {
    size_t n = 0, room = (f->next - f->begin) * OPTIM_MAX_STATES;
    lazy_move *m = f->moving;
    f->moving = NULL;
    if (failed(lazy_to_host_finish(m))) return false;
    xt_tensor *states = base_malloc((room + 1) * sizeof *states);
    void **memory = base_malloc((room + 1) * sizeof *memory);
    if (!states || !memory) failed(status_oom(room * sizeof *states, "an offloaded step"));
    for (size_t i = f->begin; i < f->next && states && memory; i++) {
        const optim_param *p = optim_param_of(f->o, src_get(f->src), f->items[i].tensor);
        for (int k = 0; p && k < f->o->kind->n_states; k++) {
            if (!p->state[k].slot) continue;
            states[n] = p->state[k];
            memory[n++] = f->items[i].memory[k];
            f->items[i].memory[k] = NULL;
        }
    }
    f->begin = f->next;
    bool ok = states && memory && !failed(lazy_to_host(n, states, memory, &f->moving));
    base_free(states);
    base_free(memory);
    return ok;
}

static bool upload(offload *f, item *it) {
    const optim_param *p = optim_param_of(f->o, src_get(f->src), it->tensor);
    for (int k = 0; p && k < f->o->kind->n_states; k++)
        if (p->state[k].slot && failed(lazy_state_upload(p->state[k], &it->memory[k]))) return false;
    return p != NULL;
}

static bool update(offload *f) {
    const xt_src *src = src_get(f->src);
    xt_optimizer *o = f->o;
    size_t n = f->next - f->begin;
    ir_value **grads = base_malloc(n * sizeof *grads);
    int *tensors = base_malloc(n * sizeof *tensors);
    bool ok = grads && tensors;
    if (!ok) failed(status_oom(n * sizeof *grads, "an offloaded step"));
    xt_no_grad_begin();
    lazy_begin(src);
    for (size_t i = 0; i < n && ok; i++) {
        item *it = &f->items[f->begin + i];
        ok = upload(f, it);
        tensors[i] = it->tensor;
        grads[i] = lazy_value(it->grad);
        if (ok) xt_drop_at(src, it->grad); /* its buffer may be taken over by what this program makes */
        it->grad = (xt_tensor){0};
    }
    for (size_t i = 0; i < o->n_counters && ok; i++) o->counters[i].now = lazy_value(o->counters[i].count);
    if (ok) optim_update_params(src, o, n, tensors, grads, f->skip.slot ? lazy_value(f->skip) : NULL);
    xt_no_grad_end_at(NULL);
    base_free(grads);
    base_free(tensors);
    return ok && !lazy_pending();
}

static bool record_group(void *user) {
    offload *f = user;
    if (f->next > f->begin && !bring_back(f)) return false;
    if (f->next == f->n) return false;
    f->next = group_end(f, f->begin);
    return update(f);
}

static void finished(void *user) {
    offload *f = user;
    lazy_move *m = f->moving;
    f->moving = NULL;
    failed(lazy_to_host_finish(m));
    for (size_t i = 0; i < f->n; i++) {
        if (lazy_type(f->items[i].grad)) xt_drop_at(src_get(f->src), f->items[i].grad);
        for (int k = 0; k < OPTIM_MAX_STATES; k++) base_free(f->items[i].memory[k]);
    }
    if (lazy_type(f->skip)) xt_drop_at(src_get(f->src), f->skip);
    f->skip = (xt_tensor){0};
    f->n = 0;
}

/* --- the public side --- */
void xt_optimizer_offload_opt(const xt_src *src, xt_optimizer *o, xt_offload_opts p) {
    static const option_row rows[] = {{"group_bytes", "bytes of state on the device at a time", OPTION_I64,
                                       offsetof(xt_offload_opts, group_bytes), 1, 1e15, NULL}};
    xt_status s =
        o ? options_check(rows, BASE_COUNT(rows), &p, OPTION_DEFAULTS(xt_offload_opts), "xt_optimizer_offload")
          : status_new(XT_INVALID_ARGUMENT, NULL, "xt_optimizer_offload: the optimizer is NULL");
    if (!s && !o->offload && !(o->offload = base_calloc(1, sizeof *o->offload)))
        s = status_oom(sizeof *o->offload, "xt_optimizer_offload");
    if (failed(status_at(s, src))) return;
    o->offload->o = o;
    o->offload->group_bytes = p.group_bytes;
}

void optim_offload_free(xt_optimizer *o) {
    if (!o->offload) return;
    lazy_then_not(o->offload);
    base_free(o->offload->items);
    base_free(o->offload);
    o->offload = NULL;
}
