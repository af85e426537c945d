#include "base/xplane.h"

void xplane_stat_int(str *event, int id, int64_t v) {
    str s = STR_INIT;
    proto_int(&s, 1, id);
    proto_int(&s, 4, v);
    proto_message(event, 4, &s);
    str_free(&s);
}

void xplane_stat_number(str *event, int id, double v) {
    str s = STR_INIT;
    proto_int(&s, 1, id);
    proto_double(&s, 2, v);
    proto_message(event, 4, &s);
    str_free(&s);
}

void xplane_stat_text(str *event, int id, const char *v) {
    str s = STR_INIT;
    proto_int(&s, 1, id);
    proto_text(&s, 5, v);
    proto_message(event, 4, &s);
    str_free(&s);
}

void xplane_name(str *plane, xplane_map of, int64_t id, const char *name) {
    str m = STR_INIT, entry = STR_INIT;
    proto_int(&m, 1, id);
    proto_text(&m, 2, name);
    proto_int(&entry, 1, id);
    proto_message(&entry, 2, &m);
    proto_message(plane, of, &entry);
    str_free(&m);
    str_free(&entry);
}
