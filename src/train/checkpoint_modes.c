/* What a fit has frozen or unfrozen, and which modules it has put into another mode, since its hooks of the start were
 * over: as metadata "frozen", {NAME: true or false}, "freezes", [[PATTERN, true or false], ...] for parameters that are
 * made later, and "modes", [[KEY, ...], MODE] for each module, by the keys that lead to it. A run that resumes says it
 * again behind its own hooks of the start, so that a hook that speaks once ("unfreeze in epoch 5") has spoken. What the
 * program says before the fit is the program's: it is in no file, and may be another one's. */
#include <cjson/cJSON.h>

#include "nn/nn.h"
#include "train/checkpoint.h"

static const char key_of_frozen[] = "frozen", key_of_freezes[] = "freezes", key_of_modes[] = "modes";
static const char *const mode_names[] = {[NN_AS_PARENT] = "parent", [NN_TRAINING] = "train", [NN_EVALUATING] = "eval"};

/* --- taken --- */
static cJSON *list_frozen(const xt_trainer *t) {
    cJSON *all = cJSON_CreateObject();
    for (int i = 0; all && i < xt_module_tensors(t->net); i++) {
        const char *name = xt_module_tensor_name(t->net, i);
        bool frozen = !lazy_trains(xt_module_tensor(t->net, i));
        if (xt_module_tensor_is_param(t->net, i) && frozen != nn_mark_frozen(t->at_start, name))
            cJSON_AddBoolToObject(all, name, frozen);
    }
    return all;
}

static cJSON *list_freezes(const xt_trainer *t) {
    cJSON *all = cJSON_CreateArray();
    const nn_wish *w;
    for (size_t at = 0; all && (w = nn_mark_next(t->at_start, t->net->root, &at));) {
        cJSON *one = cJSON_CreateArray();
        cJSON_AddItemToArray(one, cJSON_CreateString(w->pattern));
        cJSON_AddItemToArray(one, cJSON_CreateBool(w->what == NN_WISH_FREEZE));
        cJSON_AddItemToArray(all, one);
    }
    return all;
}

static cJSON *keys_to(const xt_module *m) {
    cJSON *keys = cJSON_CreateArray();
    for (; m->parent; m = m->parent) cJSON_InsertItemInArray(keys, 0, cJSON_CreateString(m->key));
    return keys;
}

static void list_modes(const xt_trainer *t, const xt_module *m, cJSON *all) {
    nn_mode now = nn_own_mode(m);
    if (now != nn_mark_mode(t->at_start, m)) {
        cJSON *one = cJSON_CreateArray();
        cJSON_AddItemToArray(one, keys_to(m));
        cJSON_AddItemToArray(one, cJSON_CreateString(mode_names[now]));
        cJSON_AddItemToArray(all, one);
    }
    for (const xt_module *c = m->children; c; c = c->next) list_modes(t, c, all);
}

/* Takes `what` over; what there is nothing of is not in the file. */
static xt_status add(snapshot *s, const char *key, cJSON *what) {
    bool any = what && what->child;
    char *text = any ? cJSON_PrintUnformatted(what) : NULL;
    xt_status e = text ? snapshot_add_meta(s, key, text) : any || !what ? status_oom(64, key) : NULL;
    cJSON_free(text);
    cJSON_Delete(what);
    return e;
}

xt_status checkpoint_modes_take(const xt_trainer *t, snapshot *s) {
    if (!t->at_start) return NULL;
    XT_TRY(add(s, key_of_frozen, list_frozen(t)));
    XT_TRY(add(s, key_of_freezes, list_freezes(t)));
    cJSON *modes = cJSON_CreateArray();
    if (modes) list_modes(t, t->net->root->module, modes);
    return add(s, key_of_modes, modes);
}

/* --- restored --- */
void checkpoint_modes_read(xt_trainer *t, const st_file *f) {
    const char *frozen = st_get_meta(f, key_of_frozen), *freezes = st_get_meta(f, key_of_freezes),
               *modes = st_get_meta(f, key_of_modes);
    base_free(t->said_frozen);
    base_free(t->said_freezes);
    base_free(t->said_modes);
    t->said_frozen = frozen ? base_strdup(frozen) : NULL;
    t->said_freezes = freezes ? base_strdup(freezes) : NULL;
    t->said_modes = modes ? base_strdup(modes) : NULL;
}

