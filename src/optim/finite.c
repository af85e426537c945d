/* A loop of the program's own that has trained on nothing but NaN must not end without a word: at xt_finish a few of
 * the smallest parameters that its optimizers have trained are read, which no gradient that was NaN has left alone. The
 * Trainer's fits say it of their rows. */
#include "base/handle.h"
#include "lazy/mesh/mesh.h"
#include "nn/nn.h"
#include "optim/optim.h"

enum { LOOKED_AT = 8, LARGEST = 4096 }; /* parameters, of so many bytes at most */

static __thread xt_optimizer *trained; /* those of this thread that have stepped in such a loop */

static bool finite_at(const void *data, size_t i, xt_dtype t) {
    uint64_t u = 0, mask = t == XT_F64    ? 0x7ff0000000000000u
                           : t == XT_F32  ? 0x7f800000u
                           : t == XT_BF16 ? 0x7f80u
                                          : 0x7c00u;
    size_t n = xt_dtype_size(t);
    memcpy(&u, (const char *)data + i * n, n); /* integers lie little-endian here, as everywhere in this library */
    return (u & mask) != mask;
}

/* What is read here is none of the program's reads, which the run's summary counts. */
static bool is_finite(xt_tensor t) {
    const ir_type *type = lazy_type(t);
    _Alignas(8) char data[LARGEST];
    int64_t reads = counter_get(COUNTER_host_reads), bytes = counter_get(COUNTER_host_read_bytes);
    xt_status s = lazy_state_read(t, data, ir_type_bytes(type));
    counter_add(COUNTER_host_reads, reads - counter_get(COUNTER_host_reads));
    counter_add(COUNTER_host_read_bytes, bytes - counter_get(COUNTER_host_read_bytes));
    bool ok = s != NULL; /* nothing is known of it */
    xt_status_free(s);
    for (size_t i = 0; !ok && i < (size_t)type->count; i++)
        if (!finite_at(data, i, type->dtype)) return false;
    return true;
}

static bool looks_at(const xt_module *m, int i) {
    const ir_type *t = xt_module_tensor_is_param(m, i) ? lazy_type(xt_module_tensor(m, i)) : NULL;
    return t && ir_type_bytes(t) <= LARGEST &&
           (t->dtype == XT_F64 || t->dtype == XT_F32 || t->dtype == XT_BF16 || t->dtype == XT_F16);
}

static void tell(const xt_optimizer *o, const char *param) {
    char at[256];
    log_msg(XT_SEV_WARNING,
            "%s is NaN or Inf after %lld optimizer steps, the last at %s: a loss or gradient was not finite in one of "
            "them. XT_DEBUG=nan ends the run at the first such step and names the line that makes it; usual causes: a "
            "too large learning rate, gradients that are not clipped (xt_clip_grad_norm), input that is not finite",
            param, (long long)o->updater.steps, src_text(o->updater.at, at, sizeof at));
}

static void look(void *user) {
    (void)user;
    for (xt_optimizer *o = trained; o; o = o->next_trained) {
        o->is_trained = false;
        if (lazy_pending() || lazy_spmd() || lazy_rehearsing() || world_get()->rank != 0) continue;
        if (handle_look(HANDLE_module, o->net) != HANDLE_LIVES) continue; /* freed before its optimizer */
        for (int i = 0, n = 0; i < xt_module_tensors(o->net) && n < LOOKED_AT; i++) {
            if (!looks_at(o->net, i)) continue;
            n++;
            if (is_finite(xt_module_tensor(o->net, i))) continue;
            tell(o, xt_module_tensor_name(o->net, i));
            break;
        }
    }
    trained = NULL;
}

void optim_watch_finite(xt_optimizer *o) {
    if (o->is_trained || lazy_draw_step_given()) return;
    if (!trained) lazy_at_finish(look, NULL);
    o->is_trained = true;
    o->next_trained = trained;
    trained = o;
}

void optim_forget_finite(xt_optimizer *o) {
    xt_optimizer **at = &trained;
    while (*at && *at != o) at = &(*at)->next_trained;
    if (*at) *at = o->next_trained;
}
