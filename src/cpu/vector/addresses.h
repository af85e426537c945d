/* Processes whose addresses are limited (`ulimit -v`): libraries that cannot bear to be refused memory are not called
 * there unless as much as they may ask for is free. */
#ifndef XT_SRC_CPU_VECTOR_ADDRESSES_H
#define XT_SRC_CPU_VECTOR_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>

/* So many bytes of addresses could be had now; true where there is no limit. */
bool addresses_are_free(size_t bytes);

#endif
