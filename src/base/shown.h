/* Texts that come from files, other processes and plugins, on their way to a terminal, a message or JSON. Nothing in
 * them moves a cursor, retitles a window, turns a line around or hides what was written: control characters (C0, DEL,
 * C1), marks of direction, Unicode's other line ends and bytes that are no UTF-8 become text.
 *
 *     str_append_shown(&line, name, strlen(name), "");    "a\x1b[2J" for a, ESC, [2J
 *     str_append_json(&object, name);                     "\"a\\u001b[2J\"" */
#ifndef XTRAIN_BASE_SHOWN_H
#define XTRAIN_BASE_SHOWN_H

#include "base/base.h"

/* As \xNN, but the ASCII characters in `kept`. Statuses and messages go through this with newlines and tabs kept. */
void str_append_shown(str *to, const char *text, size_t n, const char *kept);
/* `name` for a message: the end of a long one is left out. A name out of a file can neither forge a line nor flood the
 * screen. */
void str_append_name(str *to, const char *name);
/* With its quotes; bytes that are no UTF-8 as U+FFFD, '<' escaped, so that the object may stand in a page. */
void str_append_json(str *to, const char *text);
/* JSON that is there already: what its strings hide as \uXXXX, which reads back as it was. Bytes that are no UTF-8
 * stay, since nothing else in JSON means them. */
void str_append_json_text(str *to, const char *json);
bool text_is_plain(const char *text, size_t n, const char *kept); /* it would be appended as it is */
bool text_is_utf8(const char *text, size_t n);
/* In place: each byte of such a character becomes '?', but those in `kept`. */
void text_hide(char *text, const char *kept);

#endif
