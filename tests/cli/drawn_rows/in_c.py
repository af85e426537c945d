"""Drawn loops as one C program: built once, each run by its number."""
import os, subprocess


def compile_loops(build, include, work, flags, head, programs, main):
    """work/p: of programs whose write() gives the function loop_SEED; `main` finds them in `loops`."""
    os.makedirs(work, exist_ok=True)
    with open(work + "/p.c", "w") as f:
        f.write(head + "".join(p.write() for p in programs))
        f.write("static void (*const loops[])(void) = {%s};\n" % ", ".join("loop_%s" % p.seed for p in programs) + main)
    subprocess.run([os.environ.get("CC", "cc"), "-w", "-g", *flags, "-I" + include, work + "/p.c", "-o", work + "/p",
                    "-L" + build, "-lxtrain", "-Wl,-rpath," + build], check=True)


def run_loop(build, work, runs, at, marked):
    """Loop number `at`, with or without its boundaries; what it logs lies in the folder `runs`."""
    return subprocess.run(["timeout", "300", work + "/p", str(at), str(marked)], cwd=work, text=True,
                          capture_output=True,
                          env=dict(os.environ, XT_PLUGIN_DIR=build, XT_RUNS_DIR=runs, XT_SUMMARY="off",
                                   XT_PROGRESS="off", XT_POSTMORTEM="off"))
