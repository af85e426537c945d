"""PyTorch/XLA: `PJRT_DEVICE=XTRAIN` after register(), or without it where the package is installed (it has an entry
point)."""


def register():
    """For programs that cannot rely on the entry point. Importing torch_xla may already have registered the plugin."""
    import torch_xla  # noqa: F401  loads installed plugins

    from . import torch_plugin
    torch_plugin.register()
