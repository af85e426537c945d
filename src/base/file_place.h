/* Files that can be made again: in their place at once, on the disk when the system writes them. A power cut may leave
 * such a file empty or in part under its name, so whoever reads it must be able to tell (a checksum), and nobody waits
 * for the disk, which may take a tenth of a second a file. */
#ifndef XT_SRC_BASE_FILE_PLACE_H
#define XT_SRC_BASE_FILE_PLACE_H

#include "base/base.h"

/* As file_writer_commit: whole for every process that looks, but without waiting for the disk. */
xt_status file_writer_place(file_writer *w);

#endif
