"""xtrain's CPU compiler as a PJRT plugin for JAX (`JAX_PLATFORMS=xtrain`) and PyTorch/XLA (`PJRT_DEVICE=XTRAIN`)."""
import ctypes
import os

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def library_path() -> str:
    """The plugin: the file beside this one, or what XTRAIN_PJRT_LIBRARY names (a build tree's)."""
    return os.environ.get("XTRAIN_PJRT_LIBRARY") or os.path.join(_FOLDER, "pjrt_plugin_xtrain_cpu.so")


def allow(function):
    """Programs may call this C function by its address; the plugin calls no other."""
    plugin = ctypes.CDLL(library_path())
    if plugin.xtrain_allow_host_function(ctypes.cast(function, ctypes.c_void_p)) != 0:
        raise RuntimeError(f"{library_path()}: xtrain_allow_host_function failed")
