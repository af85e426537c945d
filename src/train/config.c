/* The configuration: the trainer's options and the program's own settings, from files and arguments and back to a file
 * that repeats the run. */
#include <cjson/cJSON.h>
#include <math.h>

#include "base/shown.h"
#include "train/train_int.h"

struct train_setting {
    char *name, *value; /* "model.lr"; value: as text */
    bool given, asked; /* by the user; by the program */
};

static const char *const sections[] = {"model", "data", "optimizer", "scheduler", "callbacks"}; /* of settings */

bool config_is_setting(const char *name) {
    for (size_t i = 0; i < BASE_COUNT(sections); i++) {
        size_t n = strlen(sections[i]);
        if (strncmp(name, sections[i], n) == 0 && (name[n] == '.' || (i >= 2 && !name[n]))) return true;
    }
    return false;
}

static bool same_name(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b)) return false;
    return *a == *b;
}

static struct train_setting *find(const xt_trainer *t, const char *name) {
    for (size_t i = 0; i < t->n_settings; i++)
        if (same_name(t->settings[i].name, name)) return &t->settings[i];
    return NULL;
}

static struct train_setting *find_or_add(xt_trainer *t, const char *name) {
    struct train_setting *s = find(t, name), fresh = {0};
    if (s) return s;
    fresh.name = base_strdup(name);
    for (char *p = fresh.name; p && *p; p++)
        if (*p == '-') *p = '_';
    if (fresh.name && VEC_PUSH(t->settings, t->n_settings, t->cap_settings, fresh))
        return &t->settings[t->n_settings - 1];
    base_free(fresh.name);
    return NULL;
}

xt_status config_give(xt_trainer *t, const char *name, const char *value) {
    if (!strchr(name, '.')) /* --optimizer adamw */
        name = name[0] == 'o' ? "optimizer.name" : name[0] == 's' ? "scheduler.name" : "callbacks.name";
    struct train_setting *s = find_or_add(t, name);
    char *copy = base_strdup(value);
    if (!s || !copy) {
        base_free(copy);
        return status_oom(strlen(value), name);
    }
    base_free(s->value);
    s->value = copy;
    s->given = true;
    return NULL;
}

void config_free(xt_trainer *t) {
    for (size_t i = 0; i < t->n_settings; i++) {
        base_free(t->settings[i].name);
        base_free(t->settings[i].value);
    }
    base_free(t->settings);
    t->settings = NULL;
    t->n_settings = t->cap_settings = 0;
    for (size_t i = 0; i < t->n_resumed; i++) {
        base_free(t->resumed[i].name);
        base_free(t->resumed[i].value);
    }
    base_free(t->resumed);
    t->resumed = NULL;
    t->n_resumed = t->cap_resumed = 0;
}

size_t config_count(const xt_trainer *t) {
    return t->n_settings;
}
const char *config_at(const xt_trainer *t, size_t i, const char **out_value) {
    *out_value = t->settings[i].value;
    return t->settings[i].name;
}

/* --- what the program asks for --- */
static void refuse(xt_trainer *t, xt_status s) {
    if (t->problem)
        xt_status_free(s);
    else
        t->problem = s;
}

const char *xt_trainer_text(xt_trainer *t, const char *name, const char *fallback) {
    if (!t || !name) return fallback;
    if (!config_is_setting(name) || !strchr(name, '.')) {
        refuse(t, status_new(XT_INVALID_ARGUMENT, NULL, "a setting is named model.NAME or data.NAME, not %s", name));
        return fallback;
    }
    struct train_setting *s = find_or_add(t, name);
    if (!s) return fallback;
    s->asked = true;
    if (!s->value && fallback) s->value = base_strdup(fallback);
    return s->value ? s->value : fallback;
}

double xt_trainer_number(xt_trainer *t, const char *name, double fallback) {
    char text[40];
    double v = fallback;
    snprintf(text, sizeof text, "%.17g", fallback);
    for (int digits = 6; digits < 17; digits++) {
        /* the fewest digits that mean the same number: people read this file */
        double back;
        snprintf(text, sizeof text, "%.*g", digits, fallback);
        if (parse_double(text, &back) && back == fallback) break;
    }
    const char *value = xt_trainer_text(t, name, text);
    if (value && !parse_double(value, &v)) {
        refuse(t, status_new(XT_INVALID_ARGUMENT, NULL, "%s = %s: expected a number", name, value));
        v = fallback;
    }
    return v;
}

