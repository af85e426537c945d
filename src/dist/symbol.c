/* Naming a function by module and symbol, C's counterpart of pickling by name. A fresh process can only call what the
 * dynamic linker finds, so the module's tables are read first: a static function, a GCC nested function, a hidden
 * symbol, a C++ name and a misspelt one each get the sentence that says how to make the function reachable. Layout of
 * the tables: the ELF specification, <elf.h>. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "dist/dist_int.h"

typedef struct module_file {
    const char *path;
    char *data;
    size_t size;
} module_file;

static bool in_file(const module_file *m, uint64_t at, uint64_t n) {
    return at <= m->size && n <= m->size - at;
}

#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#else
enum { OUR_MACHINE = EM_NONE };
#endif

static xt_status check_library(const module_file *m) {
    const Elf64_Ehdr *h = (const void *)m->data;
    if (m->size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return status_new(XT_INVALID_ARGUMENT, NULL, "module '%s' is not a shared library (no ELF file)", m->path);
    if (h->e_ident[EI_CLASS] != ELFCLASS64 || (OUR_MACHINE != EM_NONE && h->e_machine != OUR_MACHINE))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "module '%s' was built for another machine (ELF machine %d, expected %d)", m->path,
                          h->e_machine, OUR_MACHINE);
    if (h->e_type != ET_DYN || !in_file(m, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "module '%s' is not a shared library (ELF type %d); build it with -shared -fPIC", m->path,
                          h->e_type);
    return NULL;
}

/* An executable built as PIE looks like a library but refuses to be loaded. */
static bool is_program(const module_file *m) {
    const Elf64_Ehdr *h = (const void *)m->data;
    const Elf64_Phdr *p = (const void *)(m->data + h->e_phoff);
    if (!in_file(m, h->e_phoff, (uint64_t)h->e_phnum * sizeof *p)) return false;
    for (int i = 0; i < h->e_phnum; i++)
        if (p[i].p_type == PT_DYNAMIC && in_file(m, p[i].p_offset, p[i].p_filesz)) {
            const Elf64_Dyn *d = (const void *)(m->data + p[i].p_offset);
            for (size_t k = 0; k < p[i].p_filesz / sizeof *d && d[k].d_tag != DT_NULL; k++)
                if (d[k].d_tag == DT_FLAGS_1 && (d[k].d_un.d_val & DF_1_PIE)) return true;
        }
    return false;
}

typedef struct table {
    const Elf64_Sym *syms;
    size_t n;
    const char *names;
    size_t names_size;
} table;

static bool find_table(const module_file *m, uint32_t type, table *out) {
    const Elf64_Ehdr *h = (const void *)m->data;
    const Elf64_Shdr *s = (const void *)(m->data + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        if (s[i].sh_type != type || s[i].sh_link >= h->e_shnum) continue;
        const Elf64_Shdr *strings = &s[s[i].sh_link];
        if (!in_file(m, s[i].sh_offset, s[i].sh_size) || !in_file(m, strings->sh_offset, strings->sh_size) ||
            !strings->sh_size)
            return false;
        *out = (table){(const void *)(m->data + s[i].sh_offset), s[i].sh_size / sizeof(Elf64_Sym),
                       m->data + strings->sh_offset, strings->sh_size};
        return out->names[out->names_size - 1] == 0;
    }
    return false;
}

static const char *name_of(const table *t, size_t i) {
    return t->syms[i].st_name < t->names_size ? t->names + t->syms[i].st_name : "";
}

static bool is_function(const Elf64_Sym *s) {
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && s->st_shndx != SHN_UNDEF;
}

static bool is_exported(const Elf64_Sym *s) {
    int bind = ELF64_ST_BIND(s->st_info), vis = ELF64_ST_VISIBILITY(s->st_other);
    return (bind == STB_GLOBAL || bind == STB_WEAK) && (vis == STV_DEFAULT || vis == STV_PROTECTED);
}

/* "name", or "name.0", "name.constprop.1": how gcc names nested functions and its own copies of static ones. */
static bool same_function(const char *have, const char *want) {
    size_t n = strlen(want);
    return strncmp(have, want, n) == 0 && (have[n] == 0 || have[n] == '.');
}

