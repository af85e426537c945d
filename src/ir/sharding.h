/* How tensors lie over the devices of a program: XLA's `mhlo.sharding` texts, and the form the partitioner
 * computes with.
 *
 * A text gives every device one tile of the tensor. All shardings of one program are seen over one *grid*: devices are
 * numbered by digits (the axes of the grid, most significant first, each of prime size), and a sharding says for each
 * axis which dim of the tensor it divides (or none: then the devices along it hold the same, or summands of the value)
 * and in which order the axes of one dim stand. Everything people write with meshes has this form; a text that names
 * devices in another order is read as if they stood in the order of the tiles (`reordered`), and that order is had from
 * ir_tiles_order.
 *
 *     {replicated}   {devices=[4,1]<=[4]}   {devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
 *     {devices=[2,2]0,1,2,3}
 *     {unreduced}   {devices=[2,2]<=[4] last_tile_dims={unreduced}}
 *
 * Source: XLA's HloSharding (tile assignments, iota form "<=[dims]T(perm)"). */
#ifndef XT_SRC_IR_SHARDING_H
#define XT_SRC_IR_SHARDING_H

#include "ir/ir.h"

enum { IR_SHARD_AXES = 16, IR_SHARD_DEVICES = 4096 };
#define IR_TILE_SUMMANDS UINT32_MAX /* the dim of digits along which devices hold summands */

typedef struct ir_tile_digit { /* devices `stride` apart, `size` of them, divide `dim` */
    uint32_t dim;
    int64_t size, stride;
} ir_tile_digit;
typedef struct ir_tiles { /* a text, read */
    bool replicated, manual; /* neither: tiled. manual: every device's value is its own business */
    bool any_rank; /* all devices hold summands: the text says nothing of dims */
    bool reordered; /* the devices are numbered by place, not by their own numbers */
    size_t rank; /* tensor dims the text speaks of */
    size_t n_digits; /* per dim most significant first */
    ir_tile_digit digits[2 * IR_SHARD_AXES];
} ir_tiles;
/* INVALID_ARGUMENT: no sharding of `devices` devices. `place`, or NULL: the number that each device is
 * known by here. */
xt_status ir_tiles_parse(const char *text, int64_t devices, const int64_t *place, ir_tiles *out);
/* The device of each tile, [devices], of a text that has been parsed and is tiled. */
xt_status ir_tiles_order(const char *text, int64_t devices, int64_t *out_ids);

typedef struct ir_grid {
    int n_axes;
    int64_t devices, size[IR_SHARD_AXES], stride[IR_SHARD_AXES]; /* most significant first */
} ir_grid;
enum { IR_SHARD_SUMMANDS = -2 };
typedef struct ir_sharding {
    /* which dim an axis divides; -1: none; IR_SHARD_SUMMANDS: the value is the sum over it */
    int8_t dim[IR_SHARD_AXES];
    uint8_t pos[IR_SHARD_AXES]; /* its place among the axes of that dim, 0 = most significant; 0 where dim is -1 */
} ir_sharding;
/* The coarsest grid of primes on which all of `tiles` have a form; UNIMPLEMENTED when there is none. */
xt_status ir_grid_make(int64_t devices, size_t n, const ir_tiles *const *tiles, ir_grid *out);
xt_status ir_sharding_map(const ir_grid *g, const ir_tiles *t, ir_sharding *out);

ir_sharding ir_sharding_none(void);
bool ir_sharding_is_none(const ir_sharding *s);
unsigned ir_sharding_summands(const ir_sharding *s); /* the set of axes along which devices hold summands */
bool ir_sharding_equal(const ir_sharding *a, const ir_sharding *b);
/* The axes of a dim, most significant first; gives their number. */
int ir_sharding_axes(const ir_sharding *s, int dim, int8_t out[IR_SHARD_AXES]);
int64_t ir_sharding_parts(const ir_grid *g, const ir_sharding *s, int dim); /* into how many tiles the dim is divided */
void ir_sharding_add(ir_sharding *s, int axis, int dim); /* as the least significant of the dim */
void ir_sharding_drop(ir_sharding *s, int dim); /* the dim is whole */
/* Whether the dim's parts, which are of one size, have elements behind the dim's end. */
bool ir_sharding_uneven(const ir_grid *g, const ir_sharding *s, const ir_type *t, int dim);
/* The type of one device's tile. Of a dim that is not divisible each has ceil(n / parts): the last ones are filled up,
 * with anything. */
const ir_type *ir_shard_type(const ir_grid *g, const ir_sharding *s, const ir_type *t);
/* The text for a tensor of this rank. */
void ir_sharding_print(const ir_grid *g, const ir_sharding *s, size_t rank, str *out);

/* --- in programs --- */
#define IR_SHARDING_ATTR "mhlo.sharding"
/* custom_call @Sharding: x, laid out as `text` says */
ir_value *ir_annotate_sharding(ir_builder *b, ir_value *x, const char *text);
/* ... where these dims may be divided further */
ir_value *ir_annotate_sharding_open(ir_builder *b, ir_value *x, const char *text, uint32_t open_dims);
/* of such an annotation: backend_config = "unspecified_dims=[0,1]" */
uint32_t ir_sharding_open_dims(const ir_op *op);
bool ir_is_sharding(const ir_op *op); /* such an annotation */
/* of an op, an argument, a result; NULL: none */
const char *ir_sharding_text(size_t n_attrs, const ir_attr *attrs);

#endif
