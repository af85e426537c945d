/* Descriptors 0, 1 and 2 never name a file of the library's. Who has closed one (a daemon, `command 2>&-`) prints there
 * all the same, and so do libraries: into a checkpoint, the rows of the logs, the ranks' memory or generated code, if
 * one of these had got the number. */
#include "base/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* What takes a number is opened the wrong way round, so that reading and writing it fail as they did. */
void file_keep_standard(void) {
    int was = errno;
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        int null = open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_NOCTTY);
        if (null > STDERR_FILENO) close(null); /* another thread was quicker */
    }
    errno = was;
}

__attribute__((constructor)) static void keep_standard(void) {
    file_keep_standard();
}
