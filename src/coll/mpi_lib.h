/* Open MPI's library, opened at run time: nothing links against it, and a machine without MPI needs none. Its handles are pointers to
 * objects with exported names (ompi_mpi_comm_world, ompi_mpi_byte, ...): ABI facts of Open MPI 1.7 to 5 (libmpi.so.40 and around). */
#ifndef XT_SRC_COLL_MPI_LIB_H
#define XT_SRC_COLL_MPI_LIB_H

#include "coll/coll_int.h"

typedef void *mpi_comm, *mpi_type, *mpi_request;
typedef struct mpi_status {
    int source, tag, error, cancelled;
    size_t ucount; /* bytes received, for byte messages */
} mpi_status;
enum { MPI_ANY_FROM = -1, MPI_MULTIPLE = 3, MPI_TEXT = 256 };

typedef struct mpi_lib {
    mpi_comm world;
    mpi_type byte;
    void *errors_return;
#define MPI_FN(result, name, args) result(*name) args;
#include "coll/mpi_lib.def"
#undef MPI_FN
} mpi_lib;

/* Opens and initialises MPI with threads, once; finalised at exit when the program ends with 0 and we began it. */
xt_status mpi_lib_get(const mpi_lib **out);
xt_status mpi_lib_check(const mpi_lib *m, int code, const char *what);
void mpi_lib_no_finalize(void); /* after a failure: finalising would wait for ranks that do not come */
bool mpi_lib_usable(const mpi_lib *m);

#endif
