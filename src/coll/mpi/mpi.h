/* MPI as a transport: what other files of src/coll use of it. */
#ifndef XT_SRC_COLL_MPI_H
#define XT_SRC_COLL_MPI_H

#include "coll/core/group.h"

extern const coll_transport mpi_transport;

#endif
