/* Integers of less than a byte (i2, u2, i4, u4). Each is kept in a byte whose low bits say what it is; the others are
 * the sign's in this library's memory (an i4 of -2 is 0xfe), and zero where XLA's clients and their numpy arrays meet a
 * device (0x0e). Files have either. */
#ifndef XT_SRC_BASE_NARROW_H
#define XT_SRC_BASE_NARROW_H

#include "base/base.h"

unsigned narrow_bits(xt_dtype t); /* 255 for types that are not narrow; else the low bits that count */
void narrow_extend(xt_dtype t, void *data, size_t n); /* n bytes to this library's form; other types are left alone */
void narrow_mask(xt_dtype t, void *data, size_t n); /* to the one with zeros */

#endif
