/* What the files of `xtrain fit` share. */
#ifndef XTRAIN_CLI_FIT_H
#define XTRAIN_CLI_FIT_H

#include "cli/cli.h"
#include "models/generate.h"
#include "models/tokenizer.h"

#include <stdio.h>

typedef struct fit_options {
    const char *model, *data, *tokenizer, *device, *precision, *ckpt, *resume, *load, *val_every, *mesh, *schedule,
        *augment, *output;
    int64_t epochs, steps, batch, devices, accumulate, log_every, seed, limit, val_limit, metrics, workers, warmup,
        sample;
    double lr, clip;
    bool json, no_pictures, fsdp;
    const char *strategy;
    model_options of_model;
    cli_diag diag;
} fit_options;

typedef struct fit_data {
    xt_loader *train, *test;
    xt_dataset *pictures; /* of the test split, for the report; NULL when it makes no sense */
    tokenizer *words; /* of a text */
} fit_data;

/* fit_data.c: loaders for the model: MNIST files or drawn digits; a text file; CIFAR files, a folder of pictures or
 * generated ones; else zeros. Settles what the data decide (vocabulary, classes, the side of the pictures) in
 * `of_model`, where the user left it open. */
xt_status fit_open_data(const model *m, fit_options *o, fit_data *out);
/* fit_report.c: the per-digit table and the PNG of misclassified digits; gives the accuracy (0 to 1), or -1
 * after an error. */
double fit_report_digits(xt_module *net, xt_dataset *test, const char *dir, bool quiet);
/* fit_text.c. One line of text on `to`, line breaks as '/'; makes the generator the first time. */
xt_status fit_sample(generator **g, xt_module *net, model_options *o, const tokenizer *words, int64_t tokens, FILE *to);
/* config.json and the tokenizer's files, in a folder that is made if need be. */
xt_status fit_save_text(const char *dir, const model_options *o, const tokenizer *words);

#endif
