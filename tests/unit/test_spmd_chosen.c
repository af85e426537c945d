/* What the partitioner is expected to choose, counted in collectives, and what it says and refuses. */
#include "spmd_test.h"

static void divide(run *r, ir_sharding *s, int dim) {
    for (int a = 0; a < r->grid.n_axes; a++) ir_sharding_add(s, a, dim);
}

/* The meshes of what follows: one that divides the dims, and two that do not, which change nothing. */
static const int64_t meshes[] = {4, 6, 8};

/* Data parallel: two gradients and a loss are summed in one meeting; nothing else moves. */
static void data_parallel_over(int64_t devices) {
    run r;
    prepare(&r, mlp, devices);
    divide(&r, &r.in_form[0], 0);
    divide(&r, &r.out_form[0], 0);
    ir_module *m = parsed(mlp);
    partition(m, &r, mlp);
    assert_int_equal(r.stats.all_reduce, 1);
    assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void data_parallel(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) data_parallel_over(meshes[i]);
}

/* Tensor parallel, Megatron's way: the first layer by outputs, the second by inputs: one sum forward for the result,
 * none for the gradients of the weights. */
static void tensor_parallel_over(int64_t devices) {
    run r;
    prepare(&r, mlp, devices);
    divide(&r, &r.in_form[1], 0);
    divide(&r, &r.in_form[2], 1);
    divide(&r, &r.out_form[1], 0);
    divide(&r, &r.out_form[2], 1);
    ir_module *m = parsed(mlp);
    partition(m, &r, mlp);
    assert_int_equal(r.stats.all_reduce, 1);
    assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void tensor_parallel(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) tensor_parallel_over(meshes[i]);
}

/* Each device factorises its own matrices and nothing moves; a call that does not say which dims count matrices gets
 * all of them. */
static void matrices_stay_divided(void **state) {
    (void)state;
    for (int said = 0; said < 2; said++) {
        const char *text = said ? side_by_side : nothing_said;
        run r;
        prepare(&r, text, 4);
        for (size_t i = 0; i < r.n_in; i++) divide(&r, &r.in_form[i], 0);
        for (size_t i = 0; i < r.n_out; i++) divide(&r, &r.out_form[i], 0);
        ir_module *m = parsed(text);
        partition(m, &r, text);
        assert_int_equal(r.stats.all_gather, said ? 0 : 1);
        assert_int_equal(r.stats.whole, said ? 0 : 1);
        assert_int_equal(r.stats.all_reduce + r.stats.reduce_scatter + r.stats.all_to_all, 0);
        ir_module_free(m);
        finish(&r);
    }
}

/* One matrix is factorised as a whole on every device, which is counted and named. */
static void one_matrix_is_whole(void **state) {
    (void)state;
    static const char text[] =
        F("%x: tensor<8x8xf32>", "tensor<8x8xf32>",
          "%0 = \"stablehlo.cholesky\"(%x) {lower = true} : (tensor<8x8xf32>) -> tensor<8x8xf32>\n"
          "return %0 : tensor<8x8xf32>");
    run r;
    prepare(&r, text, 4);
    divide(&r, &r.in_form[0], 0), divide(&r, &r.out_form[0], 0);
    ir_module *m = parsed(text);
    partition(m, &r, text);
    assert_int_equal(r.stats.all_gather, 1);
    assert_int_equal(r.stats.whole, 1);
    ir_module_free(m);
    finish(&r);
}

/* Fully sharded: weights are joined where they are used, gradients are summed into parts. */
static const char wide[] = F("%x: tensor<64x8xf32>, %w: tensor<12x8xf32>", "tensor<12x8xf32>",
                             "%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : (tensor<64x8xf32>, "
                             "tensor<12x8xf32>) -> tensor<64x12xf32>\n"
                             "%1 = stablehlo.tanh %0 : tensor<64x12xf32>\n"
                             "%5 = stablehlo.dot_general %1, %x, contracting_dims = [0] x [0] : (tensor<64x12xf32>, "
                             "tensor<64x8xf32>) -> tensor<12x8xf32>\n"
                             "%6 = stablehlo.subtract %w, %5 : tensor<12x8xf32>\n"
                             "return %6 : tensor<12x8xf32>");