/* "_Z5trainiPv" or "_ZN3abc5trainEiPv" for want = "train": the length stands before the name. */
static bool mangled(const char *have, const char *want) {
    char key[256];
    if (strncmp(have, "_Z", 2) != 0) return false;
    snprintf(key, sizeof key, "%zu%s", strlen(want), want);
    return strstr(have, key) != NULL;
}

/* The exported name nearest to the one asked for; NULL when none is near. */
static const char *nearest_export(const table *t, const char *symbol) {
    const char **names = NULL, *near = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < t->n; i++)
        if (is_function(&t->syms[i]) && is_exported(&t->syms[i]) && !VEC_PUSH(names, n, cap, name_of(t, i))) break;
    near = text_nearest(symbol, names, n);
    base_free(names);
    return near;
}

static void list_exports(const table *t, str *out) {
    int n = 0;
    for (size_t i = 0; i < t->n && n < 8; i++) {
        const char *name = name_of(t, i);
        if (is_function(&t->syms[i]) && is_exported(&t->syms[i]) && name[0] != '_')
            str_printf(out, "%s%s", n++ ? ", " : "", name);
    }
}

static xt_status why_missing(const module_file *m, const table *dynamic, const char *symbol) {
    table full;
    bool whole = find_table(m, SHT_SYMTAB, &full);
    if (whole) {
        for (size_t i = 0; i < full.n; i++) {
            const char *name = name_of(&full, i);
            if (!is_function(&full.syms[i])) continue;
            if (same_function(name, symbol) && name[strlen(symbol)] == '.')
                return status_new(XT_NOT_FOUND, NULL,
                                  "'%s' in %s is a nested function or one the compiler made local ('%s'): other "
                                  "processes cannot reach it; move it "
                                  "to file scope without `static`",
                                  symbol, m->path, name);
            if (strcmp(name, symbol) == 0) /* the linker makes hidden symbols local, as static ones are */
                return status_new(XT_NOT_FOUND, NULL,
                                  "'%s' in %s is static, or hidden by -fvisibility=hidden: other processes cannot "
                                  "reach it by name; remove `static`, "
                                  "or mark it __attribute__((visibility(\"default\")))",
                                  symbol, m->path);
        }
    }
    for (size_t i = 0; i < dynamic->n; i++)
        if (mangled(name_of(dynamic, i), symbol))
            return status_new(XT_NOT_FOUND, NULL, "'%s' in %s has C++ linkage (%s): declare it extern \"C\"", symbol,
                              m->path, name_of(dynamic, i));
    str exports = STR_INIT, near = STR_INIT;
    list_exports(dynamic, &exports);
    const char *name = nearest_export(dynamic, symbol);
    if (name) str_printf(&near, "did you mean %s? ", name);
    xt_status st = status_new(XT_NOT_FOUND, NULL, "%s exports no function '%s'; %sit exports %s. %s", m->path, symbol,
                              str_cstr(&near), exports.len ? str_cstr(&exports) : "none",
                              whole ? "No function of its own has that name, static or not"
                                    : "The module is stripped, which hides whether the function is static (then remove "
                                      "`static`, or move a nested one to file scope) or "
                                      "absent (then the name is misspelt, or its file was not linked in)");
    str_free(&exports);
    str_free(&near);
    return st;
}

static xt_status look_up(const module_file *m, const char *symbol) {
    table dynamic;
    XT_TRY(check_library(m));
    if (is_program(m))
        return status_new(XT_INVALID_ARGUMENT, NULL,
                          "module '%s' is a program; put the training function into a shared library (gcc -shared "
                          "-fPIC), which fresh "
                          "processes can load",
                          m->path);
    if (!find_table(m, SHT_DYNSYM, &dynamic))
        return status_new(XT_INVALID_ARGUMENT, NULL, "module '%s' has no dynamic symbols", m->path);
    for (size_t i = 0; i < dynamic.n; i++)
        if (is_function(&dynamic.syms[i]) && is_exported(&dynamic.syms[i]) && strcmp(name_of(&dynamic, i), symbol) == 0)
            return NULL;
    return why_missing(m, &dynamic, symbol);
}

