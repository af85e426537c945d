/* Which transport serves a name, and the name of a run that was given none. */
#ifndef XT_SRC_COLL_OPEN_H
#define XT_SRC_COLL_OPEN_H

#include "coll/core/group.h"

/* size 0: of more than one rank, however many */
const coll_transport *transport_for(const char *name, int size);
/* The name for the run of this process where the launcher gave none. base_free it. */
xt_status transport_run_name(bool across_hosts, char **out_name);

#endif