/* With what there is: the nearest, or all of them. */
static xt_status no_such_setting(const char *name, const char *near, const char **names, size_t n) {
    enum { SHOWN = 12 };
    str t = STR_INIT;
    size_t len = strlen(name);
    if (near)
        str_printf(&t, "; did you mean %s?", near);
    else if (n == 0)
        str_append(&t, "; it asks for none (xt_trainer_number, xt_trainer_text)");
    for (size_t i = 0; !near && i < n && i < SHOWN; i++) str_printf(&t, "%s%s", i ? ", " : "; it asks for ", names[i]);
    if (!near && n > SHOWN) str_printf(&t, " and %zu more", n - SHOWN);
    if (len > 3 && strcmp(name + len - 3, ".lr") == 0)
        str_append(&t, near ? " Or --optimizer NAME with --optimizer.lr X"
                            : "; --optimizer NAME with --optimizer.lr X sets a rate without the program's help");
    xt_status s = status_new(XT_NOT_FOUND, NULL, "the program has no setting %s%s", name, t.failed ? "" : str_cstr(&t));
    str_free(&t);
    return s;
}

/* "model.rate" and "model.name" are alike in what all of a section have. Half of a short word is no typo. */
static const char *nearest_setting(const char *name, const char **names, size_t n) {
    const char *dot = strrchr(name, '.'), *nearest = NULL;
    size_t section = dot ? (size_t)(dot + 1 - name) : 0, best = strlen(name + section) / 3, alike = 0;
    if (best == 0) best = 1;
    for (size_t i = 0; i < n; i++) {
        if (section == 0 || strncmp(names[i], name, section) != 0) continue;
        size_t d = text_distance(name + section, names[i] + section);
        alike++;
        if (d > best || (nearest && d == best)) continue;
        best = d;
        nearest = names[i];
    }
    return alike ? nearest : text_nearest(name, names, n);
}

xt_status config_check(const xt_trainer *t) {
    for (size_t i = 0; i < t->n_settings; i++) {
        const struct train_setting *s = &t->settings[i];
        if (!s->given || s->asked) continue;
        const char **names = base_calloc(t->n_settings, sizeof *names);
        size_t n = 0;
        for (size_t k = 0; names && k < t->n_settings; k++)
            if (t->settings[k].asked) names[n++] = t->settings[k].name;
        const char *near = names && n ? nearest_setting(s->name, names, n) : NULL;
        xt_status e = no_such_setting(s->name, near, names, n);
        base_free(names);
        return e;
    }
    return NULL;
}

void config_tell(const xt_trainer *t) {
    xt_status s = config_check(t);
    if (s && world_get()->rank == 0) log_msg(XT_SEV_WARNING, "%s, or asks for it in a fit only", status_message(s));
    xt_status_free(s);
}

void config_ask(xt_trainer *t, const char *section, options_by_name *out, const char **names, const char **values,
                int room) {
    size_t n = strlen(section);
    out->n = 0;
    out->names = names;
    out->values = values;
    for (size_t i = 0; i < t->n_settings; i++) {
        struct train_setting *s = &t->settings[i];
        if (strncmp(s->name, section, n) != 0 || s->name[n] != '.' || !s->value || strcmp(s->name + n, ".name") == 0 ||
            out->n == room)
            continue;
        s->asked = true;
        names[out->n] = s->name + n + 1;
        values[out->n++] = s->value;
    }
}

/* --- files --- */
/* Text as an option or setting would be given on the command line; NULL for what cannot be. */
static char *plain_text(const cJSON *v) {
    if (cJSON_IsString(v)) return base_strdup(v->valuestring);
    if (cJSON_IsBool(v)) return base_strdup(cJSON_IsTrue(v) ? "on" : "off");
    if (!cJSON_IsNumber(v)) return NULL;
    char *printed = cJSON_PrintUnformatted(v), *copy = printed ? base_strdup(printed) : NULL;
    cJSON_free(printed);
    return copy;
}

typedef xt_status (*take_fn)(const char *name, const char *value, void *user);

static xt_status take_section(const cJSON *section, take_fn take, void *user) {
    const cJSON *v;
    bool known = strcmp(section->string, "trainer") == 0;
    if (strcmp(section->string, "xtrain") == 0) return NULL; /* the version that wrote the file */
    for (size_t i = 0; i < BASE_COUNT(sections); i++) known = known || strcmp(section->string, sections[i]) == 0;
    if (!known)
        return status_new(
            XT_NOT_FOUND, NULL,
            "there is no section \"%s\"; trainer, model, data, optimizer, scheduler and callbacks are known",
            section->string);
    if (!cJSON_IsObject(section))
        return status_new(XT_INVALID_ARGUMENT, NULL, "\"%s\" is no object of names and values", section->string);
    cJSON_ArrayForEach(v, section) {
        char *text = plain_text(v);
        if (cJSON_IsNull(v)) continue;
        if (!text)
            return status_new(XT_INVALID_ARGUMENT, NULL, "%s.%s is neither a number nor a text nor true or false",
                              section->string, v->string);
        str name = STR_INIT;
        str_printf(&name, "%s.%s", section->string, v->string);
        xt_status s = lazy_returned(take(str_cstr(&name), text, user), "the function of xt_config_read");
        str_free(&name);
        base_free(text);
        XT_TRY(s);
    }
    return NULL;
}

