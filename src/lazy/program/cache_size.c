/* How many bytes the compile cache holds, without looking at its files, of which there may be a hundred thousand: each
 * process that writes one appends its size to the file "sizes" there. Their sum is a guess (files are removed by other
 * ways than ours, and a process may die between the two), which is put right whenever the files are listed: when the
 * sum passes the cap, and after MOST records at the latest. */
#include "base/private_file.h"
#include "lazy/program/program.h"

#include <fcntl.h>
#include <unistd.h>

static const char NAME[] = "sizes";
static const char MAGIC[8] = {'x', 't', 's', 'i', 'z', 'e', 's', '1'};

enum { MOST = 4096 };

typedef struct counted { /* what a listing found; records are further numbers behind it */
    char magic[8];
    int64_t bytes;
} counted;

static int open_folder(const char *dir) {
    return open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The sum of what stands in the file; -1: it is to be counted anew. */
static int64_t sum_of(int fd) {
    int64_t words[MOST], total = 0; /* MAGIC is one of them */
    ssize_t got = pread(fd, words, sizeof words, 0);
    size_t n = got > 0 ? (size_t)got / sizeof *words : 0;
    if (n < 2 || n == MOST || (size_t)got % sizeof *words || memcmp(words, MAGIC, sizeof MAGIC) != 0) return -1;
    for (size_t i = 1; i < n; i++)
        if (words[i] < 0 || __builtin_add_overflow(total, words[i], &total)) return -1;
    return total;
}

int64_t lazy_cache_add(const char *dir, int64_t bytes) {
    int folder = open_folder(dir);
    bool added = folder >= 0 && private_file_append(folder, NAME, &bytes, sizeof bytes);
    int fd = added ? file_open_regular(folder, NAME, NULL) : -1;
    int64_t total = fd >= 0 ? sum_of(fd) : -1;
    if (fd >= 0) close(fd);
    if (folder >= 0) close(folder);
    return total;
}

void lazy_cache_counted(const char *dir, int64_t bytes) {
    int folder = open_folder(dir);
    if (folder < 0) return;
    counted c = {.bytes = bytes};
    memcpy(c.magic, MAGIC, sizeof MAGIC);
    if (private_file_write(folder, NAME, &c, sizeof c)) unlinkat(folder, NAME, 0);
    close(folder);
}
