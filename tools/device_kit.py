#!/usr/bin/env python3
"""Packs what a bare machine with an accelerator needs into BUILD/device-kit and BUILD/device-kit.tar.xz. usage:
tools/device_kit.py BUILD [--no-cpu]

The machine has Python, a PJRT plugin and a C library not older than this one's, and nothing else that is counted on: no
compiler, no libraries of Debian's, no network. The kit has the library, the command, the examples, the tests of
tests/device.sh, the benchmarks' peers, data, and each shared library that these need, all in one folder that may lie
anywhere: every file finds the others beside itself. tools/device_kit.sh in it runs them there.

The tests are linked with the library's insides, 10 MB each; here they are one program that is called by many names.
--no-cpu leaves our own CPU compiler and what it needs out."""
import argparse
import os
import re
import shutil
import subprocess
import sys

LIMIT = 60 << 20
OUTSIDE = re.compile(r"lib(c|m|dl|rt|pthread)\.so|ld-linux|linux-vdso")
EXAMPLES = ["hello", "mnist_single", "mnist_multi", "log_metrics", "mesh", "throughput"]
COPIED = ["tests/device.sh", "tests/examples/lib.sh", "tests/conformance/run.sh", "tools/device_kit.sh", "LICENSE",
          "THIRD_PARTY.md"]
FOLDERS = ["tests/conformance/programs", "bench/peers"]


def run(*command, **options):
    return subprocess.run(command, check=True, **options)


def needed(path, found):
    """The libraries of `path`: {name: file}, but for those every system has."""
    for line in run("ldd", path, capture_output=True, text=True).stdout.splitlines():
        m = re.match(r"\s*(\S+) => (/\S+)", line)
        if m and not OUTSIDE.match(m[1]):
            found[m[1]] = os.path.realpath(m[2])
        elif "not found" in line:
            sys.exit(f"device kit: {path}: {line.strip()}")
    return found


def place(source, target):
    """A copy without what debuggers need, but with its symbols; it finds libraries beside itself."""
    shutil.copyfile(source, target)
    os.chmod(target, 0o755)
    run("strip", "--strip-debug", target)
    run("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN", target)


def build_tests(build, target, names):
    """One program of many test programs: each one's main gets a name of its own, the rest stays local to it."""
    scratch = os.path.join(build, "device-kit.objects")
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    objects = []
    for name in names:
        folder = os.path.join(build, name + ".p")
        source = next(f for f in os.listdir(folder) if f.endswith(name + ".c.o"))
        objects.append(os.path.join(scratch, name + ".o"))
        run("objcopy", "--redefine-sym", f"main=main_{name}", f"--keep-global-symbol=main_{name}",
            os.path.join(folder, source), objects[-1])
    main = os.path.join(scratch, "main.c")
    with open(main, "w") as f:
        f.write("#include <stdio.h>\n#include <string.h>\n")
        f.writelines(f"int main_{n}(int, char **);\n" for n in names)
        f.write("int main(int argc, char **argv) {\n    const char *slash = strrchr(argv[0], '/');\n"
                "    const char *name = slash ? slash + 1 : argv[0];\n")
        f.writelines(f'    if (strcmp(name, "{n}") == 0) return main_{n}(argc, argv);\n' for n in names)
        f.write('    fprintf(stderr, "%s is none of these programs\\n", name);\n    return 2;\n}\n')
    own = os.path.join(build, names[0] + ".p")
    errors = [os.path.join(own, f) for f in os.listdir(own) if f.endswith("own_errors.c.o")]
    archives = [os.path.join(build, f"libxtrain_{a}.a") for a in ("models", "client", "shared")]
    run("cc", "-o", target, main, *objects, *errors, "-Wl,--start-group", *archives, "-Wl,--end-group", "-lcmocka",
        "-lcjson", "-lpng", "-lz", "-lzstd", "-ldw", "-lpcre2-8", "-lutf8proc", "-ldl", "-lm", "-pthread")
    shutil.rmtree(scratch)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("--no-cpu", action="store_true")
    args = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build = os.path.abspath(args.build)
    kit = os.path.join(build, "device-kit")
    out = os.path.join(kit, "build")
    for tool in ("patchelf", "strip", "objcopy", "cc"):
        if not shutil.which(tool):
            sys.exit(f"device kit: {tool} is not installed (patchelf: Debian's package of that name)")
    shutil.rmtree(kit, ignore_errors=True)
    os.makedirs(out)
    tests = sorted(f[:-2] for f in os.listdir(build) if re.fullmatch(r"(test_lazy_\w+|test_device_exec)\.p", f))
    tests.append("dispatch_bench")
    programs = {"device_tests": os.path.join(build, "device_tests"), "xtrain": os.path.join(build, "xtrain"),
                "libxtrain.so.0": os.path.realpath(os.path.join(build, "libxtrain.so"))}
    build_tests(build, programs["device_tests"], tests)
    programs.update({e: os.path.join(build, e) for e in EXAMPLES})
    programs.update({f + ".so": os.path.join(build, f + ".so") for f in ("fault_plugin", "record_plugin")})
    if not args.no_cpu:
        programs["pjrt_plugin_xtrain_cpu.so"] = os.path.join(build, "pjrt_plugin_xtrain_cpu.so")
    libraries = {}
    for path in programs.values():
        needed(path, libraries)
    libraries.pop("libxtrain.so.0", None)
    for name, path in {**programs, **libraries}.items():
        place(path, os.path.join(out, name))
    for name in tests:
        os.symlink("device_tests", os.path.join(out, name))
    for name in COPIED:
        os.makedirs(os.path.dirname(os.path.join(kit, name)), exist_ok=True)
        shutil.copy(os.path.join(root, name), os.path.join(kit, name))
    for name in FOLDERS:
        shutil.copytree(os.path.join(root, name), os.path.join(kit, name),
                        ignore=shutil.ignore_patterns("__pycache__"))
    with open(os.path.join(kit, "VERSION"), "w") as f:
        f.write(run("git", "-C", root, "describe", "--always", "--dirty", capture_output=True, text=True).stdout)
    packed = kit + ".tar.xz"
    run("tar", "-C", build, "--owner=0", "--group=0", "-I", "xz -T2 -6", "-cf", packed, "device-kit")
    size, whole = os.path.getsize(packed), 0
    rows = []
    for folder, _, files in os.walk(kit):
        for f in files:
            path = os.path.join(folder, f)
            if not os.path.islink(path):
                rows.append((os.path.getsize(path), os.path.relpath(path, kit)))
    for n, name in sorted(rows, reverse=True)[:12]:
        print(f"{n / 1e6:8.1f} MB  {name}")
    whole = sum(n for n, _ in rows)
    print(f"{packed}: {size / (1 << 20):.1f} MiB packed, {whole / (1 << 20):.1f} MiB unpacked")
    if size > LIMIT:
        sys.exit(f"device kit: more than {LIMIT >> 20} MiB; --no-cpu leaves the CPU compiler out")


main()
