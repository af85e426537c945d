/* One line from each rank.    CPU_NUM_DEVICES=4 ./hello    xtrain launch -n 4 -- ./hello    mpirun -np 4 ./hello */
#include <xtrain/xtrain.h>

#include <stdio.h>

static int hello(int rank, void *arg) {
    (void)arg;
    printf("hello from rank %d of %d\n", rank, xt_world_size());
    return 0;
}

int main(void) {
    return xt_launch(hello, NULL);
}
