/* Small pictures without a plotting program: line charts, bars and grids of images, as PNG. */
#ifndef XTRAIN_PLOT_H
#define XTRAIN_PLOT_H

#include <xtrain/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A line of a chart. */
typedef struct xt_plot_series {
    const char *name XT_ZERO; /* for the legend */
    const double *x XT_ZERO, *y XT_ZERO; /* NaN and infinite points are left out */
    int64_t n XT_ZERO; /* points */
} xt_plot_series;
/* A chart of up to 6 series with axes, ticks and a legend, 720 x 440. */
XT_API XT_CHECK xt_status xt_plot_lines(const char *path, const char *title, const char *x_label,
                                        const xt_plot_series *series, int n);
/* A bar of a chart. */
typedef struct xt_plot_bar {
    const char *label XT_ZERO; /* left of the bar */
    double value XT_ZERO; /* its length, 0 and above; NaN and infinite: no bar */
    const char *note XT_ZERO; /* right of the chart; NULL: none */
} xt_plot_bar;
/* Up to 64 horizontal bars from 0, one below the other. `mark` is a value to compare with: grey up to it behind each
 * bar, and a bar beyond it has another colour (NaN: none). As wide as its texts ask for. */
XT_API XT_CHECK xt_status xt_plot_bars(const char *path, const char *title,
                                       const char *x_label, /* title, x_label: NULL: none */
                                       const xt_plot_bar *bars, int n, double mark);
/* A grid of n grey images [h,w] (values 0 to 1, row-major, one after another), each with a text below it (labels
 * may be NULL). */
XT_API XT_CHECK xt_status xt_plot_images(const char *path, const char *title, int n, int height, int width,
                                         const float *grey, const char *const *labels);

#ifdef __cplusplus
}
#endif
#endif