static void fully_sharded_over(int64_t devices) {
    run r;
    prepare(&r, wide, devices);
    divide(&r, &r.in_form[0], 0);
    divide(&r, &r.in_form[1], 0);
    divide(&r, &r.out_form[0], 0);
    ir_module *m = parsed(wide);
    partition(m, &r, wide);
    assert_int_equal(r.stats.all_gather, 1);
    assert_int_equal(r.stats.reduce_scatter, 1);
    assert_int_equal(r.stats.all_reduce + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void fully_sharded(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) fully_sharded_over(meshes[i]);
}

/* A table divided by rows stays where it is: each device looks up what it has, and the rows are summed; its gradient
 * needs nothing. */
static void divided_table_over(int64_t devices) {
    static const char text[] =
        F("%t: tensor<64x8xf32>, %i: tensor<8xi32>, %d: tensor<8x8xf32>", "tensor<8x8xf32>, tensor<64x8xf32>",
          "%0 = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
          "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>} : "
          "(tensor<64x8xf32>, tensor<8xi32>) -> tensor<8x8xf32>\n"
          "%z = stablehlo.constant dense<0.0> : tensor<64x8xf32>\n"
          "%1 = \"stablehlo.scatter\"(%z, %i, %d) " ADD
          " {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
          "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : "
          "(tensor<64x8xf32>, tensor<8xi32>, tensor<8x8xf32>) -> tensor<64x8xf32>\n"
          "return %0, %1 : tensor<8x8xf32>, tensor<64x8xf32>");
    run r;
    prepare(&r, text, devices);
    divide(&r, &r.in_form[0], 0);
    divide(&r, &r.out_form[1], 0);
    ir_module *m = parsed(text);
    partition(m, &r, text);
    assert_int_equal(r.stats.all_reduce, 1);
    assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
    ir_module_free(m);
    finish(&r);
}

static void divided_table(void **state) {
    (void)state;
    for (size_t i = 0; i < BASE_COUNT(meshes); i++) divided_table_over(meshes[i]);
}

/* A dim that is turned by whole parts is sent on from device to device; by less, it is joined. */
static void sent_on(void **state) {
    (void)state;
    static const struct { int by, permutes, gathers; } rows[] = {{3, 1, 0}, {6, 1, 0}, {9, 1, 0}, {2, 0, 1}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[600];
        int by = rows[i].by;
        snprintf(text, sizeof text,
                 F("%%a: " T, T,
                   "%%0 = stablehlo.slice %%a [%d:12, 0:8] : (" T ") -> tensor<%dx8xf32>\n"
                   "%%1 = stablehlo.slice %%a [0:%d, 0:8] : (" T ") -> tensor<%dx8xf32>\n"
                   "%%2 = stablehlo.concatenate %%0, %%1, dim = 0 : (tensor<%dx8xf32>, tensor<%dx8xf32>) -> " T
                   "\nreturn %%2 : " T),
                 12 - by, by, 12 - by, 12 - by, by, 12 - by);
        run r;
        prepare(&r, text, 4);
        divide(&r, &r.in_form[0], 0);
        divide(&r, &r.out_form[0], 0);
        ir_module *m = parsed(text);
        partition(m, &r, text);
        int permutes = 0;
        for (const ir_func *f = m->funcs; f; f = f->next)
            for (const ir_op *op = f->body->first; op; op = op->next) permutes += op->code == OP_collective_permute;
        assert_int_equal(permutes, rows[i].permutes);
        assert_int_equal(r.stats.all_gather, rows[i].gathers);
        assert_int_equal(r.stats.all_reduce + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
        ir_module_free(m);
        finish(&r);
    }
}

/* A region partitioned by hand, as JAX's shard_map sends it, inside a program that is partitioned by us. */
static void by_hand(void **state) {
    (void)state;
    static const char whole[] =
        F("%a: tensor<8x2xf32>", "tensor<8x2xf32>",
          "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "%0 = stablehlo.multiply %a, %a : tensor<8x2xf32>\n"
          "%1 = stablehlo.reshape %0 : (tensor<8x2xf32>) -> tensor<4x2x2xf32>\n"
          "%2 = \"stablehlo.reduce\"(%1, %z) " ADD
          " {dimensions = array<i64: 0>} : (tensor<4x2x2xf32>, tensor<f32>) -> tensor<2x2xf32>\n"
          "%3 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<2x2xf32>) -> tensor<4x2x2xf32>\n"
          "%4 = stablehlo.subtract %1, %3 : tensor<4x2x2xf32>\n"
          "%5 = stablehlo.reshape %4 : (tensor<4x2x2xf32>) -> tensor<8x2xf32>\n"
          "%6 = stablehlo.tanh %5 : tensor<8x2xf32>\n"
          "return %6 : tensor<8x2xf32>");
    static const char parts[] = F(
        "%a: tensor<8x2xf32>", "tensor<8x2xf32>",
        "%0 = stablehlo.multiply %a, %a : tensor<8x2xf32>\n"
        "%1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = \"{devices=[4,1]<=[4]}\"} : (tensor<8x2xf32>) -> "
        "tensor<8x2xf32>\n"
        "%2 = stablehlo.custom_call @SPMDFullToShardShape(%1) {mhlo.sharding = \"{manual}\"} : (tensor<8x2xf32>) -> "
        "tensor<2x2xf32>\n"
        "%3 = \"stablehlo.all_reduce\"(%2) " ADD
        " {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, channel_handle = #stablehlo.channel_handle<handle "
        "= 1, type = 1>, use_global_device_ids} : (tensor<2x2xf32>) -> tensor<2x2xf32>\n"
        "%4 = stablehlo.subtract %2, %3 : tensor<2x2xf32>\n"
        "%5 = stablehlo.custom_call @Sharding(%4) {mhlo.sharding = \"{manual}\"} : (tensor<2x2xf32>) -> "
        "tensor<2x2xf32>\n"
        "%6 = stablehlo.custom_call @SPMDShardToFullShape(%5) {mhlo.sharding = \"{devices=[4,1]<=[4]}\"} : "
        "(tensor<2x2xf32>) -> tensor<8x2xf32>\n"
        "%7 = stablehlo.tanh %6 : tensor<8x2xf32>\nreturn %7 : tensor<8x2xf32>");
    for (int round = 0; round < 6; round++) {
        run r;
        seed = (uint64_t)round;
        prepare(&r, whole, 4);
        r.in_form[0] = random_sharding(&r.grid, r.in[0].type);
        r.out_form[0] = random_sharding(&r.grid, r.in[0].type);
        ir_module *m = parsed(parts);
        partition(m, &r, parts);
        ir_module_free(m);
        finish(&r);
    }
}

/* What a loop carries stays divided: a scan over the batch's parts needs no exchange but the sum of the weights'
 * gradient, wherever it is made. */
static void divided_loop(void **state) {
    (void)state;
    for (int summands = 0; summands < 2; summands++) {
        run r;
        prepare(&r, a_scan, 4);
        divide(&r, &r.in_form[0], 1);
        divide(&r, &r.in_form[2], 0);
        divide(&r, &r.out_form[0], 1);
        divide(&r, &r.out_form[2], 0);
        ir_module *m = parsed(a_scan);
        ir_func *f = ir_func_find(m, "main");
        for (ir_op *op = f->body->first; op && summands; op = op->next) {
            /* the gradient is wanted as summands: it is added up once, behind the loop */
            if (op->code != OP_while) continue;
            ir_builder b = ir_before(m, op->next);
            ir_value *v = ir_annotate_sharding(&b, &op->out[3], "{unreduced}");
            ir_replace_uses(m, &op->out[3], v);
            ir_set_operand(v->def, 0, &op->out[3]);
            op = v->def;
        }
        partition(m, &r, a_scan);
        assert_int_equal(r.stats.all_reduce, 1);
        assert_int_equal(r.stats.all_gather + r.stats.reduce_scatter + r.stats.all_to_all + r.stats.whole, 0);
        f = ir_func_find(m, "main");
        size_t outside = 0;
        for (const ir_func *g = m->funcs; g; g = g->next)
            for (const ir_op *op = g->body ? g->body->first : NULL; op; op = op->next)
                outside += op->code == OP_all_reduce;
        assert_int_equal(outside, summands);
        ir_module_free(m);
        finish(&r);
    }
}

/* Parts and copies become summands: the part in its place, the copy on the first device, zeros elsewhere; and what
 * enters as summands may leave so. */
static void summands(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        double want[2][4];
    } rows[] = {{"{replicated}", "{unreduced}", {{1, 2, 3, 4}, {0, 0, 0, 0}}},
                {"{devices=[2]<=[2]}", "{devices=[1,2]<=[2] last_tile_dims={unreduced}}", {{1, 2, 0, 0}, {0, 0, 3, 4}}},
                {"{unreduced}", "{unreduced}", {{1, 2, 3, 4}, {5, 6, 7, 8}}},
                {"{unreduced}", "{replicated}", {{6, 8, 10, 12}, {6, 8, 10, 12}}},
                {"{unreduced}", "{devices=[2]<=[2]}", {{6, 8}, {10, 12}}}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[400];
        snprintf(text, sizeof text,
                 F("%%a: tensor<4xf32> {mhlo.sharding = \"%s\"}", "tensor<4xf32> {mhlo.sharding = \"%s\"}",
                   "return %%a : tensor<4xf32>"),
                 rows[i].from, rows[i].to);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 2};
        ok(pass_lower_spmd(&c, m), text);
        run r = {.grid = grid_of(2), .n_in = 1, .n_out = 1};
        ir_func *part = ir_func_find(m, "main");
        const ir_type *in_type = part->body->args[0]->type;
        add_main(m, &r);
        ok(ir_verify(m), text);
        array in[2], out[2];
        for (int k = 0; k < 2; k++) {
            ok(array_new(in_type, &in[k]), text);
            for (int64_t e = 0; e < in_type->count; e++)
                array_set(&in[k], e, (double)(e + 1 + (rows[i].from[1] == 'r' ? 0 : k * in_type->count)));
        }
        ok(interp_run(m, "main", NULL, 2, in, 2, out), text);
        for (int k = 0; k < 2; k++) {
            for (int64_t e = 0; e < out[k].type->count; e++) assert_true(array_get(&out[k], e) == rows[i].want[k][e]);
            array_free(&in[k]);
            array_free(&out[k]);
        }
        ir_module_free(m);
    }
}

