"""pure_callback, io_callback and debug.callback: one C function for all, which finds the Python function by a number in
the program.

The program carries the function's address (custom_call @xtrain_host_callback, src/cpu/kernel/callback.c), so it runs
only in this process."""
import ctypes
import itertools
import traceback

import ml_dtypes
import numpy as np
from jax._src import callback as jax_callback
from jax._src import core, dtypes, ffi
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.sharding_impls import SdyArray, SdyArrayList
from jax.interpreters import mlir as public_mlir

from . import allow

TARGET = "xtrain_host_callback"


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32),
                ("dtype", ctypes.c_int32)]


_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int64, ctypes.c_int, ctypes.POINTER(_Array), ctypes.c_int,
                             ctypes.POINTER(_Array),
                             ctypes.c_void_p, ctypes.c_size_t)

# PJRT's element types.
_DTYPES = {1: np.bool_, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.uint8, 7: np.uint16, 8: np.uint32,
           9: np.uint64, 10: np.float16,
           11: np.float32, 12: np.float64, 13: ml_dtypes.bfloat16, 14: np.complex64, 15: np.complex128,
           16: ml_dtypes.float8_e5m2,
           17: ml_dtypes.float8_e4m3fn, 18: ml_dtypes.float8_e4m3b11fnuz, 19: ml_dtypes.float8_e5m2fnuz,
           20: ml_dtypes.float8_e4m3fnuz,
           21: ml_dtypes.int4, 22: ml_dtypes.uint4, 24: ml_dtypes.int2, 25: ml_dtypes.uint2, 26: ml_dtypes.float8_e4m3,
           27: ml_dtypes.float8_e3m4,
           28: ml_dtypes.float8_e8m0fnu, 29: ml_dtypes.float4_e2m1fn}


# Kept for the life of the process: a program may still wait on the device when JAX has forgotten it.
_functions = {}
_numbers = itertools.count(1)


def _view(a):
    dtype = np.dtype(_DTYPES[a.dtype])
    shape = tuple(a.dims[i] for i in range(a.rank))
    n = int(np.prod(shape, dtype=np.int64))
    if n == 0:
        return np.empty(shape, dtype)
    raw = (ctypes.c_char * (n * dtype.itemsize)).from_address(a.data)
    return np.frombuffer(raw, dtype=dtype).reshape(shape)


def _call(number, n_in, ins, n_out, outs, error, error_size):
    try:
        _functions[number]([_view(ins[i]) for i in range(n_in)], [_view(outs[i]) for i in range(n_out)])
        return 0
    except BaseException as e:  # the program fails with it
        text = "CpuCallback error calling callback: " + "".join(traceback.format_exception(e))
        ctypes.memmove(error, text.encode()[-(error_size - 1):] + b"\0", min(len(text.encode()), error_size - 1) + 1)
        return 1


_trampoline = _FUNCTION(_call)


def _copied(function, result_avals):
    """The user's function gets arrays that it may keep, and returns its results."""
    def call(ins, outs):
        results = function(*(a.copy() for a in ins))
        if len(results) != len(result_avals):
            raise RuntimeError(
                f"Mismatched number of outputs from callback. Expected: {len(result_avals)}, Actual: {len(results)}")
        results = tuple(dtypes.canonicalize_value(np.asarray(r)) for r in results)
        for i, (r, aval) in enumerate(zip(results, result_avals)):
            if r.shape != aval.shape:
                raise RuntimeError(
                    f"Incorrect output shape for return value #{i} of the callback: it was declared as {aval.shape} "
                    f"and is {r.shape}")
            if r.dtype != aval.dtype:
                # JAX's tests look for these first words
                raise RuntimeError(
                    f"Incorrect output dtype for return value #{i} of the callback: it was declared as {aval.dtype} "
                    f"and is {r.dtype}")
        for out, r in zip(outs, results):
            out[...] = r
    return call


def _custom_call(ctx, function, operands, has_side_effect, once, partitioned=False):
    """The op that calls `function` with the operands' and the results' memory; `partitioned`: each device with its
    parts of the operands."""
    number = next(_numbers)
    _functions[number] = function
    return ffi.build_ffi_lowering_function(TARGET, has_side_effect=has_side_effect)(
        ctx, *operands, function=np.int64(ctypes.cast(_trampoline, ctypes.c_void_p).value), id=np.int64(number),
        once=np.int64(once), partitioned=np.int64(partitioned))


def emit_in_place(ctx, function, operands, has_side_effect):
    return list(_custom_call(ctx, function, operands, has_side_effect, False).results)


def _of_one_device(sharding):
    """Whether the call is JAX's for the whole array. In a manual region (shard_map) each device calls with its part:
    there Shardy's sharding names no device, the older one is MANUAL."""
    if isinstance(sharding, SdyArrayList):
        return bool(sharding.shardings[0].logical_device_ids)
    return sharding is not None and sharding.type == xla_client.OpSharding.Type.MAXIMAL


def _emit(ctx, callback, token, operands, operand_avals, result_avals, *, has_side_effect, returns_token=True,
          partitioned=False, sharding=None):
    if partitioned and result_avals:
        raise ValueError(
            "a partitioned callback gives nothing back: each device calls it with its own part, and no one value "
            "would be the result")
    avals_in, avals_out = list(operand_avals), list(result_avals)
    if token:
        operands = [token, *operands]
        avals_in = [core.abstract_token, *avals_in]
        # one for each result; with no result the one there is serves the token
        if avals_out and isinstance(sharding, SdyArrayList):
            sharding = SdyArrayList((SdyArray(mesh_shape=(), dim_shardings=(),
                                              logical_device_ids=sharding.shardings[0].logical_device_ids),
                                              *sharding.shardings))
        avals_out = [core.abstract_token, *avals_out]
    ctx = ctx.replace(avals_in=avals_in, avals_out=avals_out)
    op = _custom_call(ctx, _copied(callback, result_avals), operands, has_side_effect,
                      not result_avals and not partitioned and _of_one_device(sharding), partitioned)
    if sharding is not None:
        mlir.set_sharding(ctx.module_context, op, sharding)
    results = list(op.results)
    if token:
        token, *results = results
    return results, token, None


def install(platform):
    """Puts the rule before JAX's, which knows its own platforms only."""
    allow(_trampoline)
    original = jax_callback.emit_python_callback

    def emit_python_callback(ctx, *args, **kwargs):
        ours = tuple(ctx.module_context.platforms) == (platform,)
        return (_emit if ours else original)(ctx, *args, **kwargs)

    jax_callback.emit_python_callback = public_mlir.emit_python_callback = emit_python_callback
