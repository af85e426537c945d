/* What launching says when something is wrong. ./wrong_launch nprocs | fails | killed | late, with
 * CPU_NUM_DEVICES=2. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <xtrain/xtrain.h>

static int fails(int rank, void *arg) {
    (void)arg;
    if (rank == 1) return 9;
    pause();
    return 0;
}

static int killed(int rank, void *arg) {
    (void)arg;
    if (rank == 1) kill(getpid(), SIGKILL); /* as the kernel does when memory runs out */
    pause();
    return 0;
}

static int late(int rank, void *arg) {
    (void)arg;
    if (rank == 1) pause(); /* never reaches the barrier */
    xt_status s = xt_barrier(2);
    if (s) fprintf(stderr, "%s\n", xt_status_message(s));
    return s ? 3 : 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "nprocs";
    if (!strcmp(what, "fails")) return xt_launch(fails, NULL);
    if (!strcmp(what, "killed")) return xt_launch(killed, NULL);
    if (!strcmp(what, "late")) return xt_launch(late, NULL);
    return xt_launch(late, NULL, .nprocs = 8);
}