/* Dims that the devices do not divide are filled up at the border: 5 rows over 4 devices are 2, 2, 1 and 0 of them. */
static void uneven(void **state) {
    (void)state;
    static const char text[] = F("%a: tensor<5x2xf32> {mhlo.sharding = \"{devices=[4,1]<=[4]}\"}",
                                 "tensor<2x5xf32> {mhlo.sharding = \"{devices=[1,4]<=[4]}\"}, tensor<f32>",
                                 Z "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<5x2xf32>) -> tensor<2x5xf32>\n"
                                   "%1 = \"stablehlo.reduce\"(%a, %z) " ADD
                                   " {dimensions = array<i64: 0, 1>} : (tensor<5x2xf32>, tensor<f32>) -> tensor<f32>\n"
                                   "return %0, %1 : tensor<2x5xf32>, tensor<f32>");
    ir_module *m = parsed(text);
    pass_ctx c = {.partitions = 4};
    ok(pass_lower_spmd(&c, m), text);
    run r = {.grid = grid_of(4), .n_in = 1, .n_out = 2};
    array in[4], out[8];
    const ir_type *t = ir_func_find(m, "main")->body->args[0]->type;
    assert_int_equal(t->dims[0], 2);
    add_main(m, &r);
    ok(ir_verify(m), text);
    for (int64_t k = 0; k < 4; k++) {
        ok(array_new(t, &in[k]), text);
        /* what fills up may be anything */
        for (int64_t e = 0; e < 4; e++) array_set(&in[k], e, 4 * k + e < 10 ? (double)(4 * k + e) : 1e6);
    }
    ok(interp_run(m, "main", NULL, 4, in, 8, out), text);
    for (int64_t k = 0; k < 4; k++) {
        assert_int_equal(out[2 * k].type->dims[1], 2);
        for (int64_t e = 0; e < 2 && 2 * k + e < 5; e++) /* column 2 k + e of the transpose is that row */
            for (int64_t row = 0; row < 2; row++)
                assert_true(array_get(&out[2 * k], 2 * row + e) == (double)(2 * (2 * k + e) + row));
        assert_true(array_get(&out[2 * k + 1], 0) == 45);
        array_free(&in[k]);
        array_free(&out[2 * k]);
        array_free(&out[2 * k + 1]);
    }
    ir_module_free(m);
}

