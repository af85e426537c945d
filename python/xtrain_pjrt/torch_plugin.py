"""PyTorch/XLA's side: the device plugin, registered when this is loaded (by the entry point in the group
`torch_xla.plugins`, or by register())."""
import contextlib
import fcntl
import os
import socket
import sys
import tempfile
import time
from multiprocessing import util

from torch_xla.experimental import plugins

from . import library_path


class XtrainPlugin(plugins.DevicePlugin):
    def library_path(self):
        return library_path()

    def physical_chip_count(self):
        """Asked by the process that starts one process a device (torch_xla.launch, xmp.spawn). They inherit a free port
        for their coordinator: at PyTorch/XLA's fixed one, two runs on this machine would meet each other."""
        if "WORLD_SIZE" not in os.environ and "XLA_COORDINATOR_PORT" not in os.environ:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))  # a name needs a resolver, which a container may lack
                os.environ["XLA_COORDINATOR_PORT"] = str(s.getsockname()[1])
        return int(os.environ.get("CPU_NUM_DEVICES", "1"))

    def configure_single_process(self):
        os.environ["CPU_NUM_DEVICES"] = "1"

    def configure_multiprocess(self, local_rank, local_world_size):
        """One device a process, with its share of the cores; they meet over PyTorch/XLA's coordinator."""
        os.environ["CPU_NUM_DEVICES"] = "1"
        if "OMP_NUM_THREADS" not in os.environ:
            os.environ.setdefault("XT_THREADS", str(max(1, len(os.sched_getaffinity(0)) // local_world_size)))
        end_together(world()[0])

    def requires_xla_coordinator(self):
        return world()[1] > 1

    def client_create_options(self):
        rank, size = world()
        options = {"platform_name": "xtrain"}
        return {**options, "node_id": rank, "num_nodes": size} if size > 1 else options


def world():
    """This process's rank and their number, as PyTorch/XLA's coordinator reads them: torchrun's variables, else those
    of torch_xla.launch."""
    def number(names, default):
        return int(next((os.environ[n] for n in names if n in os.environ), default))
    rank = number(("RANK", "PJRT_LOCAL_PROCESS_RANK", "LOCAL_RANK"), "0")
    return rank, number(("WORLD_SIZE", "PJRT_LOCAL_PROCESS_COUNT", "LOCAL_WORLD_SIZE"), "1")


_together = set()  # processes and paths: a group may be made and destroyed many times in one


def end_together(rank):
    """PyTorch/XLA's coordinator lives in rank 0, and a rank that loses it aborts: rank 0 ends after the others of this
    host, each of which holds a lock as long as it lives. After an error it does not wait, and never longer than a
    minute: the others may be waiting for it."""
    path = os.path.join(tempfile.gettempdir(),
                        f"xtrain_pjrt.{os.getuid()}.{os.environ.get('XLA_COORDINATOR_PORT', '')}")
    if (os.getpid(), path) in _together:  # a second lock of rank 0 would wait for its first
        return
    _together.add((os.getpid(), path))
    held = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if rank != 0:
        fcntl.flock(held, fcntl.LOCK_SH)
        return

    def wait_for_others():
        until = time.monotonic() + 60
        while not hasattr(sys, "last_value") and time.monotonic() < until:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.02)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    util.Finalize(None, wait_for_others, exitpriority=0)


def register():
    """XTRAIN, and the name in XTRAIN_PJRT_TORCH_DEVICE (not CPU: PyTorch/XLA answers to that itself)."""
    names = ["XTRAIN", *filter(None, [os.environ.get("XTRAIN_PJRT_TORCH_DEVICE")])]
    plugins.use_dynamic_plugins()
    for name in names:
        if name not in plugins._plugin_registry:
            plugins.register_plugin(name, XtrainPlugin())


register()
