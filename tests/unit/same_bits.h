/* Two ways to one result. On our compiler both have the same bits. Another compiler may round a program of two steps
 * in another way than two of one, so there a number differs by at most 1e-5 of the largest that it stands among: of a
 * number near 0 that others were subtracted to, the rounding of those is left. */
#ifndef XT_TESTS_SAME_BITS_H
#define XT_TESTS_SAME_BITS_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The first of n numbers that is not the same; -1 if all are. */
static int other_number(int n, const double *want, const double *got) {
    const char *device = getenv("XT_DEVICE");
    double largest = 0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(want[i]));
    if (!device || strcmp(device, "CPU") == 0) largest = 0;
    for (int i = 0; i < n; i++) {
        bool near = largest > 0 && fabs(want[i] - got[i]) <= 1e-5 * largest;
        if (!near && memcmp(&want[i], &got[i], sizeof *want) != 0) return i;
    }
    return -1;
}

#endif