/* What is said of a result that may stay divided: in the words of the program, and in the order of its devices. */
static void kept_divided(void **state) {
    (void)state;
    static const struct {
        const char *arg, *result;
    } rows[] = {
        {"{devices=[1,4]<=[4]}", "{devices=[1,4]<=[4]}"},
        {"{devices=[1,4]0,1,2,3}", "{devices=[1,4]0,1,2,3}"},
        {"{devices=[1,4]3,0,2,1}", "{devices=[1,4]3,0,2,1}"},
        {"{devices=[2,1,2]3,0,2,1 last_tile_dim_replicate}", "{devices=[2,1,2]3,0,2,1 last_tile_dim_replicate}"}};
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        char text[300];
        snprintf(text, sizeof text,
                 F("%%a: tensor<4x8xf32> {mhlo.sharding = \"%s\"}", "tensor<4x8xf32>",
                   "%%0 = stablehlo.negate %%a : tensor<4x8xf32>\n"
                   "return %%0 : tensor<4x8xf32>"),
                 rows[i].arg);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 4, .keep_divided = true};
        ok(pass_lower_spmd(&c, m), text);
        ir_func *f = ir_func_find(m, "main");
        assert_string_equal(ir_sharding_text(f->n_result_attrs[0], f->result_attrs[0]), rows[i].result);
        ir_module_free(m);
    }
}

