/* One process per TPU chip: the variables libtpu reads to divide a host's chips. Sources: Cloud TPU's guide to several
 * processes on one host, and the values PyTorch/XLA's runtime sets (torch_xla/_internal/tpu.py); facts only.
 *
 * The bounds are the shape of the processes in the chips' mesh, x,y,z. Only these numbers of processes make a box of a
 * host's chips. */
#include <stdlib.h>

#include "device/device.h"
#include "dist/dist_int.h"

static const struct {
    int n;
    const char *bounds;
} boxes[] = {{1, "1,1,1"}, {2, "1,2,1"}, {4, "2,2,1"}, {8, "2,4,1"}, {16, "4,4,1"}};

enum { FIRST_PORT = 8476 }; /* libtpu's own default */

/* Chip `rank` of the visible ones. */
static void visible_chip(int rank, env_list *out) {
    const char *list = getenv("TPU_VISIBLE_CHIPS");
    if (!list || !*list) {
        env_add(out, "TPU_VISIBLE_CHIPS", "%d", rank);
        return;
    }
    for (int i = 0; i < rank && *list; i++) {
        list += strcspn(list, ",");
        if (*list) list++;
    }
    env_add(out, "TPU_VISIBLE_CHIPS", "%.*s", (int)strcspn(list, ","), list);
}

static void addresses(int n, str *out) {
    for (int i = 0; i < n; i++) str_printf(out, "%slocalhost:%d", i ? "," : "", FIRST_PORT + i);
}

xt_status tpu_env(int rank, int n, env_list *out) {
    const char *bounds = NULL;
    for (size_t i = 0; i < BASE_COUNT(boxes); i++)
        if (boxes[i].n == n) bounds = boxes[i].bounds;
    if (!bounds)
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "%d TPU chips do not form a box of one host's mesh; 1, 2, 4, 8 or 16 do: set TPU_NUM_DEVICES",
                          n);
    int visible = device_count_list(getenv("TPU_VISIBLE_CHIPS"));
    if (visible && visible < n)
        return status_new(
            XT_INVALID_ARGUMENT, NULL,
            "TPU_VISIBLE_CHIPS=%s names %d chip%s, and %d processes need %d: name as many there, or unset "
            "it",
            getenv("TPU_VISIBLE_CHIPS"), visible, visible == 1 ? "" : "s", n, n);
    str all = STR_INIT;
    addresses(n, &all);
    visible_chip(rank, out);
    env_add(out, "TPU_CHIPS_PER_PROCESS_BOUNDS", "1,1,1");
    env_add(out, "TPU_PROCESS_BOUNDS", "%s", bounds);
    env_add(out, "TPU_PROCESS_ADDRESSES", "%s", str_cstr(&all));
    env_add(out, "TPU_PROCESS_PORT", "%d", FIRST_PORT + rank);
    env_add(out, "CLOUD_TPU_TASK_ID", "%d", rank);
    env_add(out, "TPU_NUM_DEVICES", "1"); /* what this rank sees */
    str_free(&all);
    return NULL;
}