xt_status symbol_check(const char *module, const char *symbol) {
    module_file m = {.path = module};
    if (!symbol || !*symbol)
        return status_new(XT_INVALID_ARGUMENT, NULL, "module '%s' is given without the symbol to call", module);
    if (!strchr(module, '/') && !file_exists(module)) return NULL; /* left to the dynamic linker's search path */
    XT_TRY(status_context(file_read_all(module, &m.data, &m.size), "loading the training module"));
    xt_status st = look_up(&m, symbol);
    base_free(m.data);
    return st;
}

/* The note the linker writes with --build-id. */
static bool build_note(const module_file *m, str *out) {
    const Elf64_Ehdr *h = (const void *)m->data;
    const Elf64_Shdr *s = (const void *)(m->data + h->e_shoff);
    for (int i = 0; i < h->e_shnum; i++) {
        const Elf64_Nhdr *note = (const void *)(m->data + s[i].sh_offset);
        if (s[i].sh_type != SHT_NOTE || !in_file(m, s[i].sh_offset, s[i].sh_size) || s[i].sh_size < sizeof *note)
            continue;
        uint64_t name = (note->n_namesz + 3u) & ~3ull;
        if (note->n_type != NT_GNU_BUILD_ID || name + note->n_descsz > s[i].sh_size - sizeof *note) continue;
        const unsigned char *id = (const unsigned char *)(note + 1) + name;
        for (uint32_t k = 0; k < note->n_descsz && k < 32; k++) str_printf(out, "%02x", id[k]);
        return out->len > 0;
    }
    return false;
}

xt_status symbol_build(const char *module, str *out) {
    module_file m = {.path = module};
    char hex[33];
    XT_TRY(status_context(file_read_all(module, &m.data, &m.size), "reading the module"));
    xt_status st = check_library(&m);
    if (!st && !build_note(&m, out)) {
        hash_hex(hash_bytes(m.data, m.size, (hash128){0, 0}), hex);
        str_printf(out, "hash-%s", hex);
    }
    base_free(m.data);
    return st;
}

xt_status symbol_module_path(const char *module, str *out) {
    struct link_map *loaded = NULL;
    if (strchr(module, '/') || file_exists(module)) {
        /* a bare name in this folder is meant as a file, which dlopen would not look for */
        str_printf(out, "%s%s", strchr(module, '/') ? "" : "./", module);
        return file_exists(module) ? NULL : status_errno("there is no module", module);
    }
    void *handle = dlopen(module, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        return status_new(XT_NOT_FOUND, NULL,
                          "there is no module '%s': not in this folder, and the dynamic linker says: %s", module,
                          dlerror());
    if (dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0 && loaded) str_append(out, loaded->l_name);
    dlclose(handle);
    return out->len ? NULL : status_new(XT_NOT_FOUND, NULL, "there is no module '%s'", module);
}

char *symbol_advice(xt_rank_fn fn) {
    Dl_info info = {0};
    str text = STR_INIT;
    void *address;
    memcpy(&address, &fn, sizeof address);
    bool known = fn && dladdr(address, &info) && info.dli_fname;
    if (known && info.dli_sname && info.dli_saddr == address)
        str_printf(&text,
                   ": put %s into a shared library and give xt_launch .module = \"that.so\", .symbol = \"%s\" instead "
                   "of the function",
                   info.dli_sname, info.dli_sname);
    else
        str_append(&text, ": make the function external (not static, not nested) in a shared library and give "
                          "xt_launch .module = \"that.so\", "
                          ".symbol = \"its name\"");
    if (known && strstr(info.dli_fname, ".so")) {
        str_clear(&text);
        if (info.dli_sname && info.dli_saddr == address)
            str_printf(&text, ": xt_launch(NULL, NULL, .module = \"%s\", .symbol = \"%s\")", info.dli_fname,
                       info.dli_sname);
        else
            str_printf(
                &text,
                ": make the function of %s external (not static, not nested) and give xt_launch .module and .symbol",
                info.dli_fname);
    }
    return text.data;
}
