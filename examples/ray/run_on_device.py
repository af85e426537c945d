"""One rank on a Ray worker: who it is goes into the environment, then the function of the shared library is called.

This file holds the remote function and main.py the entry point: Ray sends functions by their module, so what workers
run must not live in the script that was started.
"""
import ctypes
import os


def run_on_device(module, symbol, rank, size, word):
    """Calls `int symbol(int rank, void *arg)` of the shared library as rank `rank` of `size`; all ranks of a run get
    the same word."""
    os.environ.update(
        XT_RANK=str(rank), XT_WORLD_SIZE=str(size), XT_LOCAL_RANK=str(rank), XT_LOCAL_SIZE=str(size),
        XT_RENDEZVOUS=word, CPU_NUM_DEVICES="1"
    )
    function = getattr(ctypes.CDLL(module, mode=ctypes.RTLD_GLOBAL), symbol)
    function.argtypes, function.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_int
    code = function(rank, None)
    ctypes.CDLL(None).fflush(None)  # C's stdout is not Python's
    if code != 0:
        raise RuntimeError(
            f"rank {rank} of {size}: {symbol} of {module} returned {code}; its message is on the worker's stderr")
    return code
