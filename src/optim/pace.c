/* Whether the ranks of plain data parallel training are in step: the gradients of one optimizer step are averaged, and
 * each rank's are of the batch it has taken last. A rank that leaves a step out (an `if` on its own data) is one batch
 * ahead of the others from there on, and a run in which each leaves out one ends as if nothing had been. At the
 * optimizer's steps 1, 2, 4, 8, ... every rank leaves a note of its batch and its line, and compares that of rank 0 at
 * the steps that follow, when it is there: nobody waits. Said once. */
#include <stdlib.h>

#include "lazy/mesh/mesh.h"
#include "optim/optim.h"

static bool marks(int64_t step) {
    return (step & (step - 1)) == 0;
}

/* Optimizers by the order of their first steps, which ranks that are alike have alike. */
static int64_t number_of(xt_optimizer *o) {
    static _Atomic int64_t numbers;
    if (o->pace.number == 0) o->pace.number = ++numbers;
    return o->pace.number;
}

static void leave_note(const xt_src *src, xt_optimizer *o) {
    const lazy_position *at = lazy_position_of_thread();
    char line[256];
    int64_t step = o->updater.steps + 1;
    if (!at->loader || !marks(step)) return;
    snprintf(o->pace.key, sizeof o->pace.key, "pace/%lld/%lld", (long long)number_of(o), (long long)step);
    o->pace.batch = at->batch;
    o->pace.epoch = at->epoch;
    o->pace.step = step;
    snprintf(o->pace.line, sizeof o->pace.line, "%s", src_text(src_intern(src), line, sizeof line));
    if (world_get()->rank != 0) return;
    char note[sizeof o->pace.line + 64];
    snprintf(note, sizeof note, "%lld %lld %s", (long long)at->epoch, (long long)at->batch, o->pace.line);
    lazy_ranks_note(o->pace.key, note);
}

static void compare(xt_optimizer *o) {
    char note[sizeof o->pace.line + 64], *line;
    if (!o->pace.step || world_get()->rank == 0 || !lazy_ranks_look(o->pace.key, note, sizeof note)) return;
    long long step = o->pace.step, epoch = strtoll(note, &line, 10), batch = strtoll(line, &line, 10);
    o->pace.step = 0;
    if (epoch == o->pace.epoch && batch == o->pace.batch) return;
    o->pace.told = true;
    log_msg(
        XT_SEV_WARNING,
        "the ranks are out of step: optimizer step %lld is of batch %lld of epoch %lld on rank %d (%s) and of batch "
        "%lld of epoch %lld on rank 0 (%s), and their gradients are averaged all the same; a step that one rank "
        "leaves out must be left out on all (said once)",
        step, (long long)o->pace.batch, (long long)o->pace.epoch, world_get()->rank, o->pace.line, batch, epoch,
        *line == ' ' ? line + 1 : line);
}

void pace_check(const xt_src *src, xt_optimizer *o) {
    if (o->pace.told || world_get()->size < 2 || lazy_spmd()) return;
    compare(o);
    leave_note(src, o);
}
