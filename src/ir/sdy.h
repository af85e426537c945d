/* Shardy's spellings of shardings, which speak of the named axes of a mesh, turned into the texts of ir/sharding.h.
 *
 *     #sdy.mesh<["x"=2, "y"=4]>   #sdy.mesh<["x"=2, "y"=2], device_ids=[0, 2, 1, 3]>   #sdy.mesh<[], device_ids=[3]>
 *     #sdy.sharding<@mesh, [{"x", "y":(1)2}, {?}], replicated={"z"}>
 *
 * The mesh's first axis is the slowest; "y":(1)2 is the part of axis y that is 2 large and has 1 before it. A `?`
 * leaves a dim to the compiler.
 *
 * Source: the attributes' definitions in Shardy's documentation (openxla.org/shardy). */
#ifndef XT_SRC_IR_SDY_H
#define XT_SRC_IR_SDY_H

#include "ir/ir.h"

typedef struct sdy_wish { /* which part of a sharding is asked for */
    const char *only; /* a list of axes, `{"x", "y"}`, that count; NULL: all */
    bool even; /* axes that do not divide their dim are left out, from the last */
} sdy_wish;
typedef struct sdy_form {
    bool open; /* it wants nothing: no axis, and a dim or more left to the compiler */
    uint32_t open_dims; /* that the compiler may divide further (a set) */
    int64_t devices; /* of the mesh; 1 for one without axes */
} sdy_form;
/* `sharding` of a value of type `t`, as mhlo.sharding's text appended to `out`. Meshes are looked up in m. */
xt_status ir_sdy_text(const ir_module *m, const char *sharding, const ir_type *t, const sdy_wish *wish,
                      sdy_form *out_form, str *out);
/* Sharding i of a list `#sdy.sharding_per_value<[<...>, <...>]>`: what to pass to ir_sdy_text; NULL when
 * there is none. */
const char *ir_sdy_of_value(const char *list, size_t i);
/* Devices along axes of a mesh in groups, as replica_groups: `mesh` its symbol or spelling, `axes` a list `["x",
 * "y":(1)2]`. base_free the ids. */
xt_status ir_sdy_groups(const ir_module *m, const char *mesh, const char *axes, int64_t *out_groups,
                        int64_t *out_members, int64_t **out_ids);
/* The same for StableHLO's own spelling of them: #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes =
 * [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>. */
bool ir_sdy_is_groups(const char *text);
xt_status ir_sdy_groups_of(const ir_module *m, const char *text, int64_t *out_groups, int64_t *out_members,
                           int64_t **out_ids);

#endif
