/* unfinished.c: what a process that a signal ends takes with it. */
#ifndef XTRAIN_BASE_UNFINISHED_H
#define XTRAIN_BASE_UNFINISHED_H

#include "base/base.h"

/* A file, or a folder of files. A number for unfinished_drop; -1: there is no room, and the next writer sweeps. */
int unfinished_add(const char *name, bool folder);
void unfinished_drop(int i); /* it is finished, or gone; -1 is fine */
void unfinished_remove(void); /* all of this process; async-signal-safe */
bool unfinished_is_handler(void (*handler)(int)); /* ours, which stands in the default's place for a while */

#endif
