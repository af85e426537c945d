/* The memory of what programs hold by handle: modules, optimizers, loaders, ... (handle.def). A handle is the address
 * of its object, and no address is given out twice, so that the address is the generation too: one that was freed
 * stays known as freed, and is never taken for a later object. Of statuses, which a long run may make by the million,
 * the last 1,024 that were freed are known as freed; then their places are used again, the oldest first.
 *
 *     xt_module *m = handle_new(HANDLE_module, sizeof *m);     zeros; NULL without memory
 *     handle_look(HANDLE_module, m) == HANDLE_LIVES            of any pointer, which is not read
 *     handle_free(m);
 *
 * Looking takes no lock and no memory of the object's; any thread may. Public functions look at all their handles
 * before they begin (src/api), so the library's own code need not. */
#ifndef XT_SRC_BASE_HANDLE_H
#define XT_SRC_BASE_HANDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum handle_kind {
#define HANDLE(kind, word, advice, places) HANDLE_##kind,
#include "base/handle.def"
#undef HANDLE
    HANDLE_KINDS
} handle_kind;

typedef enum handle_state {
    HANDLE_LIVES,
    HANDLE_NULL,
    HANDLE_FREED, /* by the program, or with what owned it */
    HANDLE_FINISHED, /* by xt_finish */
    HANDLE_ORPHAN, /* it lives, but what it needs (handle_needs) does not */
    HANDLE_ELSEWHERE, /* it, or what it needs, lives in another thread (handle_settle) */
    HANDLE_OTHER_KIND,
    HANDLE_FOREIGN /* never made here */
} handle_state;

void *handle_new(handle_kind kind, size_t size);
void handle_free(void *object); /* NULL is allowed */
bool status_is_static(const void *p); /* status.c: one of those for lack of memory, which always live */
handle_state handle_look(handle_kind kind, const void *p);
handle_kind handle_kind_of(const void *p); /* of one that lives or was freed; HANDLE_KINDS: foreign */
const void *handle_freed_from(const void *p); /* the return address that handle_frees_from was told; else NULL */
const char *handle_word(handle_kind kind);
const char *handle_advice(handle_kind kind); /* of one that was freed; "" */

/* `object` is of no use without `needed`, which may be freed first. */
void handle_needs(void *object, const void *needed);
handle_kind handle_needed_kind(const void *object);

/* From here on the object is this thread's: what it holds (tensors) means nothing in another, where it can only be
 * freed. */
void handle_settle(void *object);
uint64_t handle_thread(void); /* this thread's number, from 1 on: no later thread has it */

/* While a function of the user's runs that was handed the object, it is not to be freed. */
void handle_pin(const void *object);
void handle_unpin(const void *object);
bool handle_is_pinned(const void *object);

/* Of this thread: from where the program asked for what is freed next, and that it is xt_finish who frees. Both give
 * what was set before. */
const void *handle_frees_from(const void *return_address);
bool handle_finishing(bool on);

#endif
