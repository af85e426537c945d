"""xtrain's CPU compiler as a PJRT plugin for JAX (`JAX_PLATFORMS=xtrain`) and PyTorch/XLA (`PJRT_DEVICE=XTRAIN`)."""
import os


def library_path() -> str:
    """The plugin: the file beside this one, or what XTRAIN_PJRT_LIBRARY names (a build tree's)."""
    return os.environ.get("XTRAIN_PJRT_LIBRARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "pjrt_plugin_xtrain_cpu.so")
