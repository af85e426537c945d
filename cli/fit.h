/* What the files of `xtrain fit` share. */
#ifndef XTRAIN_CLI_FIT_H
#define XTRAIN_CLI_FIT_H

#include "cli/cli.h"
#include "models/models.h"

typedef struct fit_options {
    const char *model, *data, *device, *precision, *ckpt, *resume, *val_every, *mesh;
    int64_t epochs, batch, devices, accumulate, log_every, seed, limit, metrics, seq;
    double lr;
    bool json, no_pictures, checkpoint, fsdp;
} fit_options;

typedef struct fit_data {
    xt_loader *train, *test;
    xt_dataset *pictures; /* of the test split, for the report; NULL when it makes no sense */
} fit_data;

/* fit_data.c: loaders for the model: MNIST files or drawn digits, bytes of a text file, or zeros. */
xt_status fit_open_data(const model *m, const fit_options *o, fit_data *out);
/* fit_report.c: the per-digit table and the PNG of misclassified digits; gives the accuracy (0 to 1), or -1 after an error. */
double fit_report_digits(xt_module *net, xt_dataset *test, const char *dir, bool quiet);

#endif
