/* The rules of inference, one good row and one bad row a constraint; infer_rows.h says how rows are written. What
 * results may be stated is in test_ir_infer_results.c. */
#include "infer_rows_ops.h"

static void every_row_is_judged_as_it_says(void **state) {
    (void)state;
    judge_rows(rows_of_ops, BASE_COUNT(rows_of_ops));
}

static void messages_name_shapes(void **state) {
    (void)state;
    ir_module *m = ir_module_new();
    ir_func *f = ir_func_new(m, "main", true);
    ir_builder b = ir_at_end(m, ir_func_block(f));
    b.src = src_intern(&(xt_src){"model.c", 41, "net"});
    ir_value *x = ir_func_arg(f, ir_tensor(XT_F32, 2, (int64_t[]){2, 3})),
             *y = ir_func_arg(f, ir_tensor(XT_F32, 2, (int64_t[]){4, 5}));
    assert_null(ir_dot_general(&b, x, y, 0, NULL, NULL, 1, (int64_t[]){1}, (int64_t[]){0}, IR_PREC_HIGHEST));
    assert_string_equal(
        xt_status_message(b.status),
        "model.c:41: dot_general: contracting dims differ: lhs dim 1 is 3, rhs dim 0 is 4 (dot_general_c10); operands: "
        "tensor<2x3xf32>, tensor<4x5xf32>");
    assert_null(ir_add(&b, x, x)); /* after a failure nothing is recorded */
    assert_null(ir_func_block(f)->first);
    xt_status_free(b.status);
    ir_module_free(m);
}

static void every_op_has_a_name_and_a_rule(void **state) {
    (void)state;
    for (int i = 0; i < OP_COUNT; i++) {
        const ir_op_info *info = &ir_op_infos[i];
        ir_opcode found;
        assert_non_null(info->infer);
        assert_true(ir_opcode_from_name(info->dialect, info->name, &found));
        assert_int_equal(found, i);
        assert_true(strlen(info->doc) > 4);
    }
    assert_string_equal(ir_op_infos[OP_call].name, "call");
    assert_string_equal(ir_op_infos[OP_func_return].name, "return");
    assert_string_equal(ir_op_infos[OP_chlo_square].name, "square");
    assert_string_equal(ir_op_infos[OP_exponential_minus_one].name, "exponential_minus_one");
    for (int k = 1; k < IR_A_COUNT; k++)
        assert_int_equal(ir_attr_key_from_name(ir_attr_key_name(k), strlen(ir_attr_key_name(k))), k);
}

static int nothing_is_left(void **state) {
    (void)state;
    return live_get(LIVE_graph) == 0 && live_get(LIVE_status) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_judged_as_it_says),
        cmocka_unit_test(messages_name_shapes),
        cmocka_unit_test(every_op_has_a_name_and_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, nothing_is_left);
}
