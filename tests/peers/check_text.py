"""Asks MLIR's own parser (jaxlib's) about the text xtrain prints. Not part of the quick tests: needs `pip install jax
jaxlib` (tried with 0.10.2).

usage: PYTHONPATH=FOLDER_WITH_JAX python3 tests/peers/check_text.py build/xtrain PROGRAM.mlir ...

Each program is printed by `xtrain run --print` in both forms; MLIR must parse and verify the result and find the same
module as in the original (chlo ops aside: xtrain prints what it made of them; public visibility aside: it is the
default)."""
import difflib
import re
import subprocess
import sys

from jax._src.interpreters import mlir
from jaxlib.mlir import ir


def canonical(text):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    return text.replace(', sym_visibility = "public"', "")


def main(xtrain, programs):
    passed = failed = 0
    for path in programs:
        original = canonical(open(path).read())
        for form in "pretty", "generic":
            run = subprocess.run([xtrain, "run", path, "--print", form], capture_output=True, text=True)
            try:
                if run.returncode:
                    raise ValueError(run.stderr.strip())
                ours = canonical(run.stdout)
                if ours != original and not re.search(r'"chlo\.', original):
                    raise ValueError("\n".join(difflib.unified_diff(original.split("\n"), ours.split("\n"), "original",
                                                                    "xtrain", lineterm="", n=0)))
                passed += 1
            except Exception as e:  # MLIRError is an Exception without a common base we could name
                failed += 1
                print(f"{path} {form}: {e}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
