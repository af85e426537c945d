/* What a rank is asking the others for, in words. */
#include "coll/core/group.h"

const char *call_kind_name(unsigned kind) {
    static const char *const names[] = {"the start of the run", "barrier",   "all_reduce",
                                        "all_gather",           "broadcast", "all_to_all",
                                        "reduce_scatter",       "permute"};
    return kind < BASE_COUNT(names) ? names[kind] : "?";
}

void call_text(const call_desc *c, str *out) {
    str_append(out, call_kind_name(c->kind));
    if (c->kind == CALL_ALL_REDUCE || c->kind == CALL_REDUCE_SCATTER)
        str_printf(out, "(%s) of %s,", reduce_name((coll_op)c->op), xt_dtype_name((xt_dtype)c->dtype));
    if (c->kind == CALL_BROADCAST) str_printf(out, " from rank %u,", c->root);
    if (c->kind >= CALL_ALL_REDUCE) str_printf(out, " %llu bytes", (unsigned long long)c->bytes);
}

void call_differs_text(int own, const call_desc *mine, int rank, const call_desc *other, str *out) {
    str_printf(out, "the ranks make different collective calls: rank %d calls ", own);
    call_text(mine, out);
    if (other) {
        str_printf(out, ", rank %d calls ", rank);
        call_text(other, out);
    } else {
        str_append(out, ", a rank of another host something else");
    }
    if (other && mine->tag != other->tag)
        str_append(out,
                   "; they are in different programs: all ranks must record the same collectives, and with a mesh end "
                   "the same steps and read the same values (xt_item, xt_read, xt_save) in the same order");
}
