/* Which binary a plugin file is: its size, its modification time and the GNU build id its linker wrote, for cache keys.
 * A file that is no ELF of this machine's kind keeps size and time alone. */
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/device_int.h"

static bool read_at(int fd, void *p, size_t n, uint64_t at) {
    return pread(fd, p, n, (off_t)at) == (ssize_t)n;
}

/* Finds the NT_GNU_BUILD_ID note among the notes of one segment. */
static bool note_id(const unsigned char *p, size_t n, str *out) {
    for (size_t at = 0; n - at >= sizeof(Elf64_Nhdr) && at < n;) {
        Elf64_Nhdr h;
        memcpy(&h, p + at, sizeof h);
        size_t name = at + sizeof h, desc = name + (((size_t)h.n_namesz + 3) & ~(size_t)3),
               end = desc + (((size_t)h.n_descsz + 3) & ~(size_t)3);
        if (end > n || end <= at) return false;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && memcmp(p + name, "GNU", 4) == 0) {
            for (size_t i = 0; i < h.n_descsz; i++) str_printf(out, "%02x", p[desc + i]);
            return true;
        }
        at = end;
    }
    return false;
}

static void elf_id(int fd, str *out) {
    Elf64_Ehdr e;
    if (!read_at(fd, &e, sizeof e, 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    for (unsigned i = 0; i < e.e_phnum; i++) {
        Elf64_Phdr ph;
        if (!read_at(fd, &ph, sizeof ph, e.e_phoff + (uint64_t)i * sizeof ph)) return;
        if (ph.p_type != PT_NOTE || ph.p_filesz == 0 || ph.p_filesz > 1 << 16) continue;
        unsigned char *notes = base_malloc(ph.p_filesz);
        bool found = notes && read_at(fd, notes, ph.p_filesz, ph.p_offset) && note_id(notes, ph.p_filesz, out);
        base_free(notes);
        if (found) return;
    }
}

char *device_build_id(const char *path) {
    str s = STR_INIT;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0) {
        str_printf(&s, "%lld-%lld.%09ld-", (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
        elf_id(fd, &s);
    }
    if (fd >= 0) close(fd);
    char *id = s.failed ? NULL : base_strdup(str_cstr(&s));
    str_free(&s);
    return id;
}
