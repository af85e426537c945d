/* Objects a program need not free: modules, optimizers, loaders, trainers made by a thread are freed by its xt_finish,
 * newest first. */
#include "lazy/core/ctx.h"

typedef struct owned {
    void *object;
    void (*free_fn)(void *);
} owned;

static __thread owned *items;
static __thread size_t n_items, cap_items;

bool lazy_own(void *object, void (*free_fn)(void *)) {
    owned o = {object, free_fn};
    return VEC_PUSH(items, n_items, cap_items, o);
}

bool lazy_owns(const void *object) {
    for (size_t i = 0; i < n_items; i++)
        if (items[i].object == object) return true;
    return false;
}

/* The list goes with its last object: a thread that frees what it made leaves nothing behind when it ends. */
static void free_list(void) {
    base_free(items);
    items = NULL;
    n_items = cap_items = 0;
}

void lazy_disown(const void *object) {
    for (size_t i = n_items; i-- > 0;)
        if (items[i].object == object) {
            memmove(&items[i], &items[i + 1], (n_items - i - 1) * sizeof *items);
            if (!--n_items) free_list();
            return;
        }
}

void lazy_free_owned(void) {
    while (n_items) {
        owned o = items[--n_items];
        o.free_fn(o.object);
    }
    free_list();
}
