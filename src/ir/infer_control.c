/* Rules of control flow: branches, loops, calls, tuples, tokens. */
#include "ir/infer.h"

#include <stdlib.h>

/* Results stated by the caller, as they are; an op that may have none needs no statement. */
static xt_status as_stated(const ir_op *op, const ir_type **out, size_t *n_out) {
    for (uint32_t i = 0; i < op->n_out; i++) out[i] = op->out[i].type;
    *n_out = op->n_out;
    return NULL;
}

static xt_status need_token(const ir_op *op, size_t i) {
    if (i < op->n_in && infer_in(op, i)->kind == IR_TOKEN) return NULL;
    return infer_fail(op, -(int)(i + 1), "operand %zu must be a token", i);
}

/* Branches take nothing and all return what the first returns. */
static xt_status branch_results(const ir_op *op, int c_inputs, int c_outputs, const ir_type **out, size_t *n_out) {
    for (uint32_t r = 0; r < op->n_regions; r++) {
        const ir_op *ret;
        XT_TRY(infer_region(op, c_inputs, r, 0, &ret));
        if (r && ret->n_in != *n_out)
            return infer_fail(op, c_outputs, "branch %u returns %u values, branch 0 %zu", r, ret->n_in, *n_out);
        for (uint32_t i = 0; i < ret->n_in; i++) {
            if (!r)
                out[i] = ret->in[i]->type;
            else if (!ir_type_compatible(out[i], ret->in[i]->type))
                return infer_fail(op, c_outputs, "result %u of branch %u has another type than branch 0's", i, r);
        }
        *n_out = ret->n_in;
    }
    return NULL;
}

/* Results stated; their local types are the region's, and what they are made of is for the partitioner to check. */
RULE(manual_computation) {
    const ir_op *ret;
    XT_TRY(infer_region(op, 1, 0, op->n_in, &ret));
    if (ret->n_in != op->n_out)
        return infer_fail(op, 2, "the region returns %u values for %u results", ret->n_in, op->n_out);
    return as_stated(op, out, n_out);
}

RULE(if) {
    if (infer_in(op, 0) != ir_scalar(XT_BOOL)) return infer_fail(op, -1, "the predicate must be a scalar i1");
    return branch_results(op, 1, 2, out, n_out);
}

RULE(case) {
    if (infer_in(op, 0) != ir_scalar(XT_I32)) return infer_fail(op, -1, "the index must be a scalar i32");
    if (!op->n_regions) return infer_fail(op, 1, "it needs at least one branch");
    return branch_results(op, 2, 3, out, n_out);
}

static xt_status loop_region(const ir_op *op, int c, size_t r, const ir_op **out_return) {
    XT_TRY(infer_region(op, c, r, op->n_in, out_return));
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!ir_type_compatible(op->regions[r].block->args[i]->type, infer_in(op, i)))
            return infer_fail(op, c, "argument %u of the %s has another type than operand %u", i,
                              r ? "body" : "condition", i);
    return NULL;
}

RULE(while) {
    const ir_op *ret;
    XT_TRY(loop_region(op, 1, 0, &ret));
    if (ret->n_in != 1 || ret->in[0]->type != ir_scalar(XT_BOOL))
        return infer_fail(op, 1, "the condition must return one scalar i1");
    XT_TRY(loop_region(op, 2, 1, &ret));
    if (ret->n_in != op->n_in) return infer_fail(op, 2, "the body returns %u values, expected %u", ret->n_in, op->n_in);
    for (uint32_t i = 0; i < op->n_in; i++) {
        if (!ir_type_compatible(ret->in[i]->type, infer_in(op, i)))
            return infer_fail(op, 2, "result %u of the body has another type than operand %u", i, i);
        out[i] = infer_in(op, i);
    }
    *n_out = op->n_in;
    return NULL;
}

RULE(optimization_barrier) {
    for (uint32_t i = 0; i < op->n_in; i++) out[i] = infer_in(op, i);
    *n_out = op->n_in;
    return NULL;
}

/* A function's own signature, where it is stated, binds its return; a region's is bound by the op around it. */
RULE(return ) {
    const ir_func *f = op->block && op->code == OP_func_return ? op->block->func : NULL;
    (void)out;
    *n_out = 0;
    if (!f || !f->result_types) return NULL;
    if (f->n_results != op->n_in)
        return infer_fail(op, 0, "%u values returned, function '%s' has %zu results", op->n_in, f->name, f->n_results);
    for (uint32_t i = 0; i < op->n_in; i++)
        if (!ir_type_compatible(f->result_types[i], infer_in(op, i)))
            return infer_fail(op, 0, "value %u has another type than result %u of function '%s'", i, i, f->name);
    return NULL;
}

