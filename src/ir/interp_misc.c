/* Tuples, tokens, custom calls, and ops that leave the process.
 *
 * Collectives, infeed, send, ... go to the caller's hook. Without one the process is a world of its own: device 0 of 1,
 * where every collective is the identity of its group; a group of several is an error that says what is missing. */
#include "ir/interp_int.h"

static xt_status copy_value(const array *src, array *dst) {
    if (src->type->kind == IR_TENSOR) {
        if (dst->data != src->data) memcpy(dst->data, src->data, ir_type_bytes(src->type));
        return NULL;
    }
    array_free(dst);
    return array_copy(src, dst);
}

xt_status interp_identity(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    for (uint32_t j = 0; j < op->n_out; j++) XT_TRY(copy_value(&in[j], &out[j]));
    return NULL;
}

xt_status interp_token(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c, (void)op, (void)in, (void)out;
    return NULL; /* order is the order of the program; a token has no bytes */
}

xt_status interp_tuple(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    for (uint32_t j = 0; j < op->n_in; j++) XT_TRY(copy_value(&in[j], &((array *)out->data)[j]));
    return NULL;
}

/* Also async_done: takes apart what async_start promised. */
xt_status interp_get_tuple_element(interp *c, const ir_op *op, const array *in, array *out) {
    (void)c;
    const array *elems = in->data;
    int64_t first = op->code == OP_get_tuple_element ? ir_get_int(op, IR_A_index, 0) : 0;
    for (uint32_t j = 0; j < op->n_out; j++) XT_TRY(copy_value(&elems[first + j], &out[j]));
    return NULL;
}

/* The one collective of the body, at once. */
xt_status interp_async_start(interp *c, const ir_op *op, const array *in, array *out) {
    return interp_dispatch(c, op->regions[0].block->first, in, out->data);
}

/* --- Custom calls --- */
/* Annotations for a partitioner or a layout pass: on one device they pass their operand on. */
static bool is_annotation(const char *target) {
    static const char *const names[] = {"Sharding",
                                        "SPMDFullToShardShape",
                                        "SPMDShardToFullShape",
                                        "LayoutConstraint",
                                        "annotate_device_placement",
                                        "MoveToHost",
                                        "MoveToDevice",
                                        "Pin",
                                        "Unpin"};
    for (size_t i = 0; i < BASE_COUNT(names); i++)
        if (strcmp(target, names[i]) == 0) return true;
    return false;
}

static const char *target_of(const ir_op *op) {
    const char *target = ir_get_string(op, IR_A_call_target_name);
    return target ? target : "";
}
static bool annotates(const ir_op *op) {
    return is_annotation(target_of(op)) && op->n_in >= 1 && op->n_out == 1 && op->in[0]->type == op->out[0].type;
}
/* JAX's: operands that are to be computed, for nobody, and values of which one is wanted before the other. */
static bool does_nothing(const ir_op *op) {
    return op->n_out == 0 && (strcmp(target_of(op), "dce_sink") == 0 || strcmp(target_of(op), "control_dep") == 0);
}

bool interp_knows_call(const ir_op *op) {
    return annotates(op) || does_nothing(op) || strncmp(target_of(op), "check.", 6) == 0 ||
           interp_lapack_knows(target_of(op));
}

xt_status interp_unknown_call(const ir_op *op) {
    if (strncmp(target_of(op), "xla_ffi_python_", 15) == 0 || strncmp(target_of(op), "xla_python_", 11) == 0)
        return status_new(XT_UNIMPLEMENTED, NULL,
                          "custom_call @%s calls Python as XLA's own CPU does, which a plugin cannot; with the Python "
                          "package xtrain_pjrt installed (its wheel, JAX_PLATFORMS=xtrain) JAX's callbacks run",
                          target_of(op));
    return status_new(XT_UNIMPLEMENTED, NULL,
                      "custom_call @%s: nothing in this process implements that target; known are JAX's LAPACK calls, "
                      "annotations and host callbacks. Try StableHLO's own ops, or a host callback (jax.pure_callback)",
                      target_of(op));
}

xt_status interp_custom_call(interp *c, const ir_op *op, const array *in, array *out) {
    const char *target = target_of(op);
    if (annotates(op)) return copy_value(&in[0], &out[0]);
    if (does_nothing(op)) return NULL;
    if (strncmp(target, "check.", 6) == 0) return interp_check(c, op, in, out);
    if (interp_lapack_knows(target)) return interp_lapack(c, op, in, out);
    if (c->hooks && c->hooks->custom_call) return c->hooks->custom_call(c->hooks->user, op, in, out);
    return interp_unknown_call(op);
}

/* --- Between devices --- */
/* Members of the largest group the op names; 1 when it names none. */
static int64_t group_size(const ir_op *op) {
    const ir_attr *a = ir_attr_find(op, IR_A_replica_groups);
    int64_t members = 0, width = a && a->rank2 ? a->rank2 : 1;
    for (size_t i = 0; a && a->kind == IR_AK_INTS && i + (size_t)width <= a->n; i += (size_t)width) {
        int64_t here = 0;
        for (int64_t k = 0; k < width; k++) here += a->v.ints[i + (size_t)k] >= 0; /* -1 fills short groups */
        if (here > members) members = here;
    }
    return members ? members : 1;
}

xt_status interp_collective(interp *c, const ir_op *op, const array *in, array *out) {
    if (c->hooks && c->hooks->collective) return c->hooks->collective(c->hooks->user, op, in, out);
    if (op->code == OP_partition_id || op->code == OP_replica_id) {
        memset(out->data, 0, ir_type_bytes(out->type));
        return NULL;
    }
    if (op->code == OP_collective_permute) {
        size_t n;
        const int64_t *pairs = ir_get_ints(op, IR_A_source_target_pairs, &n);
        bool to_self = false;
        for (size_t i = 0; i + 1 < n; i += 2) {
            if (pairs[i + 1] == 0 && pairs[i] != 0)
                return status_new(XT_FAILED_PRECONDITION, NULL,
                                  "collective_permute receives from device %lld, but this run has one device",
                                  (long long)pairs[i]);
            to_self = to_self || (pairs[i] == 0 && pairs[i + 1] == 0);
        }
        if (to_self) return interp_identity(c, op, in, out);
        /* nobody sends: zeros */
        for (uint32_t j = 0; j < op->n_out; j++) memset(out[j].data, 0, ir_type_bytes(out[j].type));
        return NULL;
    }
    if (group_size(op) != 1)
        return status_new(XT_FAILED_PRECONDITION, NULL,
                          "%s over a group of %lld devices needs that many ranks; this run has one",
                          ir_op_infos[op->code].name, (long long)group_size(op));
    return interp_identity(c, op, in, out);
}

xt_status interp_host_transfer(interp *c, const ir_op *op, const array *in, array *out) {
    if (c->hooks && c->hooks->collective) return c->hooks->collective(c->hooks->user, op, in, out);
    return status_new(XT_FAILED_PRECONDITION, NULL, "%s needs a peer to talk to, and this run has none",
                      ir_op_infos[op->code].name);
}
