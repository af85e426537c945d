/* Files of texts; see data_files.h. */
#include "models/data_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool data_ends_in(const char *path, const char *end) {
    size_t n = strlen(path), k = strlen(end);
    return n > k && strcmp(path + n - k, end) == 0;
}

bool data_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int wanted(const struct dirent *e) {
    return e->d_name[0] != '.' && (data_ends_in(e->d_name, ".txt") || data_ends_in(e->d_name, ".jsonl"));
}

static int by_bytes(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static xt_status file_of(const char *dir, const char *name, data_file_fn *fn, void *user) {
    char path[4400];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, name) >= sizeof path)
        return xt_status_new(XT_INVALID_ARGUMENT, "the path %.100s... is too long", dir);
    return fn(user, path);
}

xt_status data_files(const char *path, data_file_fn *fn, void *user) {
    struct dirent **list = NULL;
    if (!data_is_folder(path)) return fn(user, path);
    int n = scandir(path, &list, wanted, by_bytes);
    if (n < 0) return xt_status_new(XT_NOT_FOUND, "cannot read the folder %s: %s", path, strerror(errno));
    xt_status s = n ? NULL : xt_status_new(XT_NOT_FOUND, "%s has no *.txt and no *.jsonl file", path);
    for (int i = 0; i < n; i++) {
        if (!s) s = file_of(path, list[i]->d_name, fn, user);
        free(list[i]);
    }
    free(list);
    return s;
}

xt_status data_at_line(const char *path, size_t line, xt_status s) {
    if (!s) return NULL;
    xt_status told = xt_status_new(xt_status_code(s), "%s:%zu: %s", path, line, xt_status_message(s));
    xt_status_free(s);
    return told;
}

xt_status data_lines(const char *path, const char *text, size_t n, size_t most, data_line_fn *fn, void *user) {
    size_t line = 0, left = most ? most : SIZE_MAX;
    for (size_t at = 0; at < n && left;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t k = end ? (size_t)(end - (text + at)) : n - at, blank = 0;
        line++;
        while (blank < k && strchr(" \t\r", text[at + blank])) blank++;
        if (blank < k) {
            cJSON *json = cJSON_ParseWithLength(text + at, k);
            xt_status s = fn(user, line, json);
            cJSON_Delete(json);
            if (s) return data_at_line(path, line, s);
            left--;
        }
        at += k + 1;
    }
    return NULL;
}
