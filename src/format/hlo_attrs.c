/* Attributes of HLO's instructions, from the fields of HloInstructionProto and its messages (xla/service/hlo.proto,
 * xla/xla_data.proto) to StableHLO's. */
#include "format/hlo_ops.h"
#include "ir/sharding.h"

static void put(hlomod_attrs *a, ir_attr attr) {
    if (a->n < BASE_COUNT(a->v)) a->v[a->n++] = attr;
}

static void put_ints(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, hlomod_msg m, uint32_t field) {
    size_t n;
    int64_t *v;
    if (hlomod_ints(s->r, m, field, &n, &v)) put(a, ir_attr_ints(&s->b, k, n, v));
}

static void put_int(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, hlomod_msg m, uint32_t field, int64_t fallback) {
    put(a, ir_attr_int(k, hlomod_int(s->r, m, field, fallback)));
}

static void put_bool(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, hlomod_msg m, uint32_t field) {
    put(a, ir_attr_bool(k, hlomod_int(s->r, m, field, 0) != 0));
}

void hlomod_dimensions_attr(hlomod_scope *s, hlomod_msg inst, ir_attr_key k, hlomod_attrs *a) {
    size_t n;
    int64_t *v;
    if (k == IR_A_none || !hlomod_ints(s->r, inst, 14, &n, &v)) return;
    if (ir_attr_key_kind(k) == IR_AK_INTS)
        put(a, ir_attr_ints(&s->b, k, n, v));
    else
        put(a, ir_attr_int(k, n ? v[0] : 0));
}

/* One member of each message of a list. */
static void put_column(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, size_t n, const hlomod_msg *rows,
                       uint32_t field, int64_t fallback) {
    int64_t *v = arena_alloc(s->r->scratch, n * sizeof *v + 1);
    if (!v) {
        hlomod_oom(s->r, n * sizeof *v);
        return;
    }
    for (size_t i = 0; i < n; i++) v[i] = hlomod_int(s->r, rows[i], field, fallback);
    put(a, ir_attr_ints(&s->b, k, n, v));
    if (ir_attr_key_kind(k) == IR_AK_BOOLS) a->v[a->n - 1].kind = IR_AK_BOOLS;
}

/* Two members of each as [n, 2]. */
static void put_pairs(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, size_t n, const hlomod_msg *rows, uint32_t first,
                      uint32_t second) {
    int64_t *v = arena_alloc(s->r->scratch, 2 * n * sizeof *v + 1);
    if (!v) {
        hlomod_oom(s->r, 2 * n * sizeof *v);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        v[2 * i] = hlomod_int(s->r, rows[i], first, 0);
        v[2 * i + 1] = hlomod_int(s->r, rows[i], second, 0);
    }
    put(a, ir_attr_ints2(&s->b, k, n, 2, v));
}

static bool window_rows(hlomod_scope *s, hlomod_msg inst, size_t *n, hlomod_msg **rows) {
    return hlomod_subs(s->r, hlomod_sub(s->r, inst, 15), 1, n, rows);
}

/* PrecisionConfig: 0 default, 1 high, 2 highest; one for each operand. */
static void put_precision(hlomod_scope *s, hlomod_attrs *a, hlomod_msg inst) {
    size_t n;
    int64_t *v, two[2] = {0, 0};
    if (!hlomod_ints(s->r, hlomod_sub(s->r, inst, 51), 1, &n, &v)) return;
    for (size_t i = 0; i < 2 && i < n; i++) two[i] = v[i] >= 0 && v[i] <= IR_PREC_HIGHEST ? v[i] : IR_PREC_DEFAULT;
    put(a, ir_attr_ints(&s->b, IR_A_precision_config, 2, two));
}

void hlomod_attrs_dot(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg d = hlomod_sub(s->r, inst, 30);
    put_ints(s, a, IR_A_lhs_batching_dimensions, d, 3);
    put_ints(s, a, IR_A_rhs_batching_dimensions, d, 4);
    put_ints(s, a, IR_A_lhs_contracting_dimensions, d, 1);
    put_ints(s, a, IR_A_rhs_contracting_dimensions, d, 2);
    put_precision(s, a, inst);
}