/* Callee known (it may come later in the text): operands and results are its own. */
static xt_status call_results(const ir_op *op, ir_attr_key k, int c_in, int c_out, const ir_type **out, size_t *n_out) {
    const char *name = ir_get_string(op, k);
    if (!name) return infer_fail(op, 0, "attribute '%s' is missing", ir_attr_key_name(k));
    const ir_func *f = op->block ? ir_func_find(op->block->module, name) : NULL;
    if (!f || (!f->result_types && op->n_out)) return as_stated(op, out, n_out);
    if (f->body && op->n_in != f->body->n_args)
        return infer_fail(op, c_in, "%u operands given, function '%s' takes %zu", op->n_in, name, f->body->n_args);
    for (uint32_t i = 0; f->body && i < op->n_in; i++)
        if (!ir_type_compatible(f->body->args[i]->type, infer_in(op, i)))
            return infer_fail(op, c_in, "operand %u has another type than argument %u of function '%s'", i, i, name);
    if (op->n_out && op->n_out != f->n_results)
        return infer_fail(op, c_out, "%u results stated, function '%s' has %zu", op->n_out, name, f->n_results);
    for (size_t i = 0; i < f->n_results; i++) out[i] = f->result_types[i];
    *n_out = f->n_results;
    return NULL;
}

RULE(call) {
    return call_results(op, IR_A_callee, 0, 0, out, n_out);
}

/* Parts of letters, digits, '_' and '$' between dots, at least two; the first begins with no digit. */
static bool is_namespaced(const char *s) {
    size_t parts = 0, n = 0;
    if (*s >= '0' && *s <= '9') return false;
    for (;; s++) {
        bool word = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_' ||
                    *s == '$' || *s == '-';
        if (word) {
            n++;
            continue;
        }
        if (!n || (*s && *s != '.')) return false;
        parts++;
        if (!*s) return parts > 1;
        n = 0;
    }
}

RULE(composite) {
    const char *name = ir_get_string(op, IR_A_name);
    if (!name || !is_namespaced(name))
        return infer_fail(op, 1, "the name '%s' is not of the form \"namespace.op\"", name ? name : "");
    return call_results(op, IR_A_decomposition, 3, 4, out, n_out);
}

/* `dense<[1, 0]> : tensor<2xindex>`, kept as text: a permutation of a tensor's dims, minor to major; nothing for
 * other types. */
static xt_status check_layout(const ir_op *op, const ir_type *t, const ir_attr *layout) {
    int64_t dims[IR_MAX_RANK];
    size_t n = 0;
    if (t->kind == IR_TUPLE) return infer_fail(op, 0, "operands with layouts cannot be tuples");
    if (layout->kind != IR_AK_OPAQUE) return NULL;
    const char *s = layout->v.s, *end = strchr(s, '>');
    bool fits = end != NULL;
    for (; fits && s < end; s++) {
        if (*s < '0' || *s > '9') continue;
        char *after;
        long long d = strtoll(s, &after, 10);
        size_t rank = t->kind == IR_TENSOR ? t->rank : 0;
        fits = n < rank && d < (long long)rank && !infer_has(dims, n, d);
        if (fits) dims[n++] = d;
        s = after - 1;
    }
    bool splat = fits && n == 1 && t->kind == IR_TENSOR && t->rank != 1;
    if (fits && !splat && n == (t->kind == IR_TENSOR ? t->rank : 0)) return NULL;
    return infer_fail(op, 0, "the layout %.*s is no order of the dims of its value",
                      (int)(layout->n < 80 ? layout->n : 80), layout->v.s);
}

RULE(custom_call) {
    if (!ir_get_string(op, IR_A_call_target_name)) return infer_fail(op, 0, "attribute 'call_target_name' is missing");
    const ir_attr *in = ir_attr_find(op, IR_A_operand_layouts), *res = ir_attr_find(op, IR_A_result_layouts);
    const ir_attr *config = ir_attr_find(op, IR_A_backend_config);
    if (!in != !res) return infer_fail(op, 0, "layouts must be given for both operands and results, or for neither");
    if (in && res && in->kind == IR_AK_ARRAY && res->kind == IR_AK_ARRAY) {
        size_t n_out_layouts = op->n_out == 1 && op->out[0].type->kind == IR_TUPLE ? op->out[0].type->rank : op->n_out;
        if (in->n != op->n_in)
            return infer_fail(op, 0, "%zu operand layouts are given for %u operands", in->n, op->n_in);
        if (res->n != n_out_layouts)
            return infer_fail(op, 0, "%zu result layouts are given for %zu results", res->n, n_out_layouts);
        for (uint32_t i = 0; i < op->n_in; i++) XT_TRY(check_layout(op, infer_in(op, i), &in->v.list[i]));
        for (uint32_t i = 0; i < op->n_out; i++)
            if (op->out[i].type->kind != IR_TUPLE) XT_TRY(check_layout(op, op->out[i].type, &res->v.list[i]));
    }
    int64_t api = ir_get_int(op, IR_A_api_version, 1);
    if (config && api == 4 && config->kind != IR_AK_DICT)
        return infer_fail(op, 0, "backend_config of api_version 4 must be a dictionary");
    if (config && api < 4 && config->kind != IR_AK_STRING)
        return infer_fail(op, 0, "backend_config of api_version %d must be a string", (int)api);
    return as_stated(op, out, n_out);
}

