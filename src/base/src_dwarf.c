/* Addresses to source lines with elfutils' libdw. Only the module that holds the address is opened, and the last one
 * stays open. Compilation units are searched with dwarf_haspc, since clang writes no .debug_aranges. Separate debug
 * files are found by build id under /usr/lib/debug; libdw's own search is not used because it may ask servers on the
 * network. A call's own line is that of the byte before the return address.
 *
 * "Inside" is the shared library this code is part of. Linked statically, the library shares its module with the
 * program, so there the compilation unit decides: the library's own sources lie beside this file. */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <dwarf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/src_dwarf.h"

typedef struct module {
    const char *name; /* as the dynamic linker has it; "" for the program itself */
    uintptr_t bias, start, end; /* load bias and address range */
    bool is_program;
} module;

typedef struct search {
    uintptr_t address;
    module found;
    bool first, hit;
} search;

static int match_module(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    search *s = user;
    bool is_program = s->first;
    s->first = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD || s->address < start || s->address >= start + segment->p_memsz) continue;
        s->found = (module){info->dlpi_name, info->dlpi_addr, start, start + segment->p_memsz, is_program};
        s->hit = true;
        return 1;
    }
    return 0;
}

static bool find_module(uintptr_t address, module *out) {
    search s = {.address = address, .first = true};
    dl_iterate_phdr(match_module, &s);
    *out = s.found;
    return s.hit;
}

static int read_unloads(struct dl_phdr_info *info, size_t size, void *user) {
    (void)size;
    *(uint64_t *)user = info->dlpi_subs;
    return 1;
}

uint64_t src_dwarf_unloads(void) {
    uint64_t n = 0;
    dl_iterate_phdr(read_unloads, &n);
    return n;
}

static int find_debug_file(Dwfl_Module *mod, void **user, const char *name, Dwarf_Addr base, const char *file,
                           const char *link, GElf_Word crc, char **out_name) {
    (void)user, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)out_name;
    const unsigned char *id;
    GElf_Addr at;
    int n = dwfl_module_build_id(mod, &id, &at);
    if (n < 2) return -1;
    str path = STR_INIT;
    str_printf(&path, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (int i = 1; i < n; i++) str_printf(&path, "%02x", id[i]);
    str_append(&path, ".debug");
    int fd = path.failed ? -1 : open(path.data, O_RDONLY | O_CLOEXEC);
    str_free(&path);
    return fd;
}

static const Dwfl_Callbacks callbacks = {.find_debuginfo = find_debug_file,
                                         .section_address = dwfl_offline_section_address};

static Dwfl *open_dwfl; /* of the module at open_bias */
static Dwfl_Module *open_module;
static uintptr_t open_bias;

void src_dwarf_forget(void) {
    if (open_dwfl) dwfl_end(open_dwfl);
    open_dwfl = NULL;
    open_module = NULL;
}

static Dwfl_Module *debug_of(const module *m) {
    if (open_dwfl && open_bias == m->bias) return open_module;
    src_dwarf_forget();
    open_dwfl = dwfl_begin(&callbacks);
    if (!open_dwfl) return NULL;
    open_bias = m->bias;
    /* The program's own file also after a chdir or when it was replaced on disk. */
    const char *path = m->is_program ? "/proc/self/exe" : m->name;
    dwfl_report_begin(open_dwfl);
    open_module = dwfl_report_elf(open_dwfl, path, path, -1, m->bias, true);
    dwfl_report_end(open_dwfl, NULL, NULL);
    return open_module;
}

static Dwarf_Die *unit_of(Dwfl_Module *mod, Dwarf_Addr pc, Dwarf_Addr *out_bias) {
    Dwarf_Die *unit = NULL;
    while ((unit = dwfl_module_nextcu(mod, unit, out_bias)))
        if (dwarf_haspc(unit, pc - *out_bias) > 0) return unit;
    return NULL;
}

/* The innermost function around pc, one that was inlined included: the line belongs to it. */
static const char *function_at(Dwarf_Die *unit, Dwarf_Addr pc, str *out) {
    Dwarf_Die *scopes = NULL;
    int n = dwarf_getscopes(unit, pc, &scopes);
    const char *name = NULL;
    for (int i = 0; i < n && !name; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) name = dwarf_diename(&scopes[i]);
    }
    if (name) str_append(out, name);
    free(scopes);
    return name;
}

/* The file as the compiler was given it, which is what __FILE__ is in all other messages; libdw puts the folder of the
 * compilation in front. */
static const char *as_given(Dwarf_Die *unit, const char *file) {
    Dwarf_Attribute attr;
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr)), *name = dwarf_diename(unit);
    size_t n = folder ? strlen(folder) : 0;
    return n && name && name[0] != '/' && strncmp(file, folder, n) == 0 && file[n] == '/' ? file + n + 1 : file;
}

