/* What is told when the program ends without xt_finish. */
#ifndef XT_SRC_LAZY_EXIT_H
#define XT_SRC_LAZY_EXIT_H

/* fn() in front of lazy_check_finished's own words, on the thread that exits, be it within a callback: it may say what
 * is lost, and wait for others only for a time. Once a process. */
void lazy_at_unfinished(void (*fn)(void));
const char *lazy_unfinished(void); /* "without xt_finish()", for "the program ended ..." */

#endif
