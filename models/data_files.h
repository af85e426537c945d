/* Files of texts to learn from or to be judged on: one, or those of a folder, and lines of JSON in them. */
#ifndef XTRAIN_MODELS_DATA_FILES_H
#define XTRAIN_MODELS_DATA_FILES_H

#include <cjson/cJSON.h>
#include <xtrain/base.h>

bool data_ends_in(const char *path, const char *end); /* and is longer than that */
bool data_is_folder(const char *path);

/* The file itself, or each *.txt and *.jsonl of a folder in the order of their names' bytes, whatever the locale; none
 * is an error. Hidden ones (.name) are left out. */
typedef xt_status data_file_fn(void *user, const char *path);
xt_status data_files(const char *path, data_file_fn *fn, void *user);
/* Each line that is not blank, the first `most` (0: all) of them, as JSON (NULL: it is none). `path` and the line go in
 * front of what fn has to say. */
typedef xt_status data_line_fn(void *user, size_t line, const cJSON *json);
xt_status data_lines(const char *path, const char *text, size_t n, size_t most, data_line_fn *fn, void *user);
/* Gives `s` with a file and a line in front, as above; NULL stays NULL. */
xt_status data_at_line(const char *path, size_t line, xt_status s);

#endif