RULE(tuple) {
    const ir_type *small[16] = {0}, **types = op->n_in <= 16 ? small : base_calloc(op->n_in, sizeof *types);
    if (!types) return status_oom(op->n_in * sizeof *types, "tuple types");
    for (uint32_t i = 0; i < op->n_in; i++) types[i] = infer_in(op, i);
    bool fits = ir_tuple_fits(op->n_in, types);
    const ir_type *t = fits ? ir_tuple(op->n_in, types) : NULL;
    if (types != small) base_free(types);
    if (!fits)
        return infer_fail(op, -1, "a tuple of more than %d types, or nested deeper than %d", IR_MAX_PARTS,
                          IR_MAX_TUPLE_DEPTH);
    return t ? infer_one(out, n_out, t) : status_oom(sizeof *t, "a tuple type");
}

RULE(get_tuple_element) {
    int64_t index;
    const ir_type *t = infer_in(op, 0);
    if (t->kind != IR_TUPLE) return infer_fail(op, -1, "the operand must be a tuple");
    XT_TRY(infer_int(op, IR_A_index, &index));
    XT_TRY(infer_axis(op, 1, IR_A_index, index, t->rank));
    return infer_one(out, n_out, t->elems[index]);
}

RULE(after_all) {
    for (size_t i = 0; i < op->n_in; i++) XT_TRY(need_token(op, i));
    return infer_one(out, n_out, ir_token());
}

RULE(create_token) {
    (void)op;
    return infer_one(out, n_out, ir_token());
}

/* --- Host and point-to-point: the last operand or result is the token that orders them. --- */
static xt_status results_then_token(const ir_op *op, int c_others, int c_last, const ir_type **out, size_t *n_out) {
    XT_TRY(need_token(op, 0));
    XT_TRY(infer_need_stated(op, 1));
    for (uint32_t i = 0; i + 1 < op->n_out; i++)
        if (op->out[i].type->kind == IR_TOKEN) return infer_fail(op, c_others, "result %u must not be a token", i);
    if (op->out[op->n_out - 1].type != ir_token()) return infer_fail(op, c_last, "the last result must be a token");
    return as_stated(op, out, n_out);
}

static xt_status operands_then_token(const ir_op *op, const ir_type **out, size_t *n_out) {
    if (!op->n_in) return infer_fail(op, 0, "the last operand must be a token");
    XT_TRY(infer_tensors(op, 0, op->n_in - 1));
    XT_TRY(need_token(op, op->n_in - 1));
    return infer_one(out, n_out, ir_token());
}

static xt_status check_channel(const ir_op *op) {
    int64_t id, type = ir_get_int(op, IR_A_channel_type, 0);
    XT_TRY(infer_int(op, IR_A_channel_id, &id));
    bool host = ir_get_bool(op, IR_A_is_host_transfer, false);
    if (ir_attr_find(op, IR_A_source_target_pairs)) XT_TRY(infer_pairs(op));
    int64_t host_type = op->code == OP_send ? 2 : 3; /* DEVICE_TO_HOST, HOST_TO_DEVICE */
    if (type && (type == 1) == host)
        return infer_fail(op, 5, "channel type %lld given, expected %lld", (long long)type,
                          (long long)(host ? host_type : 1));
    return NULL;
}

RULE(infeed) {
    if (!op->n_out)
        return infer_fail(
            op, 1, "it must have results, the last of which is a token; they cannot be inferred and must be stated");
    return results_then_token(op, 2, 3, out, n_out);
}
RULE(outfeed) {
    return operands_then_token(op, out, n_out);
}
RULE(send) {
    XT_TRY(check_channel(op));
    return operands_then_token(op, out, n_out);
}
RULE(recv) {
    XT_TRY(check_channel(op));
    return results_then_token(op, 0, 0, out, n_out);
}

/* --- Assertions and the interpreter's own --- */
RULE(expect) {
    (void)out;
    *n_out = 0;
    if (op->n_in == 2 && !ir_type_compatible(infer_in(op, 0), infer_in(op, 1)))
        return infer_fail(op, 0, "the two tensors have different types");
    return NULL;
}

RULE(run_parallel) {
    return as_stated(op, out, n_out);
}