static void one_device(void **state) {
    (void)state;
    ir_module *m = parsed(F("%a: tensor<4xf32> {mhlo.sharding = \"{replicated}\"}", "tensor<4xf32>",
                            "%0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = \"{replicated}\"} : "
                            "(tensor<4xf32>) -> tensor<4xf32>\n"
                            "return %0 : tensor<4xf32>"));
    pass_ctx c = {0};
    ok(pass_lower_spmd(&c, m), "one device");
    ir_op *first = ir_func_find(m, "main")->body->first;
    assert_int_equal(first->code, OP_func_return);
    ir_module_free(m);
}

static char told[2][64];
static int tell(int64_t id, const char *sharding, char *error, size_t error_size) {
    if (id == 2) {
        snprintf(error, error_size, "said no");
        return 1;
    }
    snprintf(told[id], sizeof told[id], "%s", sharding);
    return 0;
}

/* A program asks how a value is divided: the function is told, and the op is gone. On devices that all do the whole it
 * is told so; its failure is an error. */
static void inspected(void **state) {
    (void)state;
    char text[1200];
    const char *call =
        "stablehlo.custom_call @xtrain_inspect_sharding(%%%s) {api_version = 4 : i32, has_side_effect = true, "
        "mhlo.backend_config = {function = %llu : i64, id = %d : i64}} : (tensor<4x8xf32>) -> ()\n";
    for (int round = -1; round < 3; round++) { /* -1: nobody has named the function */
        char one[400], two[400];
        unsigned long long f = (unsigned long long)(uintptr_t)tell;
        if (round == 0) assert_int_equal(xtrain_allow_host_function((void *)(uintptr_t)tell), 0);
        snprintf(one, sizeof one, call, "a", f, 0);
        snprintf(two, sizeof two, call, "n", f, round == 2 ? 2 : 1);
        snprintf(text, sizeof text,
                 "func.func @main(%%a: tensor<4x8xf32> %s) -> (tensor<4x8xf32>) {\n"
                 "%s%%n = stablehlo.negate %%a : tensor<4x8xf32>\n"
                 "%sreturn %%n : tensor<4x8xf32>\n"
                 "}\n",
                 round == 1 ? "" : "{mhlo.sharding = \"{devices=[1,4]<=[4]}\"}", one, two);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 4};
        memset(told, 0, sizeof told);
        xt_status s = pass_lower_spmd(&c, m);
        if (round == -1 || round == 2) {
            assert_true(s &&
                        strstr(xt_status_message(s), round == 2 ? "said no" : "its function is none of this process"));
            assert_true(round == 2 || !told[0][0]);
            xt_status_free(s);
        } else {
            ok(s, text);
            for (int k = 0; k < 2; k++) assert_string_equal(told[k], round ? "{replicated}" : "{devices=[1,4]<=[4]}");
            assert_int_equal(ir_func_find(m, "main")->body->first->code, OP_negate);
        }
        ir_module_free(m);
    }
}

