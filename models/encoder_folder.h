/* A folder of BERT's or ViT's: what folder.h does for its kinds. */
#ifndef XTRAIN_MODELS_ENCODER_FOLDER_H
#define XTRAIN_MODELS_ENCODER_FOLDER_H

#include "models/encoder.h"
#include "models/labelled.h"
#include "models/models.h"

typedef struct encoder_folder {
    encoder_config c;
    label_names labels; /* classes by number; none where they are still to be found in data */
    int64_t classes_there; /* that the files have a classifier for; 0 = none */
} encoder_folder;

extern const model model_bert, model_bert_classifier, model_vit; /* need a folder */
/* Settles the sizes in o: .seq, and what o says of the network. */
xt_status encoder_folder_read(const char *path, model_options *o, encoder_folder *out);
void encoder_folder_free(encoder_folder *f);
const model *encoder_folder_model(const encoder_folder *f);
/* Builds the module. A classifier that the files do not have, or have for another number of classes, begins anew. */
xt_status encoder_folder_load(const encoder_folder *f, xt_module *net, const char *path);
/* config.json at `path` gets the classes and the architecture of what was trained. */
xt_status encoder_folder_write(const encoder_folder *f, const char *path);

#endif
