"""What JAX needs to know of a platform beyond its PJRT plugin. JAX calls initialize() by the entry point in the group
`jax_plugins`."""
import dataclasses
import importlib
import types

from jax import errors
from jax._src import api, array, compilation_cache, config, dlpack, xla_bridge
from jax._src.export import _export as export
from jax._src.interpreters import mlir

from . import buffer_callback, callback, inspect_sharding, library_path

PLATFORM = "xtrain"
PRIORITY = 50  # above JAX's own CPU (0), below accelerators (200 and more)

# Rules JAX has for its CPU alone. Linear algebra becomes LAPACK's custom calls, which the plugin knows by the same
# names. What is left out has a default rule that suits the plugin better (threefry unrolled, convolutions and windows
# without XLA's workarounds).
MODULES = ["jax._src.lax.linalg", "jax._src.debugging", "jax._src.checkify", "jax._src.callback"]
LATER = {"spsolve"}  # primitives of modules that programs import after this one (jax.experimental.sparse.linalg)


class _Rules(dict):
    """The platform's rules, and those of JAX's CPU for LATER."""

    def __missing__(self, primitive):
        if primitive.name in LATER:
            return mlir._platform_specific_lowerings["cpu"][primitive]
        raise KeyError(primitive)

    def __contains__(self, primitive):
        return super().__contains__(
            primitive) or primitive.name in LATER and primitive in mlir._platform_specific_lowerings["cpu"]


def _copy_rules():
    known = set()
    for name in MODULES:
        try:
            known.add(importlib.import_module(name))
        except ImportError:
            pass
    primitives = {id(v) for m in known for v in vars(m).values()}
    rules = _Rules(mlir._platform_specific_lowerings[PLATFORM])
    for primitive, entry in list(mlir._platform_specific_lowerings["cpu"].items()):
        if id(primitive) in primitives:
            rules.setdefault(primitive, entry)
    mlir._platform_specific_lowerings[PLATFORM] = rules


def _inline_custom_partitioning():
    """custom_partitioning's function becomes a part of the program, which the plugin's partitioner divides by its own
    rules: the same results. The user's `partition` would be called by XLA's partitioner only."""
    from jax._src import core, custom_partitioning

    def rule(ctx, *values, call, **_):
        return mlir.lower_fun(core.jaxpr_as_fun(call), multiple_results=True)(ctx, *values)

    mlir.register_lowering(custom_partitioning.custom_partitioning_p, rule, platform=PLATFORM)


def _configure():
    """Callbacks take their arguments on JAX's CPU device, which JAX_PLATFORMS=xtrain alone would leave out."""
    named = [p for p in (config.jax_platforms.value or "").split(",") if p]
    if PLATFORM in named and "cpu" not in named:
        config.update("jax_platforms", ",".join(named + ["cpu"]))


def _share_by_dlpack():
    """JAX shares the memory of its own CPU and of GPUs only, so arrays of this platform go through JAX's CPU: a copy,
    both ways."""
    to_dlpack, device_of, place = dlpack._to_dlpack, array.ArrayImpl.__dlpack_device__, dlpack._place_array

    def to(x, stream, src_device=None, device=None, copy=None):
        if x.platform() != PLATFORM:
            return to_dlpack(x, stream, src_device, device, copy)
        if copy is False:
            raise BufferError(f"arrays on {PLATFORM} are copied for DLPack, and copy=False was asked for")
        cpu = xla_bridge.get_backend("cpu").local_devices()[0]
        return to_dlpack(api.device_put(x, cpu), stream, cpu, device, None)

    def place_array(x, device, origin, copy):
        if device is None and x.platform() == "cpu" and xla_bridge.default_backend() == PLATFORM:
            device = xla_bridge.local_devices()[0]
        return place(x, device, origin, copy)

    dlpack._to_dlpack, dlpack._place_array = to, place_array
    array.ArrayImpl.__dlpack_device__ = lambda x: (dlpack.DLDeviceType.kDLCPU,
                                                   0) if x.platform() == PLATFORM else device_of(x)


def _call_what_was_exported_for_cpu():
    """A function exported for JAX's CPU (jax.export) runs here too: its program is made by the rules that are copied
    above."""
    def rule(ctx, *args, exported, **params):
        known = exported.platforms
        if PLATFORM not in known and "cpu" in known and "cpu" not in ctx.module_context.platforms:
            exported = dataclasses.replace(exported, platforms=tuple(PLATFORM if p == "cpu" else p for p in known))
        return export._call_exported_lowering(ctx, *args, exported=exported, **params)

    mlir.register_lowering(export.call_exported_p, rule, platform=PLATFORM)


def _choose_branches():
    """lax.platform_dependent: where neither a branch of this platform's name nor a default is given, the branch for
    JAX's CPU, whose LAPACK calls are known here."""
    from jax._src.lax.control_flow import conditionals

    def ours(branches):
        known = {name for names in branches or () for name in (names or (None,))}
        if not branches or PLATFORM in known or None in known:
            return branches
        return tuple((*names, PLATFORM) if "cpu" in names else names for names in branches)

    def index(ctx, *, platforms):
        return conditionals._platform_index_lowering(ctx, platforms=ours(platforms))

    def cond(ctx, *values, branches_platforms=None, **params):
        return conditionals._cond_lowering(ctx, *values, branches_platforms=ours(branches_platforms), **params)

    mlir.register_lowering(conditionals.platform_index_p, index, platform=PLATFORM)
    mlir.register_lowering(conditionals.cond_p, cond, platform=PLATFORM)


def _keep_programs():
    """JAX's compilation cache (jax_compilation_cache_dir) asks for the name of a platform whose programs can be kept.
    Those that call back into this process cannot, which is no fault to warn of."""
    is_used, put = compilation_cache.is_cache_used, compilation_cache.put_executable_and_time

    def is_cache_used(backend):
        return is_used(types.SimpleNamespace(platform="cpu") if backend.platform == PLATFORM else backend)

    def put_executable_and_time(cache_key, module_name, executable, backend, *rest, **named):
        try:
            return put(cache_key, module_name, executable, backend, *rest, **named)
        except errors.JaxRuntimeError as e:
            if backend.platform != PLATFORM or not str(e).startswith("UNIMPLEMENTED"):
                raise

    compilation_cache.is_cache_used, compilation_cache.put_executable_and_time = is_cache_used, put_executable_and_time


def initialize():
    xla_bridge._nonexperimental_plugins.add(PLATFORM)  # no warning at the start
    xla_bridge.register_plugin(PLATFORM, priority=PRIORITY, library_path=library_path(),
                               options={"platform_name": PLATFORM})
    _configure()
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)
    _copy_rules()
    _inline_custom_partitioning()
    _share_by_dlpack()
    _call_what_was_exported_for_cpu()
    _choose_branches()
    _keep_programs()
    callback.install(PLATFORM)
    buffer_callback.install(PLATFORM)
    inspect_sharding.install(PLATFORM)