/* A callback that each device makes with its own parts gets what there is of the value, others the whole. */
static void told_in_parts(void **state) {
    (void)state;
    for (int partitioned = 0; partitioned < 2; partitioned++) {
        char text[700];
        snprintf(
            text, sizeof text,
            "func.func @main(%%a: tensor<4x8xf32> {mhlo.sharding = \"{devices=[1,4]<=[4]}\"}) -> (tensor<4x8xf32>) {\n"
            "%%n = stablehlo.negate %%a : tensor<4x8xf32>\n"
            "stablehlo.custom_call @xtrain_host_callback(%%n) {api_version = 4 : i32, has_side_effect = true, "
            "mhlo.backend_config = {function = 0 : i64, id = 1 : i64, partitioned = %d : i64}} : (tensor<4x8xf32>) -> "
            "()\n"
            "return %%n : tensor<4x8xf32>\n}\n",
            partitioned);
        ir_module *m = parsed(text);
        pass_ctx c = {.partitions = 4, .keep_divided = true};
        ok(pass_lower_spmd(&c, m), text);
        const ir_op *call = ir_func_find(m, "main")->body->first;
        while (call->code != OP_custom_call) call = call->next;
        assert_int_equal(call->in[0]->type->dims[1], partitioned ? 2 : 8);
        assert_int_equal(c.spmd.all_gather, !partitioned);
        ir_module_free(m);
    }
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {F("%a: tensor<8xf32> {mhlo.sharding = \"{devices=[2]<=[2]}\"}", "tensor<8xf32>", "return %a : tensor<8xf32>"),
         "is no sharding"},
        {F("%a: tensor<8x2xf32> {mhlo.sharding = \"{devices=[4]<=[4]}\"}", "tensor<8x2xf32>",
           "return %a : tensor<8x2xf32>"),
         "speaks of 1 dims"},
        {F("%a: tensor<8xf32> {mhlo.sharding = \"{devices=[4]0,3,1,1}\"}", "tensor<8xf32>",
           "return %a : tensor<8xf32>"),
         "is no sharding"},
        {F("%a: tensor<8xf32> {mhlo.sharding = \"{devices=[4]<=[4]}\"}", "tensor<4xf32>",
           "%0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = \"{manual}\"} : (tensor<8xf32>) -> "
           "tensor<4xf32>\n"
           "return %0 : tensor<4xf32>"),
         "not the whole and the part"},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        ir_module *m = parsed(rows[i].text);
        pass_ctx c = {.partitions = 4};
        xt_status s = pass_lower_spmd(&c, m);
        if (!s || !strstr(xt_status_message(s), rows[i].words))
            fail_msg("\"%s\" has no \"%s\"", xt_status_message(s), rows[i].words);
        xt_status_free(s);
        ir_module_free(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(divided_loop),
        cmocka_unit_test(summands),
        cmocka_unit_test(uneven),
        cmocka_unit_test(kept_divided),
        cmocka_unit_test(data_parallel),
        cmocka_unit_test(tensor_parallel),
        cmocka_unit_test(matrices_stay_divided),
        cmocka_unit_test(one_matrix_is_whole),
        cmocka_unit_test(fully_sharded),
        cmocka_unit_test(divided_table),
        cmocka_unit_test(sent_on),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(one_device),
        cmocka_unit_test(inspected),
        cmocka_unit_test(told_in_parts),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
