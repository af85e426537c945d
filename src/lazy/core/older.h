/* Older results of compiled steps, which wait for the program to read them (older.c): what they take. */
#ifndef XT_SRC_LAZY_OLDER_H
#define XT_SRC_LAZY_OLDER_H

#include <stdint.h>

int64_t lazy_older_memory(void); /* of this thread's: about so many bytes of the process's own, no growth */

#endif
