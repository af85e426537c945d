/* Meshes and shardings as users write them: what is refused and with which words, what one device does with them, and
 * what the trace says for several. Sharding texts are read and written here too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/sharding.h"
#include "lazy/core/ctx.h"
#include "lazy/mesh/mesh.h"
#include <xtrain/xtrain.h>

/* --- texts --- */
static void texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t devices;
        size_t rank;
        const char *back; /* over a grid made for this text alone; NULL: refused */
    } rows[] = {
        {"{replicated}", 4, 2, "{replicated}"},
        {"{devices=[4,1]<=[4]}", 4, 2, "{devices=[4,1]<=[4]}"},
        {"{devices=[2,2]0,1,2,3}", 4, 2, "{devices=[2,2]<=[4]}"},
        {"{devices=[2,1,2]<=[4] last_tile_dim_replicate}", 4, 2, "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
        {"{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}", 4, 2,
         "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
        {"{devices=[1,2,2]<=[4] last_tile_dims={replicated}}", 4, 2, "{devices=[1,2,2]<=[4] last_tile_dim_replicate}"},
        {"{devices=[2,2]0,2,1,3}", 4, 2, "{devices=[2,2]<=[2,2]T(1,0)}"},
        {"{devices=[3,2]<=[6]}", 6, 2, "{devices=[3,2]<=[6]}"},
        {"{devices=[6]<=[2,3]T(1,0)}", 6, 1, "{devices=[6]<=[2,3]T(1,0)}"},
        {"{maximal device=1}", 4, 1, "{replicated}"},
        {"{devices=[4]0,1,3,2}", 4, 1, "{devices=[4]<=[4]}"}, /* over the places of that order */
        {"{devices=[2,2]3,2,1,0}", 4, 2, "{devices=[2,2]<=[4]}"},
        {"{unreduced}", 4, 2, "{devices=[1,1,4]<=[4] last_tile_dims={unreduced}}"},
        {"{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}", 4, 2,
         "{devices=[2,1,2]<=[4] last_tile_dims={unreduced}}"},
        {"{devices=[1,2,2]<=[4] last_tile_dims={unreduced, replicated}}", 4, 1,
         "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={replicated, unreduced}}"},
        {"{devices=[4]0,1,3,3}", 4, 1, NULL},
        {"{devices=[4]0,1,3,4}", 4, 1, NULL},
        {"{devices=[3]<=[4]}", 4, 1, NULL},
        {"{devices=[4]<=[4]", 4, 1, NULL},
        {"{devices=[4]<=[4]T(0,1)}", 4, 1, NULL},
        {"{devices=[99999999999999999999]<=[4]}", 4, 1, NULL},
        {"", 4, 1, NULL},
    };
    for (size_t i = 0; i < BASE_COUNT(rows); i++) {
        ir_tiles t;
        ir_grid g;
        ir_sharding s;
        const ir_tiles *all[] = {&t};
        xt_status st = ir_tiles_parse(rows[i].text, rows[i].devices, NULL, &t);
        if (!st) st = ir_grid_make(rows[i].devices, 1, all, &g);
        if (!st) st = ir_sharding_map(&g, &t, &s);
        if (!rows[i].back) {
            if (!st) fail_msg("%s was taken", rows[i].text);
            xt_status_free(st);
            continue;
        }
        if (st) fail_msg("%s: %s", rows[i].text, xt_status_message(st));
        str out = STR_INIT;
        ir_sharding_print(&g, &s, rows[i].rank, &out);
        assert_string_equal(str_cstr(&out), rows[i].back);
        str_free(&out);
    }
}

/* --- what is refused --- */
static void refused(const char *words, int line) {
    assert_non_null(xt_error());
    const char *m = xt_status_message(xt_error());
    char at[64];
    snprintf(at, sizeof at, "test_mesh.c:%d", line);
    if (!strstr(m, words)) fail_msg("\"%s\" has no \"%s\"", m, words);
    if (!strstr(m, at)) fail_msg("\"%s\" names another line than %s", m, at);
    xt_clear_error();
}

static void bad_meshes(void **state) {
    (void)state;
    assert_null(xt_mesh_new({"data", 4}));
    refused("needs 4 devices, the run has 1", __LINE__ - 1);
    lazy_mesh_pretend(8);
    assert_null(xt_mesh_new({"data", 4}, {"data", 2}));
    refused("axis \"data\" stands twice", __LINE__ - 1);
    assert_null(xt_mesh_new({"data", 4}));
    refused("takes all of them", __LINE__ - 1);
    assert_null(xt_mesh_new({"data", 0}, {"tensor", 3}));
    refused("has 3 devices times what is left, the run has 8", __LINE__ - 1);
    assert_null(xt_mesh_new({"data", 0}, {"tensor", 0}));
    refused("both have size 0", __LINE__ - 1);
    assert_null(xt_mesh_new({"data", -2}));
    refused("has size -2", __LINE__ - 1);
    assert_null(xt_mesh_new({"a b", 8}));
    refused("is no name of an axis", __LINE__ - 1);
    xt_mesh *m = xt_mesh_new({"data", 0}, {"tensor", 2});
    assert_non_null(m);
    assert_int_equal(xt_mesh_size(m, NULL), 8);
    assert_int_equal(xt_mesh_size(m, "data"), 4);
    assert_int_equal(xt_mesh_size(m, "data+tensor"), 8);
    assert_int_equal(xt_mesh_size(m, "pipe"), 0);
    assert_int_equal(xt_mesh_coordinate(m, "data"), 0);
    assert_null(xt_mesh_new({"data", 8}));
    refused("has a mesh already", __LINE__ - 1);
    xt_tensor t = xt_zeros(XT_F32, 8, 6);
    assert_true(xt_is_error(xt_shard(t, m, "pipe")));
    refused("has no axis \"pipe\"; it has \"data\", \"tensor\"", __LINE__ - 1);
    assert_true(xt_is_error(xt_shard(t, m, "data", "data")));
    refused("axis \"data\" stands twice", __LINE__ - 1);
    assert_true(xt_is_error(xt_shard(t, m, NULL, "data+tensor")));
    refused("dim 1 of tensor<8x6xf32> is 6, so some of the 8 devices along \"data+tensor\" would have nothing of it",
            __LINE__ - 2);
    assert_true(xt_is_error(xt_shard(t, m, NULL, NULL, "data")));
    refused("3 axis lists for a tensor of 2 dims", __LINE__ - 1);
    assert_true(xt_is_error(xt_shard(t, NULL, "data")));
    refused("the mesh is NULL", __LINE__ - 1);
    xt_mesh_batch(m, "date");
    refused("has no axis \"date\"", __LINE__ - 1);
    xt_mesh_free(m);
    lazy_mesh_pretend(0);
    lazy_reset_thread();
}

/* --- what is recorded --- */
static void recorded(void **state) {
    (void)state;
    lazy_mesh_pretend(8);
    xt_mesh *m = xt_mesh_new({"data", 0}, {"tensor", 2});
    xt_tensor x = xt_requires_grad(xt_mul_scalar(xt_ones(XT_F32, 8, 6), 3), true);
    xt_tensor y = xt_shard(x, m, "data", NULL), z = xt_shard(y, m, "tensor+data", NULL);
    z = xt_shard(z, m, NULL, "tensor");
    xt_backward(xt_sum(xt_shard(z, m)));
    assert_null(xt_error());
    str text = STR_INIT;
    assert_null(ir_print(lazy_ctx_get()->b.m, 0, &text));
    static const char *const want[] = {"{devices=[4,1,2]<=[8] last_tile_dim_replicate}", "{devices=[8,1]<=[4,2]T(1,0)}",
                                       "{devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}", "{replicated}",
                                       "custom_call @Sharding"};
    for (size_t i = 0; i < BASE_COUNT(want); i++) { /* forward and backward */
        const char *first = strstr(str_cstr(&text), want[i]);
        if (!first || !strstr(first + 1, want[i])) fail_msg("%s does not stand twice in\n%s", want[i], str_cstr(&text));
    }
    str_free(&text);
    lazy_reset_thread();
    xt_mesh_free(m);
    lazy_mesh_pretend(0);
}

/* --- one device: everything is checked and nothing happens --- */
static xt_tensor net(xt_module *m, xt_tensor x, void *user) {
    x = xt_relu(xt_linear(m, "fc1", x, 8));
    if (user) x = xt_shard(x, user, "data", "tensor");
    return xt_linear(m, "fc2", x, 2);
}

static double trained(bool with_mesh) {
    static float x[8][4];
    static int64_t y[8];
    for (int i = 0; i < 32; i++) x[i / 4][i % 4] = (float)((i * 7) % 11) / 11;
    for (int i = 0; i < 8; i++) y[i] = i % 2;
    xt_mesh *m = with_mesh ? xt_mesh_new({"data", 0}, {"tensor", 1}) : NULL;
    xt_module *n = xt_module_new(net, m);
    if (m) {
        xt_mesh_fsdp(m, n, "data");
        xt_mesh_tensor_parallel(m, n, "tensor");
        xt_shard_params(n, m, "fc?.weight", "tensor", "data");
    }
    xt_optimizer *o = xt_adamw(n, .lr = 0.01);
    xt_loader *l = xt_loader_new(xt_array_dataset(x, (xt_spec){XT_F32, {4}}, y, (xt_spec){XT_I64, {0}}, 8), .batch = 8);
    double last = 0;
    for (int e = 0; e < 5; e++)
        for (xt_batch b; xt_next(l, &b);) {
            xt_tensor loss = xt_cross_entropy(xt_forward(n, b.x), b.y);
            xt_backward(loss);
            xt_optimizer_step(o);
            last = xt_item(loss);
        }
    assert_int_equal(xt_finish(), 0);
    assert_int_equal(xt_live_objects("mesh"), 0);
    assert_int_equal(xt_live_objects("tensor"), 0);
    return last;
}

static void one_device(void **state) {
    (void)state;
    double without = trained(false);
    assert_true(without > 0 && without < 1);
    assert_true(trained(true) == without);
}

static void rules(void **state) {
    (void)state;
    lazy_mesh_pretend(4);
    xt_mesh *m = xt_mesh_new({"data", 2}, {"tensor", 2});
    xt_module *n = xt_module_new(net, NULL);
    xt_mesh_fsdp(m, n, "data");
    xt_shard_params(n, m, "fc1.*", "tensor");
    assert_null(xt_module_build(n, (xt_spec){XT_F32, {2, 4}}));
    static const struct {
        const char *name, *layout;
    } want[] = {{"fc1.weight", "{devices=[2,2]<=[2,2]T(1,0)}"},
                {"fc1.bias", "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"},
                {"fc2.weight", "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"},
                {"fc2.bias", NULL}};
    for (size_t i = 0; i < BASE_COUNT(want); i++) {
        const lazy_layout *l = lazy_layout_of(xt_module_find(n, want[i].name));
        if (!want[i].layout)
            assert_null(l);
        else
            assert_string_equal(l ? intern_text(l->text) : "whole", want[i].layout);
    }
    xt_shard_params(n, m, "fc2.weight", "tensor+data");
    refused("fc2.weight: dim 0 of tensor<2x8xf32> is 2, so some of the 4 devices along", __LINE__ - 1);
    xt_shard_params(n, m, "*", "tensor", "tensor");
    refused("axis \"tensor\" stands twice", __LINE__ - 1);
    xt_module_free(n);
    xt_mesh_free(m);
    lazy_mesh_pretend(0);
    lazy_reset_thread();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(bad_meshes),
                                       cmocka_unit_test(recorded), cmocka_unit_test(one_device),
                                       cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
