/* Older results of compiled steps. A loop without boundaries may collect what it gets from xt_call over an epoch and
 * read it behind: small results that are no longer among the newest of their call wait here, out of step_slots, which
 * each call and each boundary walks. Nothing but the program's own boundary ends them, and their number.
 *
 * An entry whose slot is dead, or was kept since, is passed over: the slot says by `older` whether it is one. */
#include "lazy/core/older.h"

#include "lazy/core/ctx.h"

enum {
    MOST = 16384,
    MOST_BYTES_EACH = 4096,
    HOST_BYTES_EACH = 1024 /* of a slot, its buffer, and the device's */
};
static const int64_t MOST_BYTES = (int64_t)16 << 20;

static void drop_oldest(lazy_ctx *c, src_id died) {
    lazy_older *o = &c->older;
    struct lazy_older_result oldest = o->ring[o->first];
    o->first = (o->first + 1) % MOST;
    o->n--;
    o->bytes -= oldest.bytes;
    const lazy_slot *s = lazy_slot_of(c, oldest.t);
    if (s && s->older) lazy_slot_free(c, oldest.t.slot, died);
}

void lazy_older_add(lazy_ctx *c, uint32_t index, src_id died) {
    lazy_older *o = &c->older;
    lazy_slot *s = &c->slots[index];
    int64_t bytes = s->buf->info.bytes;
    if (!o->ring) o->ring = base_malloc(MOST * sizeof *o->ring);
    if (!o->ring || bytes > MOST_BYTES_EACH) {
        lazy_slot_free(c, index, died);
        return;
    }
    while (o->n == MOST || o->bytes + bytes > MOST_BYTES) drop_oldest(c, died);
    o->ring[(o->first + o->n++) % MOST] = (struct lazy_older_result){{index, s->generation}, bytes};
    o->bytes += bytes;
    s->older = true;
    lazy_buf_older(s->buf);
    /* Those that die next have not been looked at for long: what is needed for it is on its way by then. */
    if (o->n < MOST) return;
    __builtin_prefetch(&c->slots[o->ring[(o->first + 2) % MOST].t.slot]);
    const lazy_slot *next = lazy_slot_of(c, o->ring[(o->first + 1) % MOST].t);
    if (next) __builtin_prefetch(next->buf);
}

bool lazy_older_read(lazy_ctx *c, uint32_t index) {
    lazy_older *o = &c->older;
    return !c->slots[index].older || VEC_PUSH(o->read, o->n_read, o->cap_read, index);
}

void lazy_older_end(lazy_ctx *c, src_id died) {
    while (c->older.n) drop_oldest(c, died);
}

int64_t lazy_older_memory(void) {
    const lazy_ctx *c = lazy_ctx_there();
    return c ? (int64_t)c->older.n * HOST_BYTES_EACH : 0;
}