xt_status xt_config_read(const char *path, take_fn take, void *user) {
    char *text;
    size_t n;
    XT_TRY(file_read_all(path, &text, &n));
    const char *stopped = text;
    cJSON *all = cJSON_ParseWithLengthOpts(text, n, &stopped, false);
    xt_status s = NULL;
    if (!cJSON_IsObject(all)) {
        int line = 1;
        for (const char *p = text; p < stopped; p++) line += *p == '\n';
        s = status_new(
            XT_INVALID_ARGUMENT, NULL,
            "line %d is no JSON; expected {\"trainer\": {\"max_epochs\": 5}, \"model\": {...}, \"data\": {...}}", line);
    }
    const cJSON *section;
    if (!s) cJSON_ArrayForEach(section, all) if (!s) s = take_section(section, take, user);
    cJSON_Delete(all);
    base_free(text);
    return status_context(s, "%s", path);
}

/* --- of the run that is gone on from --- */
static xt_status take_resumed(const char *name, const char *value, void *user) {
    xt_trainer *t = user;
    struct train_setting one = {.name = base_strdup(name), .value = base_strdup(value)};
    if (one.name && one.value && VEC_PUSH(t->resumed, t->n_resumed, t->cap_resumed, one)) return NULL;
    base_free(one.name);
    base_free(one.value);
    return status_oom(sizeof one, name);
}

void config_keep_resumed(xt_trainer *t, const char *text) {
    cJSON *all = cJSON_Parse(text);
    const cJSON *section;
    xt_status s = NULL;
    if (cJSON_IsObject(all)) cJSON_ArrayForEach(section, all) if (!s) s = take_section(section, take_resumed, t);
    cJSON_Delete(all);
    xt_status_free(s);
}

const char *config_resumed(const xt_trainer *t, const char *name) {
    for (size_t i = 0; i < t->n_resumed; i++)
        if (same_name(t->resumed[i].name, name)) return t->resumed[i].value;
    return NULL;
}

static xt_status take_value(const char *name, const char *value, void *user) {
    if (config_is_setting(name)) return config_give(user, name, value);
    return train_set_option(user, name + strlen("trainer."), value);
}

xt_status config_read(xt_trainer *t, const char *path) {
    return xt_config_read(path, take_value, t);
}

static bool add_value(cJSON *o, const char *name, const char *text) {
    double v;
    return (parse_double(text, &v) && isfinite(v) ? cJSON_AddNumberToObject(o, name, v)
                                                  : cJSON_AddStringToObject(o, name, text)) != NULL;
}

/* Of two ways to say one thing only the chosen one is written: together they would be refused. */
static bool left_out(const xt_trainer *t, const char *name) {
    return (strcmp(name, "log_every_n_steps") == 0 && t->o.log_every_n_batches) ||
           (strcmp(name, "val_every_n_epochs") == 0 && t->o.val_every);
}

char *config_text(const xt_trainer *t) {
    cJSON *all = cJSON_CreateObject();
    bool ok = cJSON_AddStringToObject(all, "xtrain", xt_version());
    cJSON *trainer = cJSON_AddObjectToObject(all, "trainer");
    for (size_t i = 0; ok && i < train_option_count; i++) {
        if (left_out(t, train_option_rows[i].name)) continue;
        str text = STR_INIT;
        xt_status s = options_get(train_option_rows, train_option_count, &t->o, train_option_rows[i].name, &text);
        bool unset = text.len == 0;
        ok = !s && (unset || add_value(trainer, train_option_rows[i].name, str_cstr(&text)));
        xt_status_free(s);
        str_free(&text);
    }
    for (size_t i = 0; ok && i < t->n_settings; i++) {
        const struct train_setting *s = &t->settings[i];
        const char *dot = strchr(s->name, '.');
        if (!s->value) continue;
        char section[24];
        snprintf(section, sizeof section, "%.*s", (int)(dot - s->name), s->name);
        cJSON *o = cJSON_GetObjectItemCaseSensitive(all, section);
        if (!o) o = cJSON_AddObjectToObject(all, section);
        ok = o && add_value(o, dot + 1, s->value);
    }
    char *printed = ok ? cJSON_Print(all) : NULL;
    cJSON_Delete(all);
    str out = STR_INIT;
    if (printed) str_append_json_text(&out, printed);
    if (printed) str_putc(&out, '\n');
    cJSON_free(printed);
    char *text = out.len && !out.failed ? base_strdup(str_cstr(&out)) : NULL;
    str_free(&out);
    return text;
}

size_t xt_trainer_config(const xt_trainer *t, char *buf, size_t n) {
    char *text = t ? config_text(t) : NULL;
    size_t len = text ? strlen(text) : 0;
    if (n) snprintf(buf, n, "%s", text ? text : "");
    base_free(text);
    return len;
}

xt_status config_save(const xt_trainer *t, const char *dir) {
    char *path = path_join(dir, "config.json"), *text = config_text(t);
    xt_status s = path && text ? file_write_all(path, text, strlen(text)) : status_oom(64, "config.json");
    base_free(path);
    base_free(text);
    return s;
}
