/* The table of versioned ops. */
#include "format/bytecode_int.h"

static const vhlo_row rows[] = {
#define VHLO(name, version, since, until, props) {#name, version, since, until, props},
#define VHLO_NAMED(name, version, since, until, props) {name, version, since, until, props},
#include "format/vhlo.def"
#undef VHLO
#undef VHLO_NAMED
};

const vhlo_row *vhlo_find(const char *name, size_t n, int version) {
    for (size_t i = 0; i < BASE_COUNT(rows); i++)
        if (rows[i].version == version && rows[i].name[0] == name[0] && strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) return &rows[i];
    return NULL;
}

static const struct plain_row {
    const char *dialect, *name, *props;
} plain_rows[] = {
#define PLAIN(dialect, name, props) {dialect, name, props},
#include "format/plain.def"
#undef PLAIN
};

const char *plain_props(const char *dialect, const char *name) {
    for (size_t i = 0; i < BASE_COUNT(plain_rows); i++)
        if (strcmp(plain_rows[i].name, name) == 0 && strcmp(plain_rows[i].dialect, dialect) == 0) return plain_rows[i].props;
    return NULL;
}
