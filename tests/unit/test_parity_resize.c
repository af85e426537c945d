/* Resizing against PyTorch, with gradients: what the scale says where sizes stay, double, or lie between. */
#include "parity.h"

#define CASE(name, ...)                                                                \
    static void c_##name(xt_module *m, const xt_tensor *x, xt_tensor *y, void *user) { \
        (void)m;                                                                       \
        (void)user;                                                                    \
        y[0] = xt_interpolate(*x, __VA_ARGS__);                                        \
    }
CASE(near2_stays, .scale = 1.01)
CASE(exact2_stays, .mode = XT_NEAREST_EXACT, .scale = 1.01)
CASE(lin1_stays, .mode = XT_LINEAR, .scale = 1.01)
CASE(area2_stays, .mode = XT_AREA, .scale = 1.01)
CASE(near2_doubles, .scale = 2.03)
CASE(exact2_doubles, .mode = XT_NEAREST_EXACT, .scale = 2.03)
CASE(lin1_doubles, .mode = XT_LINEAR, .scale = 2.03)
CASE(area2_doubles, .mode = XT_AREA, .scale = 2.03)
CASE(near2_between, .scale = 1.55)
CASE(exact2_between, .mode = XT_NEAREST_EXACT, .scale = 1.55)
CASE(lin1_between, .mode = XT_LINEAR, .scale = 1.55)
CASE(area2_between, .mode = XT_AREA, .scale = 1.55)
CASE(near2_down, .scale = 0.6)
CASE(exact2_down, .mode = XT_NEAREST_EXACT, .scale = 0.6)
CASE(lin1_down, .mode = XT_LINEAR, .scale = 0.6)
CASE(area2_down, .mode = XT_AREA, .scale = 0.6)
CASE(near2_part, .scale = 1.2)
CASE(lin2_part, .mode = XT_LINEAR, .scale = 1.2)
CASE(cub2_part, .mode = XT_CUBIC, .scale = 1.2)
CASE(lin3_stays, .mode = XT_LINEAR, .scale = 1.1)
CASE(lin2_f64, .mode = XT_LINEAR, .scale = 1.7)
CASE(exact1, .mode = XT_NEAREST_EXACT, .sizes = {4})
CASE(exact1_thrice, .mode = XT_NEAREST_EXACT, .sizes = {18})
CASE(exact3, .mode = XT_NEAREST_EXACT, .sizes = {5, 4, 3})
CASE(area1, .mode = XT_AREA, .sizes = {4})
CASE(area3, .mode = XT_AREA, .sizes = {2, 3, 2})

static const parity_row rows[] = {
#define ROW(name) \
    { #name, c_##name }
    ROW(near2_stays),    ROW(exact2_stays),  ROW(lin1_stays),    ROW(area2_stays),   ROW(near2_doubles),
    ROW(exact2_doubles), ROW(lin1_doubles),  ROW(area2_doubles), ROW(near2_between), ROW(exact2_between),
    ROW(lin1_between),   ROW(area2_between), ROW(near2_down),    ROW(exact2_down),   ROW(lin1_down),
    ROW(area2_down),     ROW(near2_part),    ROW(lin2_part),     ROW(cub2_part),     ROW(lin3_stays),
    ROW(lin2_f64),       ROW(exact1),        ROW(exact1_thrice), ROW(exact3),        ROW(area1),
    ROW(area3),
};

PARITY_MAIN("resize", rows)
