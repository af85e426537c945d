/* Inside the data layer. */
#ifndef XT_SRC_DATA_H
#define XT_SRC_DATA_H

#include <xtrain/data.h>

#include "lazy/lazy.h"

struct xt_dataset {
    xt_dataset_desc d;
    const ir_type *x_type, *y_type; /* of one sample; y_type NULL without labels */
    char *name;
};

#endif