void hlomod_attrs_convolution(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg d = hlomod_sub(s->r, inst, 16), *w;
    size_t n;
    if (!window_rows(s, inst, &n, &w)) return;
    put_column(s, a, IR_A_window_strides, n, w, 2, 1);
    put_pairs(s, a, IR_A_padding, n, w, 3, 4);
    put_column(s, a, IR_A_lhs_dilation, n, w, 6, 1);
    put_column(s, a, IR_A_rhs_dilation, n, w, 5, 1);
    put_column(s, a, IR_A_window_reversal, n, w, 7, 0);
    put_int(s, a, IR_A_input_batch_dimension, d, 7, 0);
    put_int(s, a, IR_A_input_feature_dimension, d, 8, 0);
    put_ints(s, a, IR_A_input_spatial_dimensions, d, 11);
    put_int(s, a, IR_A_kernel_input_feature_dimension, d, 3, 0);
    put_int(s, a, IR_A_kernel_output_feature_dimension, d, 4, 0);
    put_ints(s, a, IR_A_kernel_spatial_dimensions, d, 6);
    put_int(s, a, IR_A_output_batch_dimension, d, 9, 0);
    put_int(s, a, IR_A_output_feature_dimension, d, 10, 0);
    put_ints(s, a, IR_A_output_spatial_dimensions, d, 12);
    put_int(s, a, IR_A_feature_group_count, inst, 50, 1);
    put_int(s, a, IR_A_batch_group_count, inst, 58, 1);
    put_precision(s, a, inst);
}

void hlomod_attrs_select_and_scatter(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg *w;
    size_t n;
    if (!window_rows(s, inst, &n, &w)) return;
    put_column(s, a, IR_A_window_dimensions, n, w, 1, 1);
    put_column(s, a, IR_A_window_strides, n, w, 2, 1);
    put_pairs(s, a, IR_A_padding, n, w, 3, 4);
}

void hlomod_attrs_reduce_window(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg *w;
    size_t n;
    hlomod_attrs_select_and_scatter(s, inst, a);
    if (!window_rows(s, inst, &n, &w)) return;
    put_column(s, a, IR_A_base_dilations, n, w, 6, 1);
    put_column(s, a, IR_A_window_dilations, n, w, 5, 1);
}

void hlomod_attrs_gather(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg d = hlomod_sub(s->r, inst, 33);
    put_ints(s, a, IR_A_offset_dims, d, 1);
    put_ints(s, a, IR_A_collapsed_slice_dims, d, 2);
    put_ints(s, a, IR_A_operand_batching_dims, d, 5);
    put_ints(s, a, IR_A_start_indices_batching_dims, d, 6);
    put_ints(s, a, IR_A_start_index_map, d, 3);
    put_int(s, a, IR_A_index_vector_dim, d, 4, 0);
    put_ints(s, a, IR_A_slice_sizes, inst, 34);
    put_bool(s, a, IR_A_indices_are_sorted, inst, 67);
}

void hlomod_attrs_scatter(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg d = hlomod_sub(s->r, inst, 48);
    put_ints(s, a, IR_A_update_window_dims, d, 1);
    put_ints(s, a, IR_A_inserted_window_dims, d, 2);
    put_ints(s, a, IR_A_input_batching_dims, d, 5);
    put_ints(s, a, IR_A_scatter_indices_batching_dims, d, 6);
    put_ints(s, a, IR_A_scatter_dims_to_operand_dims, d, 3);
    put_int(s, a, IR_A_index_vector_dim, d, 4, 0);
    put_bool(s, a, IR_A_indices_are_sorted, inst, 67);
    put_bool(s, a, IR_A_unique_indices, inst, 69);
}

void hlomod_attrs_slice(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg *d;
    size_t n;
    if (!hlomod_subs(s->r, inst, 17, &n, &d)) return;
    put_column(s, a, IR_A_start_indices, n, d, 1, 0);
    put_column(s, a, IR_A_limit_indices, n, d, 2, 0);
    put_column(s, a, IR_A_strides, n, d, 3, 1);
}

void hlomod_attrs_pad(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg *d;
    size_t n;
    if (!hlomod_subs(s->r, hlomod_sub(s->r, inst, 21), 1, &n, &d)) return;
    put_column(s, a, IR_A_edge_padding_low, n, d, 1, 0);
    put_column(s, a, IR_A_edge_padding_high, n, d, 2, 0);
    put_column(s, a, IR_A_interior_padding, n, d, 3, 0);
}

void hlomod_attrs_dynamic_slice(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_ints(s, a, IR_A_slice_sizes, inst, 20);
}

void hlomod_attrs_sort(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_bool(s, a, IR_A_is_stable, inst, 60);
}

void hlomod_attrs_batch_norm(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    uint32_t bits = (uint32_t)hlomod_int(s->r, inst, 24, 0);
    float epsilon;
    memcpy(&epsilon, &bits, sizeof epsilon);
    put(a, ir_attr_float(IR_A_epsilon, XT_F32, epsilon));
    put_int(s, a, IR_A_feature_index, inst, 25, 0);
}

void hlomod_attrs_reduce_precision(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_int(s, a, IR_A_exponent_bits, inst, 18, 0);
    put_int(s, a, IR_A_mantissa_bits, inst, 19, 0);
    for (size_t i = 0; i < a->n; i++) a->v[i].dtype = XT_I32;
}

