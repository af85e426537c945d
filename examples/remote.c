/* Functions called by name on other ranks, wherever mpirun put them:
 *     mpirun -np 4 ./remote ./remote_module.so 1000000000
 * Each rank adds up its part of the series 1 - 1/3 + 1/5 - ... (pi / 4); rank 0 calls them, adds the parts and says
 * who did what. */
#include <stdio.h>
#include <stdlib.h>

#include <xtrain/xtrain.h>

static int drive(void *user) {
    char **argv = user;
    long terms = argv[2] ? atol(argv[2]) : 1000;
    xt_remote_results results;
    xt_status st = xt_remote_call(argv[1], argv[2] && argv[3] ? argv[3] : "part_of_pi", &terms, sizeof terms, &results);
    double pi = 0;
    for (size_t i = 0; i < results.n && !st; i++) {
        pi += 4 * *(const double *)results.rows[i].data;
        printf("rank %d on %s added its part\n", results.rows[i].rank, results.rows[i].host);
    }
    if (st)
        fprintf(stderr, "%s\n", xt_status_message(st));
    else
        printf("pi is %.6f\n", pi);
    int code = st ? 1 : 0;
    xt_remote_results_free(&results);
    xt_status_free(st);
    return code;
}

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: mpirun -np N ./remote MODULE.so [TERMS [SYMBOL]]\n"), 2;
    return xt_remote_run(drive, argv);
}
