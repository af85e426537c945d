"""jax.experimental.buffer_callback: a Python function that reads and fills the program's own memory. JAX's rule hands
its CPU an object made by jaxlib for XLA's calling convention; here the function gets arrays of this file over the same
memory, which offer what jaxlib's Buffer offers on a CPU."""
import numpy as np
from jax._src import buffer_callback as jax_buffer_callback
from jax._src import tree_util
from jax._src.interpreters import mlir
from jax.errors import JaxRuntimeError

from . import callback


class Buffer:
    """As jaxlib's: an argument is read-only, a result is to be filled in place. Valid until the function returns."""

    def __init__(self, memory, writeable):
        self._memory = memory
        memory.flags.writeable = writeable

    dtype = property(lambda self: self._memory.dtype)
    ndim = property(lambda self: self._memory.ndim)
    shape = property(lambda self: self._memory.shape)
    writeable = property(lambda self: self._memory.flags.writeable)

    def __array__(self, dtype=None, copy=None):
        if dtype is not None:
            raise ValueError("dtype parameter is not supported by Buffer.__array__.")
        if copy:
            raise ValueError("Buffer.__array__ with copy=True is not supported.")
        return self._memory

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if copy:
            raise ValueError("Buffer.__dlpack__ with copy=True is not supported.")
        if max_version is None and not self.writeable:  # DLPack says that memory is read-only since version 1
            return self._memory.copy().__dlpack__()
        return self._memory.__dlpack__(max_version=max_version)

    def __dlpack_device__(self):
        return self._memory.__dlpack_device__()


class ExecutionContext:
    stage = jax_buffer_callback.ExecutionStage.EXECUTE

    @property
    def stream(self):
        raise JaxRuntimeError(
            "UNIMPLEMENTED: XLA FFI GPU context is not available: programs of this platform run on the CPU and have "
            "no stream")


def _rule(ctx, *values, in_tree, out_tree, has_side_effect, input_output_aliases, **params):
    user = params["callback"]

    def call(ins, outs):
        for i, o in input_output_aliases:
            outs[o][...] = ins[i]
            ins[i] = outs[o].view()
        args, kwargs = tree_util.tree_unflatten(in_tree, [Buffer(a, False) for a in ins])
        if user(ExecutionContext(), tree_util.tree_unflatten(out_tree, [Buffer(a, True) for a in outs]), *args,
                **kwargs) is not None:
            raise ValueError("buffer_callback callback must not return any values.")

    return callback.emit_in_place(ctx, call, values, has_side_effect)


def install(platform):
    mlir.register_lowering(jax_buffer_callback.buffer_callback_p, _rule, platform=platform)
