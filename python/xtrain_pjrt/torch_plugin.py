"""PyTorch/XLA's side: the device plugin, registered when this is loaded (by the entry point in the group `torch_xla.plugins`, or by register())."""
import os

from torch_xla.experimental import plugins

from . import library_path


class XtrainPlugin(plugins.DevicePlugin):
    def library_path(self):
        return library_path()

    def physical_chip_count(self):
        return int(os.environ.get("CPU_NUM_DEVICES", "1"))

    def configure_single_process(self):
        os.environ["CPU_NUM_DEVICES"] = "1"

    def configure_multiprocess(self, local_rank, local_world_size):
        """One device a process; they meet over PyTorch/XLA's coordinator."""
        os.environ["CPU_NUM_DEVICES"] = "1"
        os.environ.setdefault("LOCAL_RANK", str(local_rank))

    def requires_xla_coordinator(self):
        return int(os.environ.get("WORLD_SIZE", "1")) > 1

    def client_create_options(self):
        world = int(os.environ.get("WORLD_SIZE", "1"))
        options = {"platform_name": "xtrain"}
        return {**options, "node_id": int(os.environ.get("RANK", "0")), "num_nodes": world} if world > 1 else options


def register():
    """XTRAIN, and the name in XTRAIN_PJRT_TORCH_DEVICE (CPU: programs that ask for XLA's CPU run here)."""
    names = ["XTRAIN", *filter(None, [os.environ.get("XTRAIN_PJRT_TORCH_DEVICE")])]
    plugins.use_dynamic_plugins()
    for name in names:
        if name not in plugins._plugin_registry:
            plugins.register_plugin(name, XtrainPlugin())


register()
