/* Hosts of one machine for bench/scale_sim: network namespaces with names and addresses of their own on one bridge, and
 * mpirun's way from one to another, which is the benchmark itself (its first argument SCALE_AGENT). */
#ifndef XT_BENCH_SCALE_HOSTS_H
#define XT_BENCH_SCALE_HOSTS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define SCALE_AGENT "--agent"

typedef struct scale_hosts {
    int n, id;
    char program[4096]; /* this one, by its whole path */
} scale_hosts;

/* False where namespaces are not permitted, or ip or mpirun is not there: it says so on stderr. */
bool scale_hosts_make(int n, const char *program, scale_hosts *out);
void scale_hosts_free(scale_hosts *h); /* ends what runs in them */
/* `ranks` processes of the program with these arguments by mpirun on the first `hosts` of them, the first ones having
 * one more where they do not divide. *out_text: what they print, both streams. Negative: it could not be started. */
pid_t scale_hosts_start(const scale_hosts *h, int hosts, int ranks, const char *const *args, FILE **out_text);
int scale_hosts_agent(int argc, char **argv);

#endif
