/* Code points by general category, as sorted ranges that do not touch. */
#ifndef XTRAIN_MODELS_UNICODE_RANGES_H
#define XTRAIN_MODELS_UNICODE_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct unicode_range {
    uint32_t first, last;
} unicode_range;
extern const unicode_range unicode_letters[], unicode_numbers[];
extern const size_t unicode_letter_count, unicode_number_count;

#endif
