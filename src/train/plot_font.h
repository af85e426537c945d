/* The letters of the pictures: 5 x 7 dots for ASCII 32 to 126, five columns a letter, lowest bit at the top. */
#ifndef XT_SRC_TRAIN_PLOT_FONT_H
#define XT_SRC_TRAIN_PLOT_FONT_H

#include <stdint.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7, FONT_FIRST = 32, FONT_LAST = 126 };
extern const uint8_t plot_font[FONT_LAST - FONT_FIRST + 1][FONT_WIDTH];

#endif
