/* Configurations of transformers' models that a parity test keeps in one JSON file, written out one by one, whole or
 * with an entry changed, for the library to read. */
#ifndef XT_TESTS_CONFIGS_H
#define XT_TESTS_CONFIGS_H

#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <xtrain/program.h>

#include "parity.h"

static char config_dir[64], config_path[96]; /* DIR/config.json */
static cJSON *configs;

static bool configs_open(const char *name) {
    char from[256], *text;
    size_t n;
    snprintf(config_dir, sizeof config_dir, "/tmp/xt_configs_XXXXXX");
    snprintf(from, sizeof from, "%s/%s.json", PARITY_DIR, name);
    if (!mkdtemp(config_dir) || xt_read_file(from, &text, &n)) return false;
    snprintf(config_path, sizeof config_path, "%s/config.json", config_dir);
    configs = cJSON_ParseWithLength(text, n);
    xt_text_free(text);
    return configs != NULL;
}

/* With all that the test wrote into the folder. */
static int configs_close(void **state) {
    char command[100];
    (void)state;
    cJSON_Delete(configs);
    snprintf(command, sizeof command, "rm -rf %s", config_dir);
    return system(command) | xt_finish();
}

/* Writes DIR/config.json, `entry` (NULL: none) with another value (NULL: left out). */
static xt_status config_write(const cJSON *json, const char *entry, const char *value) {
    cJSON *copy = cJSON_Duplicate(json, true);
    if (entry) cJSON_DeleteItemFromObjectCaseSensitive(copy, entry);
    if (entry && value) cJSON_AddItemToObject(copy, entry, cJSON_Parse(value));
    char *text = cJSON_Print(copy);
    xt_status s = xt_write_file(config_path, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(copy);
    return s;
}

typedef struct config_row {
    const char *of, *entry, *value, *said;
} config_row;
/* Each is refused in the words of its row, with the file's name; read(a path) is how the library reads one. */
static void configs_refused(const config_row *rows, size_t n, xt_status (*read)(const char *path)) {
    for (size_t i = 0; i < n; i++) {
        xt_status s = config_write(cJSON_GetObjectItemCaseSensitive(configs, rows[i].of), rows[i].entry, rows[i].value);
        if (!s) s = read(config_path);
        const char *said = s ? xt_status_message(s) : "no error";
        if (!s || !strstr(said, rows[i].said) || !strstr(said, config_path)) fail_msg("%s: %s", rows[i].entry, said);
        xt_status_free(s);
    }
}

#endif