static void say_frozen(const xt_trainer *t, const char *text, str *told) {
    cJSON *all = cJSON_Parse(text);
    const cJSON *one;
    int n[2] = {0};
    const char *first[2] = {0};
    cJSON_ArrayForEach(one, all) {
        bool frozen = cJSON_IsTrue(one);
        if (!one->string || strpbrk(one->string, "*?[")) continue; /* a pattern is no parameter's name */
        xt_freeze_at(XT_HERE, t->net->root->module, one->string, frozen);
        if (!n[frozen]++) first[frozen] = one->string;
    }
    for (int frozen = 0; frozen < 2; frozen++)
        if (n[frozen])
            str_printf(told, "%s%d parameter%s (%s%s) %s", told->len ? ", " : "", n[frozen], n[frozen] > 1 ? "s" : "",
                       first[frozen], n[frozen] > 1 ? ", ..." : "", frozen ? "frozen" : "trained");
    cJSON_Delete(all);
}

/* The parameters that are there have been said by name. */
static void say_freezes(const xt_trainer *t, const char *text) {
    cJSON *all = cJSON_Parse(text);
    const cJSON *one;
    cJSON_ArrayForEach(one, all) {
        const char *pattern = cJSON_GetStringValue(cJSON_GetArrayItem(one, 0));
        bool frozen = cJSON_IsTrue(cJSON_GetArrayItem(one, 1));
        nn_wish w = {.pattern = (char *)pattern, .again = true, .what = frozen ? NN_WISH_FREEZE : NN_WISH_THAW};
        if (pattern) nn_keep_wish(t->net->root, &w);
    }
    cJSON_Delete(all);
}

static void say_mode(xt_module *m, const cJSON *one, str *told) {
    const cJSON *key;
    const char *mode = cJSON_GetStringValue(cJSON_GetArrayItem(one, 1));
    cJSON_ArrayForEach(key, cJSON_GetArrayItem(one, 0)) {
        const char *name = cJSON_GetStringValue(key);
        m = name && *name && strlen(name) < 256 && m ? xt_sub(m, name, -1) : NULL;
    }
    if (!m || !mode) return;
    static const char *const words[] = {"its parent's", "training", "evaluation"};
    nn_mode said = strcmp(mode, mode_names[NN_EVALUATING]) == 0 ? NN_EVALUATING
                   : strcmp(mode, mode_names[NN_TRAINING]) == 0 ? NN_TRAINING
                                                                : NN_AS_PARENT;
    nn_set_own_mode(m, said);
    str_printf(told, "%s%s in %s mode", told->len ? ", " : "", *m->path ? m->path : "the network", words[said]);
}

xt_status checkpoint_modes_say(xt_trainer *t) {
    str told = STR_INIT;
    nn_mark_free(t->at_start);
    t->at_start = nn_mark_take(t->net);
    if (!t->at_start) return status_oom(64, "what is frozen");
    if (t->said_frozen) say_frozen(t, t->said_frozen, &told);
    if (t->said_freezes) say_freezes(t, t->said_freezes);
    cJSON *modes = t->said_modes ? cJSON_Parse(t->said_modes) : NULL;
    const cJSON *one;
    cJSON_ArrayForEach(one, modes) say_mode(t->net->root->module, one, &told);
    cJSON_Delete(modes);
    base_free(t->said_frozen);
    base_free(t->said_freezes);
    base_free(t->said_modes);
    t->said_frozen = t->said_freezes = t->said_modes = NULL;
    if (told.len && world_get()->rank == 0 && !t->quiet)
        log_msg(XT_SEV_INFO, "as the run that wrote %s had come to: %s", t->resumed_from ? t->resumed_from : "the file",
                str_cstr(&told));
    str_free(&told);
    return NULL;
}
