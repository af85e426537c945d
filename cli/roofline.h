/* What this machine can do at most, measured now: multiply-adds in registers, and bytes from each level of memory.
 * Never a constant, because clocks, other people's work and the cores one is given change from hour to hour. */
#ifndef XTRAIN_CLI_ROOFLINE_H
#define XTRAIN_CLI_ROOFLINE_H

#include <stdbool.h>
#include <stdint.h>

enum { ROOFLINE_LEVELS = 4 };
typedef struct roofline {
    int threads;
    char vectors[16]; /* "AVX-512", "AVX2", "NEON" or "plain": what the loops were compiled for */
    /* of all threads together; bf16 with f32 sums, the better of a loop in registers and a matrix product */
    double f32_gflops, bf16_gflops;
    double bytes[ROOFLINE_LEVELS]; /* footprints of the triad a = b + s c over all threads, smallest first */
    double gbs[ROOFLINE_LEVELS]; /* what it moves, counting two reads and a write */
} roofline;

/* About half a second. `threads` 0: OMP_NUM_THREADS, or the cores this process may use. In a process that this one
 * starts, with the library's device for the matrix product: call it before this process opens a device. */
bool roofline_measure(int threads, roofline *out);
/* GB/s for data of this size: that of the smallest footprint measured that holds it. */
double roofline_gbs(const roofline *r, double bytes);
/* The shortest time in us for this work by the roofline: whichever of arithmetic and memory takes longer. */
double roofline_us(const roofline *r, double flops, double bytes, bool bf16);
void roofline_print(const roofline *r); /* a short table */
void roofline_print_json(const roofline *r); /* an object, without a line's end */

#endif