/* Where an inlined function was called, by the scope around it. */
static void add_around(Dwarf_Die *unit, Dwarf_Die *inlined, const char *func, dwarf_found *out) {
    Dwarf_Attribute attr;
    Dwarf_Word file = 0, line = 0, column = 0;
    Dwarf_Files *files = NULL;
    dwarf_inlined at = {.file = STR_INIT, .func = STR_INIT};
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) != 0 ||
        dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) != 0 || line > INT_MAX ||
        dwarf_getsrcfiles(unit, &files, NULL) != 0)
        return;
    const char *name = dwarf_filesrc(files, file, NULL, NULL);
    if (!name) return;
    str_append(&at.file, as_given(unit, name));
    str_append(&at.func, func);
    at.line = (int)line;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_column, &attr), &column) == 0 && column <= INT_MAX)
        at.column = (int)column;
    if (!VEC_PUSH(out->around, out->n_around, out->cap_around, at)) str_free(&at.file), str_free(&at.func);
}

static void find_around(Dwarf_Die *unit, Dwarf_Addr pc, dwarf_found *out) {
    Dwarf_Die *at = NULL, *scopes = NULL;
    int n = dwarf_getscopes(unit, pc, &at) > 0 ? dwarf_getscopes_die(&at[0], &scopes) : 0;
    for (int i = n; i-- > 0 && out->n_scopes < SRC_SCOPES_MAX;) {
        int tag = dwarf_tag(&scopes[i]);
        src_scope scope = {dwarf_dieoffset(&scopes[i]), tag == DW_TAG_lexical_block};
        if (tag != DW_TAG_compile_unit) out->scopes[out->n_scopes++] = scope;
    }
    for (int i = 0, inner = -1; i < n; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
        const char *name = dwarf_diename(&scopes[i]);
        if (inner >= 0) add_around(unit, &scopes[inner], name ? name : "?", out);
        inner = i;
    }
    free(scopes);
    free(at);
}

void src_dwarf_found_free(dwarf_found *f) {
    for (size_t i = 0; i < f->n_around; i++) str_free(&f->around[i].file), str_free(&f->around[i].func);
    base_free(f->around);
    str_free(&f->file);
    str_free(&f->func);
}

/* "../src/" of "../src/base/src_dwarf.c": what every source of the library begins with. */
static bool is_own_source(const char *unit_name) {
    static const char here[] = __FILE__, tail[] = "base/src_dwarf.c";
    size_t n = sizeof here - sizeof tail;
    return unit_name && n > 0 && strncmp(unit_name, here, n) == 0;
}

/* Entries of public functions (src/api) are written by the build, in a file that is not among the sources. */
static const char ENTRY[] = "checked_xt_";

static void find_line(const module *m, uintptr_t call, bool same_module, dwarf_found *out) {
    Dwfl_Module *mod = debug_of(m);
    Dwarf_Addr bias;
    Dwarf_Die *unit = mod ? unit_of(mod, call, &bias) : NULL;
    if (!unit) return;
    if (same_module) out->inside = !m->is_program || is_own_source(dwarf_diename(unit));
    Dwarf_Line *line = dwarf_getsrc_die(unit, call - bias);
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number = 0;
    if (file && dwarf_lineno(line, &number) == 0 && number > 0) {
        str_append(&out->file, as_given(unit, file));
        out->line = number;
        if (dwarf_linecol(line, &out->column) != 0) out->column = 0;
    }
    function_at(unit, call - bias, &out->func);
    find_around(unit, call - bias, out);
    if (same_module && out->func.len) out->inside |= strncmp(out->func.data, ENTRY, sizeof ENTRY - 1) == 0;
}

/* The xtrain command is no user's program: what it calls, it calls for the user, whose lines are in other modules
 * if anywhere. */
static bool is_command(const module *m) {
    static int answer; /* 1: no, 2: yes; the same on every thread */
    char program[4096];
    if (!m->is_program) return false;
    if (!answer) {
        ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
        program[n > 0 ? n : 0] = 0;
        const char *slash = strrchr(program, '/');
        answer = 1 + (slash && strcmp(slash, "/xtrain") == 0);
    }
    return answer == 2;
}

static void name_offset(const module *m, uintptr_t call, dwarf_found *out) {
    char program[4096] = "";
    const char *path = m->name;
    if (m->is_program) {
        ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
        path = n > 0 ? program : "program";
    }
    const char *slash = strrchr(path, '/');
    str_printf(&out->file, "%s+0x%lx", slash ? slash + 1 : path, (unsigned long)(call - m->bias));
}

void src_dwarf_find(const void *return_address, dwarf_found *out) {
    uintptr_t call = (uintptr_t)return_address - 1;
    module m, own;
    Dl_info symbol;
    if (!find_module(call, &m)) {
        str_printf(&out->file, "code+0x%lx", (unsigned long)call); /* made at run time, in no file */
        return;
    }
    bool same_module = find_module((uintptr_t)&src_dwarf_find, &own) && own.bias == m.bias;
    out->inside = (same_module && !m.is_program) || is_command(&m);
    if (!out->inside) find_line(&m, call, same_module, out);
    if (out->line == 0) name_offset(&m, call, out);
    if (!out->func.len && dladdr((void *)call, &symbol) && symbol.dli_sname) str_append(&out->func, symbol.dli_sname);
}