static void put_enum_text(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, hlomod_msg inst, uint32_t field) {
    const char *text = hlomod_text(s->r, inst, field);
    int64_t v;
    if (ir_enum_from_name(k, text, strlen(text), &v))
        put(a, ir_attr_enum(k, (int)v));
    else
        hlomod_fail(s->r, inst.data, "'%s' is no %s", text, ir_attr_key_name(k));
}

void hlomod_attrs_compare(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_enum_text(s, a, IR_A_comparison_direction, inst, 63);
    if (*hlomod_text(s->r, inst, 72)) put_enum_text(s, a, IR_A_compare_type, inst, 72);
}

static void put_enum(hlomod_scope *s, hlomod_attrs *a, ir_attr_key k, hlomod_msg m, uint32_t field) {
    int64_t v = hlomod_int(s->r, m, field, 0);
    if (v >= 0 && v < 64 && ir_enum_name(k, v))
        put(a, ir_attr_enum(k, (int)v));
    else
        hlomod_fail(s->r, m.data, "%lld is no %s", (long long)v, ir_attr_key_name(k));
}

void hlomod_attrs_rng(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_enum(s, a, IR_A_rng_distribution, inst, 23);
}

void hlomod_attrs_rng_bit_generator(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_enum(s, a, IR_A_rng_algorithm, inst, 70);
}

void hlomod_attrs_fft(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_enum(s, a, IR_A_fft_type, inst, 31);
    put_ints(s, a, IR_A_fft_length, inst, 32);
}

void hlomod_attrs_cholesky(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put_bool(s, a, IR_A_lower, hlomod_sub(s->r, inst, 62), 1);
}

void hlomod_attrs_triangular_solve(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg o = hlomod_sub(s->r, inst, 59);
    put_bool(s, a, IR_A_left_side, o, 1);
    put_bool(s, a, IR_A_lower, o, 2);
    put_bool(s, a, IR_A_unit_diagonal, o, 3);
    put_enum(s, a, IR_A_transpose_a, o, 4);
}

static void put_channel(hlomod_scope *s, hlomod_attrs *a, hlomod_msg inst) {
    int64_t id = hlomod_int(s->r, inst, 26, 0);
    if (id <= 0) return;
    put(a, ir_attr_int(IR_A_channel_id, id));
    put(a, ir_attr_int(IR_A_channel_type, 1));
}

/* Groups of one length as a matrix. XLA lets groups differ; no framework sends that. */
void hlomod_attrs_collective(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_reader *r = s->r;
    size_t n, width = 0, k;
    hlomod_msg *groups;
    int64_t *v, *all = NULL;
    if (!hlomod_subs(r, inst, 49, &n, &groups)) return;
    if (!n && !hlomod_subs(r, hlomod_sub(r, inst, 87), 1, &n, &groups)) return;
    for (size_t i = 0; i < n; i++) {
        if (!hlomod_ints(r, groups[i], 1, &k, &v)) return;
        if (!i) all = arena_alloc(r->scratch, n * (width = k) * sizeof *all + 1);
        if (k != width) {
            hlomod_fail(r, groups[i].data,
                        "replica group %zu has %zu members, the first %zu: groups must be of one size", i, k, width);
            return;
        }
        if (!all) {
            hlomod_oom(r, n * width * sizeof *all);
            return;
        }
        if (k) memcpy(all + i * width, v, k * sizeof *v);
    }
    put(a, ir_attr_ints2(&s->b, IR_A_replica_groups, n, width, all));
    put_channel(s, a, inst);
    if (hlomod_int(r, inst, 71, 0)) put(a, ir_attr_unit(IR_A_use_global_device_ids));
}

void hlomod_attrs_permute(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    hlomod_msg *pairs;
    size_t n;
    if (!hlomod_subs(s->r, inst, 52, &n, &pairs)) return;
    put_pairs(s, a, IR_A_source_target_pairs, n, pairs, 1, 2);
    put_channel(s, a, inst);
}

void hlomod_attrs_custom_call(hlomod_scope *s, hlomod_msg inst, hlomod_attrs *a) {
    put(a, ir_attr_string(&s->b, IR_A_call_target_name, hlomod_text(s->r, inst, 28)));
    put_bool(s, a, IR_A_has_side_effect, inst, 65);
    ir_attr config = ir_attr_named_string(s->r->m, "backend_config", hlomod_text(s->r, inst, 43));
    config.key = IR_A_backend_config;
    if (*hlomod_text(s->r, inst, 43)) put(a, config);
    hlomod_msg m;
    const char *text = hlomod_has_sharding(s->r, inst, 40, &m) && hlomod_int(s->r, m, 1, 0) != 2
                           ? hlomod_sharding_text(s->r, m)
                           : NULL;
    if (text) put(a, ir_attr_named_string(s->r->m, IR_SHARDING_ATTR, text));
}
