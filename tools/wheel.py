#!/usr/bin/env python3
"""Packs python/xtrain_pjrt, the plugin of a build folder and the libraries it needs into a wheel. usage: tools/wheel.py
BUILD [DIR]

The wheel is for any Python 3 and for systems with the C library the plugin was linked with or a newer one. Libraries
that every such system has (the C library, libstdc++, libgcc_s) stay outside; the plugin finds the others beside itself,
in libs/, whatever the system has: those are the ones it was tested with. patchelf writes where they are into copies.

OpenBLAS is linked anew from its archive (Debian's libopenblas-openmp-dev): the routines that the plugin asks for, and
no kernels of their own for ALIKE's processors. Without the archive all of it is packed, which is 7 MB more."""
import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile

OUTSIDE = re.compile(r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so|ld-linux|linux-vdso")


def needed(path, found):
    """The libraries of `path`, dependencies before what needs them: {name: file}."""
    for line in subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout.splitlines():
        m = re.match(r"\s*(\S+) => (/\S+)", line)
        if not m or OUTSIDE.match(m[1]) or m[1] in found:
            continue
        needed(os.path.realpath(m[2]), found)
        found[m[1]] = os.path.realpath(m[2])
    return found


def open_blas():
    """OpenBLAS is opened by name when it is first needed, so ldd does not show it."""
    for line in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines():
        if line.split()[:1] == ["libopenblas.so.0"]:
            return os.path.realpath(line.split()[-1])
    sys.exit("wheel: OpenBLAS is not installed (libopenblas0-openmp); `make deps` installs it")


# Old processors, and the one whose kernels they can run: these have no instruction that the others lack.
ALIKE = {**{old: "PRESCOTT" for old in ("ATOM", "BARCELONA", "BOBCAT", "CORE2", "DUNNINGTON", "NANO", "OPTERON",
                                        "OPTERON_SSE3", "PENRYN")},
         "BULLDOZER": "SANDYBRIDGE", "PILEDRIVER": "SANDYBRIDGE", "STEAMROLLER": "SANDYBRIDGE", "EXCAVATOR": "HASWELL"}


def linked_blas(root, whole, out):
    """An OpenBLAS of the routines whose names stand in the sources that open it; False where its archive is missing."""
    archive = os.path.join(os.path.dirname(whole), "libopenblas.a")
    if not os.path.exists(archive):
        print(f"wheel: {archive} is missing (libopenblas-openmp-dev): all of OpenBLAS is packed", file=sys.stderr)
        return False
    table = subprocess.run(["nm", "-g", "--defined-only", archive], capture_output=True, text=True).stdout
    there = {line.split()[2] for line in table.splitlines() if len(line.split()) == 3}
    names = set()
    for source in ("vector/blas.c", "vector/factor.c", "kernel/eig.c"):
        names.update(re.findall(r'"([a-z0-9_]+)"', open(os.path.join(root, "src/cpu", source)).read()))
    wanted = sorted(({f"{letter}{n}_" for n in names for letter in "sdcz"} | names) & there)
    alike = {old: new for old, new in ALIKE.items() if {f"gotoblas_{old}", f"gotoblas_{new}"} <= there}
    exported = out + ".map"
    with open(exported, "w") as f:
        f.write("{ global: " + "; ".join(wanted) + "; local: *; };\n")
    subprocess.run(["cc", "-shared", "-o", out, f"-Wl,-s,--gc-sections,--version-script={exported}",
                    "-Wl,-soname,libopenblas.so.0",
                    *(f"-Wl,-u,{name}" for name in wanted),
                    *(f"-Wl,--defsym,gotoblas_{old}=gotoblas_{new}" for old, new in alike.items()),
                    archive, "-lgfortran", "-lgomp", "-lm", "-lpthread"], check=True)
    os.unlink(exported)
    return True


def with_path(path, where, scratch):
    """The content of a library, without what debuggers need, that looks for others in `where`, for those that they
    need as well (DT_RPATH), before the system's folders."""
    subprocess.run(["strip", "--strip-debug", "-o", scratch, path], check=True)
    try:
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", where, scratch], check=True)
    except FileNotFoundError:
        sys.exit("wheel: patchelf is not installed; it is Debian's package of that name")
    finally:
        content = open(scratch, "rb").read()
        os.unlink(scratch)
    return content


def glibc(path):
    out = subprocess.run(["readelf", "-V", path], check=True, capture_output=True, text=True).stdout
    return max((tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([0-9.]+)", out)), default=(2, 17))


def licences(root, libraries):
    """{name in the wheel: text}: ours, and what each library's Debian package says, with the texts it points to."""
    out = {name: open(os.path.join(root, name), "rb").read() for name in ("LICENSE", "THIRD_PARTY.md")}
    for path in libraries.values():
        at = [path, path.removeprefix("/usr")]  # where / and /usr are one, packages may name either
        owner = next((line.split(":")[0] for p in at for line in subprocess.run(
            ["dpkg", "-S", p], capture_output=True, text=True).stdout.splitlines()), None)
        told = f"/usr/share/doc/{owner}/copyright"
        if not owner or not os.path.exists(told):
            sys.exit(f"wheel: no licence is known for {path}: it belongs to no Debian package with a copyright file")
        text = open(told, "rb").read()
        out[f"{owner}.copyright"] = text
        for common in set(re.findall(rb"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text)):
            out[common.decode()] = open(b"/usr/share/common-licenses/" + common, "rb").read()
    return out


def main():
    build, dest = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else os.path.join(sys.argv[1], "wheel")
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    version = re.search(r"version: *'([^']+)'", open(os.path.join(root, "meson.build")).read())[1]
    plugin = os.path.join(build, "pjrt_plugin_xtrain_cpu.so")
    libraries = needed(plugin, {})
    whole = open_blas()
    needed(whole, libraries)
    libraries["libopenblas.so.0"] = whole
    texts = licences(root, libraries)
    linked = os.path.join(build, "openblas.for.wheel.so")
    if linked_blas(root, whole, linked):
        libraries["libopenblas.so.0"] = linked
    c_library = max(glibc(p) for p in [plugin, *libraries.values()])
    tag = f"py3-none-manylinux_{c_library[0]}_{c_library[1]}_{os.uname().machine}"
    info = f"xtrain_pjrt-{version}.dist-info"
    files = {f"xtrain_pjrt/{f}": os.path.join(root, "python/xtrain_pjrt", f)
             for f in sorted(os.listdir(os.path.join(root, "python/xtrain_pjrt"))) if f.endswith(".py")}
    content = {name: open(path, "rb").read() for name, path in files.items()}
    scratch = os.path.join(build, "library.for.wheel")
    content["xtrain_pjrt/pjrt_plugin_xtrain_cpu.so"] = with_path(plugin, "$ORIGIN/libs", scratch)
    content.update({f"xtrain_pjrt/libs/{name}": with_path(path, "$ORIGIN", scratch)
                    for name, path in libraries.items()})
    content.update({f"{info}/licenses/{name}": text for name, text in texts.items()})
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: xtrain-pjrt\nVersion: {version}\nRequires-Python: >=3.10\n"
        "Summary: xtrain's CPU compiler as a PJRT plugin for JAX and PyTorch/XLA\nLicense-Expression: Apache-2.0\n" +
        "".join(f"License-File: {name}\n" for name in texts) +
        "Provides-Extra: jax\nRequires-Dist: jax>=0.6; extra == 'jax'\n"
        "Provides-Extra: torch\nRequires-Dist: torch_xla>=2.9; extra == 'torch'\n").encode()
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: xtrain\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    content[f"{info}/entry_points.txt"] = (
        b"[jax_plugins]\nxtrain = xtrain_pjrt.jax\n\n"
        b"[torch_xla.plugins]\nxtrain = xtrain_pjrt.torch_plugin:XtrainPlugin\n")
    record = "".join(
        f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b'=').decode()},{len(b)}\n"
        for n, b in content.items())
    content[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    os.makedirs(dest, exist_ok=True)
    path = os.path.join(dest, f"xtrain_pjrt-{version}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, data in content.items():
            z.writestr(name, data)
    installed = sum(map(len, content.values()))
    print(f"{path}: {os.path.getsize(path) / 1e6:.1f} MB packed, {installed / 1e6:.1f} MB installed")


main()
