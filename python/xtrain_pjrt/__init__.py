"""xtrain's CPU compiler as a PJRT plugin for JAX (`JAX_PLATFORMS=xtrain`) and PyTorch/XLA (`PJRT_DEVICE=XTRAIN`)."""
import ctypes
import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _load_libraries():
    """Loads what the plugin needs and the system lacks from the wheel; the plugin then finds it by name."""
    try:
        with open(os.path.join(_FOLDER, "libs", "ORDER")) as f:
            names = f.read().split()
    except FileNotFoundError:  # a source tree
        return
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            ctypes.CDLL(os.path.join(_FOLDER, "libs", name))


def library_path() -> str:
    """The plugin: the file beside this one, or what XTRAIN_PJRT_LIBRARY names (a build tree's)."""
    named = os.environ.get("XTRAIN_PJRT_LIBRARY")
    if named:
        return named
    _load_libraries()
    return os.path.join(_FOLDER, "pjrt_plugin_xtrain_cpu.so")


def allow(function):
    """Programs may call this C function by its address; the plugin calls no other."""
    plugin = ctypes.CDLL(library_path())
    if plugin.xtrain_allow_host_function(ctypes.cast(function, ctypes.c_void_p)) != 0:
        raise RuntimeError(f"{library_path()}: xtrain_allow_host_function failed")
