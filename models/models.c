/* The list of built-in models: a new one is a file and a line here. */
#include "models/models.h"

#include <string.h>

static const model *const all[] = {&model_mnist, &model_resnet18, &model_gpt2, &model_gpt2_tiny};

const model *const *model_list(int *n) {
    *n = (int)(sizeof all / sizeof all[0]);
    return all;
}

const model *model_find(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i]->name, name) == 0) return all[i];
    return NULL;
}
