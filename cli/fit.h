/* What the files of `xtrain fit` share. */
#ifndef XTRAIN_CLI_FIT_H
#define XTRAIN_CLI_FIT_H

#include "cli/cli.h"
#include "models/folder.h"
#include "models/generate.h"
#include "models/tokenizer.h"

#include <stdio.h>

typedef struct fit_options {
    const char *model, *data, *tokenizer, *device, *precision, *ckpt, *resume, *load, *val_every, *mesh, *schedule,
        *augment, *output, *init, *lora, *lora_targets, *adapter, *packing, *chat_template, *weights;
    int64_t epochs, steps, batch, devices, accumulate, log_every, seed, limit, val_limit, metrics, workers, warmup,
        sample;
    double lr, clip;
    bool json, no_pictures, fsdp, overwrite;
    bool judges, predicts; /* the held-out data are for a pass of their own: none of them is left out */
    const char *strategy;
    model_options of_model;
    const model_folder *folder; /* of --init */
    const char *beside; /* the folder that the weights come from, where it may have their tokenizer; NULL: none */
    xt_lora_opts lora_opts; /* of --lora */
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
/* Both take the datasets over. Loaders of them, where both are there; the one for validation has at least one batch. */
void fit_loaders(const fit_options *o, xt_dataset *train, xt_dataset *test, int64_t batch, fit_data *out);
/* The same of a file's n samples (`what` they are called), or the error that they are too few for every rank. */
xt_status fit_samples(const fit_options *o, xt_dataset *train, xt_dataset *test, size_t n, const char *what,
                      int64_t batch, fit_data *out);
xt_status fit_too_few(const fit_options *o, size_t n, const char *what, int64_t batch);
/* fit_records.c: --data of records (*.jsonl, a folder) for a model's folder. */
xt_status fit_open_records(const model *m, fit_options *o, int64_t batch, fit_data *out);
/* fit_report.c: the per-digit table and the PNG of misclassified digits; gives the accuracy (0 to 1), or -1
 * after an error. */
double fit_report_digits(xt_module *net, xt_dataset *test, const char *dir, bool quiet);
/* fit_init.c: --init FOLDER, --lora, --adapter. Whether the command is about such a folder; reads what it says into the
 * options (0, or the exit code after a message); its network, with the adapter asked for; what is trained; the folder
 * written back, or the adapter. */
bool fit_init_wanted(const char *name, const fit_options *o);
int fit_init_open(const char *command, fit_options *o, const model **out);
bool fit_adapts(const fit_options *o);
/* What the network of a fit that goes on is made of: t knows by now which checkpoint that is from. */
int fit_init_resumed(const char *command, fit_options *o, xt_trainer *t);
xt_status fit_init_module(fit_options *o, xt_module **out);
/* fit_labelled.c: data of an encoder. The classes that are known, or are to be filled in. */
label_names *fit_init_labels(void);
void fit_init_new_classes(void); /* the classifier in the files is of other ones */
xt_status fit_open_labelled(const model *m, fit_options *o, int64_t batch, fit_data *out);
/* fit_pairs.c: data of a model with an encoder and a decoder; how many tokens of a sample the first reads. */
xt_status fit_open_pairs(fit_options *o, int64_t batch, fit_data *out);
void fit_init_source(int64_t tokens);
void fit_init_tell(const fit_options *o, const xt_module *net);
xt_status fit_init_save(const fit_options *o, xt_module *net, const char *dir);
/* fit_text.c. One line of text on `to`, line breaks as '/'; makes the generator the first time. */
xt_status fit_sample(generator **g, xt_module *net, model_options *o, const tokenizer *words, int64_t tokens, FILE *to);
/* config.json and the tokenizer's files, in a folder that is made if need be. */
xt_status fit_save_text(const char *dir, const model_options *o, const tokenizer *words);

#endif
