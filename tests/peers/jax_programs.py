"""Writes programs as JAX lowers them, their inputs, and XLA's answers: DIR/NAME/{prog.mlir,in*.npy,out*.npy}, the
layout tests/conformance/run.sh runs.

usage: PYTHONPATH=FOLDER_WITH_JAX python3 tests/peers/jax_programs.py DIR [SEED]      (tried with jax 0.10.2)

Narrow floats are saved as unsigned integers of their bits. A program that cannot be lowered to StableHLO alone (LAPACK
calls) is left out."""
import itertools
import os
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax import nn as jnn
from jax import random as jr
from jax import scipy as jsp

jax.config.update("jax_enable_x64", True)
f32, f64, f16, bf16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
i8, i16, i32, i64 = np.int8, np.int16, np.int32, np.int64
u8, u16, u32, u64, c64, c128 = np.uint8, np.uint16, np.uint32, np.uint64, np.complex64, np.complex128
programs = {}


def add(name, fn, *args):
    assert name not in programs, name
    programs[name] = (fn, args)


def table(seed):
    rng = np.random.default_rng(seed)

    def n(*shape, dtype=f32, scale=1.0, shift=0.0):
        x = rng.standard_normal(shape) * scale + shift
        if np.dtype(dtype).kind == "c":
            x = x + 1j * (rng.standard_normal(shape) * scale)
        return np.asarray(x).astype(dtype)

    def u(*shape, lo=0.0, hi=1.0, dtype=f32):
        return np.asarray(rng.uniform(lo, hi, shape)).astype(dtype)

    def ints(*shape, lo=-100, hi=100, dtype=i32):
        return np.asarray(rng.integers(lo, hi, shape)).astype(dtype)

    # --- Elementwise by dtype ---------------------------------------------------------------------------------------
    for fn in (
        "abs sin cos tan tanh sinh cosh exp expm1 log1p sqrt cbrt square sign floor ceil round rint trunc reciprocal "
        "arctan arcsinh exp2 sinc "
               "positive negative nan_to_num deg2rad rad2deg i0 isnan isinf isfinite signbit").split():
        x = u(3, 17, lo=0.1, hi=3) if fn in ("sqrt", "reciprocal") else n(3, 17)
        add("f32_" + fn, getattr(jnp, fn), x)
    for fn in "arcsin arccos arctanh".split():
        add("f32_" + fn, getattr(jnp, fn), u(3, 17, lo=-0.95, hi=0.95))
    for fn in "log log2 log10 arccosh".split():
        add("f32_" + fn, getattr(jnp, fn), u(3, 17, lo=1.05, hi=30))
    for fn in "exp log1p tanh sin cbrt arcsinh".split():
        add("f64_" + fn, getattr(jnp, fn), u(4, 9, lo=0.1, hi=3, dtype=f64))
        add("f16_" + fn, getattr(jnp, fn), u(4, 9, lo=0.1, hi=3, dtype=f16))
        add("bf16_" + fn, getattr(jnp, fn), u(4, 9, lo=0.1, hi=3, dtype=bf16))
    for fn in ("exp log sin cos tan tanh sinh cosh sqrt square abs angle conj real imag expm1 log1p arcsin arccos "
               "arctan arcsinh arccosh arctanh sign reciprocal").split():
        add("c64_" + fn, getattr(jnp, fn), n(3, 7, dtype=c64))
    for fn in "exp log sqrt tanh arcsin sin".split():
        add("c128_" + fn, getattr(jnp, fn), n(3, 7, dtype=c128))
    for fn in ("add subtract multiply divide maximum minimum power arctan2 hypot fmod remainder floor_divide "
               "logaddexp logaddexp2 copysign nextafter heaviside fmax fmin").split():
        a, b = u(3, 8, lo=0.2, hi=4), u(1, 8, lo=0.3, hi=3)
        add("bin_f32_" + fn, getattr(jnp, fn), a, b)
    for dt in (i8, i16, i32, i64, u8, u16, u32, u64):
        nm = np.dtype(dt).name
        lo = 0 if nm[0] == "u" else -100
        add("arith_" + nm, lambda a, b: (a + b, a - b, a * b, a // b, a % b, lax.div(a, b), lax.rem(a, b),
                                         jnp.minimum(a, b), jnp.maximum(a, b)),
            ints(5, 6, lo=lo, dtype=dt), ints(5, 6, lo=1, hi=9, dtype=dt))
        add("bits_" + nm, lambda a, b: (a & b, a | b, a ^ b, ~a, a << (b & 7).astype(a.dtype),
                                        a >> (b & 7).astype(a.dtype),
                                        lax.shift_right_logical(a, (b & 7).astype(a.dtype)), lax.population_count(a),
                                        lax.clz(a), jnp.bitwise_count(a)),
            ints(5, 6, lo=lo, dtype=dt), ints(5, 6, lo=0, hi=9, dtype=dt))
        add("reduce_" + nm, lambda a: (a.sum(0), a.prod(1), a.max(), a.min(1), a.argmax(1), a.argmin(0),
                                       jnp.any(a > 3, 0), jnp.cumsum(a, 1)),
            ints(4, 5, lo=lo, hi=7, dtype=dt))
        add("to_float_" + nm, lambda a: (a.astype(f32), a.astype(f64), a.astype(bf16), a.astype(f16), a.astype(c64),
                                         a.astype(bool)), ints(9, lo=lo, dtype=dt))
        add("from_float_" + nm, lambda a, b: (a.astype(dt), b.astype(dt)), u(9, lo=1, hi=100),
            u(9, lo=0, hi=100, dtype=bf16))
    add("int4", lambda a: (a.astype(jnp.int4) + jnp.int4(1)).astype(i32), ints(9, lo=-8, hi=6))
    add("uint4", lambda a: (a.astype(jnp.uint4) * jnp.uint4(3)).astype(i32), ints(9, lo=0, hi=15))
    add("int2", lambda a: a.astype(jnp.int2).astype(i32), ints(9, lo=-2, hi=1))
    add("bool_ops", lambda a, b: (a & b, a | b, a ^ b, ~a, jnp.where(a, 1, 2), a.sum(), jnp.all(a, 0), a.astype(f32)),
        ints(4, 5) > 0, ints(4, 5) > 0)
    add("compare_all", lambda a, b: (a < b, a <= b, a > b, a >= b, a == b, a != b), ints(4, 5, lo=0, hi=4).astype(f32),
        ints(4, 5, lo=0, hi=4).astype(f32))
    add("compare_unsigned", lambda a, b: (a < b, a >= b), ints(9, lo=0, hi=200, dtype=u8),
        ints(9, lo=0, hi=200, dtype=u8))
    add("compare_complex", lambda a, b: (a == b, a != b), n(5, dtype=c64), n(5, dtype=c64))
    add("pow_int", lambda a: (a**3, a**-2, jnp.power(a, 2.5), lax.integer_pow(a, 5)), u(4, 5, lo=0.5, hi=2))
    add("pow_ints", lambda a, b: jnp.power(a, b), ints(7, lo=-5, hi=5), ints(7, lo=0, hi=5))
    add("pow_complex", lambda a, b: a**b, n(7, dtype=c64), n(7, dtype=c64))
    add("complex_arith", lambda a, b: (a + b, a - b, a * b, a / b, lax.complex(a.real, b.imag)), n(3, 4, dtype=c64),
        n(3, 4, dtype=c64))
    add("special_values", lambda a: (jnp.exp(a), jnp.log(a), jnp.tanh(a), jnp.sqrt(a), a * 0, jnp.sign(a), jnp.floor(a),
                                     jnp.maximum(a, 1), jnp.arctan(a), jax.nn.sigmoid(a)),
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e30, 1e30], f32))
    for k in ("float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e4m3b11fnuz float8_e3m4 float8_e4m3 "
              "float8_e8m0fnu float4_e2m1fn").split():
        dt = getattr(ml_dtypes, k)
        add("f8_roundtrip_" + k, lambda a, dt=dt: a.astype(dt).astype(f32),
            u(64, lo=0.1, hi=6) if "e8m0" in k else n(64, scale=3))
        if "e8m0" not in k and "e2m1" not in k:
            add("f8_arith_" + k, lambda a, b, dt=dt: ((a.astype(dt) + b.astype(dt)).astype(f32),
                                                      (a.astype(dt) * b.astype(dt)).astype(f32)), n(32), n(32))
    for k in "float8_e4m3fn float8_e5m2".split():
        dt = getattr(ml_dtypes, k)
        add("f8_in_" + k, lambda a: (a.astype(f32), a), n(9, dtype=dt))
        add("f8_dot_" + k, lambda a, b: jnp.dot(a, b, preferred_element_type=f32), n(4, 8, dtype=dt), n(8, 5, dtype=dt))
    for dt, nm in ((bf16, "bf16"), (f16, "f16")):
        add("narrow_arith_" + nm, lambda a, b: (a + b, a * b, a / b, a - b, jnp.maximum(a, b), a < b),
            n(5, 6, dtype=dt), u(5, 6, lo=1, hi=2, dtype=dt))
        add("narrow_dot_" + nm, lambda a, b: (a @ b, jnp.dot(a, b, preferred_element_type=f32)), n(6, 16, dtype=dt),
            n(16, 5, dtype=dt))
        add("narrow_sum_" + nm, lambda a: (a.sum(0), a.mean(1), a.max(), jnp.var(a)), n(6, 16, dtype=dt))
        add("narrow_softmax_" + nm, lambda a: jax.nn.softmax(a), n(6, 16, dtype=dt))
        add("narrow_grad_" + nm, jax.grad(lambda a: jnp.sum(jnp.tanh(a) ** 2).astype(f32)), n(6, 5, dtype=dt))

    # --- Shapes
    # --------------------------------------------------------------------------------------------------------
    x234 = n(2, 3, 4)
    add("transpose_reshape", lambda a: (a.transpose(2, 0, 1), a.reshape(6, 4), a.ravel(), jnp.swapaxes(a, 0, 2),
                                        jnp.moveaxis(a, 0, -1)), x234)
    add("concat_stack", lambda a, b: (jnp.concatenate([a, b], 1), jnp.stack([a, a], 0), jnp.hstack([a, b]),
                                      jnp.vstack([a, a]), jnp.dstack([a, a])), n(2, 3), n(2, 5))
    add("split_slice", lambda a: (jnp.split(a, 2, 1)[1], a[:, ::2], a[1:, -1], a[::-1], a[None, :, 0]), n(4, 6))
    add("pad_modes", lambda a: (jnp.pad(a, 1), jnp.pad(a, ((1, 2), (0, 1)), constant_values=3), jnp.pad(a, 1, "edge"),
                                jnp.pad(a, 1, "reflect"), jnp.pad(a, 2, "wrap")), n(3, 4))
    add("lax_pad", lambda a: lax.pad(a, f32(2), [(1, -1, 2), (-1, 2, 0)]), n(3, 5))
    add("tile_repeat", lambda a: (jnp.tile(a, (2, 3)), jnp.repeat(a, 3, 0),
                                  jnp.repeat(a, jnp.array([1, 2, 0]), 0, total_repeat_length=3)), n(3, 2))
    add("roll_flip_rot", lambda a: (jnp.roll(a, 2), jnp.roll(a, -1, 1), jnp.flip(a, 1), jnp.rot90(a)), n(4, 5))
    add("tri_diag", lambda a: (jnp.tril(a), jnp.triu(a, 1), jnp.diag(a), jnp.diagonal(a, 1), jnp.trace(a),
                               jnp.eye(4) * a, jnp.diag(a[0])), n(4, 4))
    add("iota_linspace", lambda a: (jnp.arange(7) * a[0], jnp.linspace(0, a[1], 5), jnp.logspace(0, 1, 4),
                                    jnp.indices((2, 3)), jnp.meshgrid(a, a)), n(3))
    add("broadcasting", lambda a, b: a[:, None] * b[None] + jnp.broadcast_to(a[:, None], (3, 4)), n(3), n(4))
    add("squeeze_expand", lambda a: (jnp.squeeze(a), jnp.expand_dims(a, (0, 3)), lax.expand_dims(a, (1,))), n(1, 3, 1))
    add("bitcasts", lambda a: (lax.bitcast_convert_type(a, u32), lax.bitcast_convert_type(a, u16),
                               lax.bitcast_convert_type(a, u8)), n(5))
    add("bitcast_wider", lambda a: lax.bitcast_convert_type(a, f32), ints(3, 4, lo=0, hi=60, dtype=u8))
    add("where_select", lambda a, b: (jnp.where(a > 0, a, b), jnp.select([a > 1, a > 0], [a, b], 7.0),
                                      jnp.clip(a, -0.5, 0.5), lax.clamp(f32(-1), a, f32(1))), n(4, 5), n(4, 5))
    add("reduce_precision", lambda a: (lax.reduce_precision(a, 5, 10), lax.reduce_precision(a, 8, 3)), n(9))
    add("scalars", lambda a, b: (a + b, jnp.sin(a), a.astype(i32)), f32(2.5), f32(3))
    add("zero_size", lambda a: (a.sum(0), jnp.concatenate([a, a], 0), a.reshape(3, 0), jnp.max(a, axis=1, initial=0)),
        np.zeros((0, 3), f32))
    add("big_constant", lambda a: a + jnp.asarray(np.arange(60, dtype=f32).reshape(3, 20)), n(3, 20))

    # --- Reductions, scans, sorting
    # ---------------------------------------------------------------------------------------
    add("sums", lambda a: (a.sum(), a.sum(0), a.sum((1, 2)), a.mean(-1), a.prod(0), a.std(0), a.var(1)), n(4, 5, 6))
    add("min_max_arg", lambda a: (a.max(0), a.min(1), a.argmax(0), a.argmin(1), jnp.ptp(a), a.argmax()), n(5, 7))
    add("nan_reductions", lambda a: (jnp.nansum(a), jnp.nanmean(a), jnp.nanmax(a), jnp.nanargmin(a), jnp.max(a),
                                     jnp.argmax(a)), np.where(n(20) > 1, np.nan, n(20)).astype(f32))
    add("norms", lambda a: (jnp.linalg.norm(a), jnp.linalg.norm(a, axis=1), jnp.linalg.norm(a, 1, 0),
                            jnp.linalg.norm(a, jnp.inf, 1)), n(4, 5))
    add("logsumexp", lambda a: (jsp.special.logsumexp(a), jsp.special.logsumexp(a, 1), jnn.logsumexp(a, axis=0)),
        n(4, 5))
    add("cumulative", lambda a: (jnp.cumsum(a), jnp.cumsum(a, 0), jnp.cumprod(a, 1), lax.cummax(a, 0),
                                 lax.cummin(a, 1, reverse=True), lax.cumlogsumexp(a, 1)), n(5, 6, scale=0.5))
    add("sorts", lambda a: (jnp.sort(a), jnp.sort(a, 0), jnp.argsort(a), -jnp.sort(-a),
                            jnp.argsort(a, descending=True)), n(5, 9))
    add("sort_ints", lambda a: (jnp.sort(a), jnp.argsort(a, stable=True), jnp.sort(a, descending=True)),
        ints(20, lo=0, hi=5))
    add("sort_nan", jnp.sort, np.array([3, np.nan, -1, np.inf, -np.inf, 0.0, -0.0, 2], f32))
    add("sort_complex", jnp.sort, n(9, dtype=c64))
    add("sort_bf16", lambda a: (jnp.sort(a), jnp.argsort(a)), n(13, dtype=bf16))
    add("sort_multi", lambda a, b, c: lax.sort((a, b, c), num_keys=2), ints(12, lo=0, hi=3), n(12), ints(12))
    add("lexsort", lambda a, b: jnp.lexsort((a, b)), ints(12, lo=0, hi=3), ints(12, lo=0, hi=3))
    add("top_k", lambda a: lax.top_k(a, 3), n(4, 9))
    add("top_k_bf16", lambda a: lax.top_k(a, 2), n(4, 9, dtype=bf16))
    add("top_k_int", lambda a: lax.top_k(a, 4), ints(3, 9))
    add("approx_max_k", lambda a: lax.approx_max_k(a, 3), n(4, 20))
    add("unique_size", lambda a: jnp.unique(a, size=6, fill_value=-1, return_counts=True, return_inverse=True),
        ints(15, lo=0, hi=6))
    add("median_quantile", lambda a: (jnp.median(a), jnp.median(a, 0), jnp.quantile(a, 0.3),
                                      jnp.percentile(a, np.array([10.0, 90.0], f32), axis=1)), n(5, 8))
    add("searchsorted", lambda a, v: (jnp.searchsorted(jnp.sort(a), v), jnp.digitize(v, jnp.sort(a)),
                                      jnp.searchsorted(jnp.sort(a), v, method="sort")), n(20), n(7))
    add("bincount_hist", lambda a, b: (jnp.bincount(a, length=8), jnp.histogram(b, 5, (-2, 2))[0]),
        ints(30, lo=0, hi=8), n(30))
    add("nonzero_size", lambda a: (jnp.nonzero(a > 0, size=6, fill_value=0), jnp.argwhere(a > 0.5, size=4),
                                   jnp.count_nonzero(a > 0, 0)), n(4, 5))
    add("reduce_custom", lambda a: lax.reduce(a, f32(1), lambda p, q: p * q + 0.0, (1,)), n(4, 5))
    add("reduce_two", lambda a, b: lax.reduce((a, b), (f32(-np.inf), i32(0)),
                                              lambda p, q: (jnp.maximum(p[0], q[0]),
                                                            jnp.where(p[0] > q[0], p[1], q[1])), (0,)), n(6, 4),
                                                            ints(6, 4))
    add("reduce_window", lambda a: (lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 1), "SAME"),
                                    lax.reduce_window(a, 0.0, lax.add, (1, 3, 3), (1, 1, 2), "VALID")), n(2, 6, 7))
    add("reduce_window_dilated", lambda a: lax.reduce_window(a, 0.0, lax.add, (2, 2), (1, 1), [(1, 0), (0, 2)],
                                                             base_dilation=(2, 1), window_dilation=(1, 2)), n(4, 5))
    add("associative_scan", lambda a: (lax.associative_scan(jnp.add, a), lax.associative_scan(jnp.maximum, a, axis=1),
                                       lax.associative_scan(jnp.multiply, a, reverse=True)), n(7, 5))
    add("assoc_scan_pair", lambda a, b: lax.associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b)),
        n(9, 3), n(9, 3))
    add("convolve", lambda a, b: (jnp.convolve(a, b), jnp.convolve(a, b, "same"), jnp.correlate(a, b)), n(12), n(4))
    add("diff_gradient", lambda a: (jnp.diff(a), jnp.diff(a, 2, 0), jnp.gradient(a, axis=0), jnp.ediff1d(a)), n(6, 5))
    add("interp_trapz", lambda a: (jnp.interp(a, jnp.arange(5.0), jnp.arange(5.0) ** 2), jnp.trapezoid(a)),
        u(9, lo=0, hi=4))
    add("outer_kron_cross", lambda a, b: (jnp.outer(a, b), jnp.kron(a, b), jnp.cross(a, b), jnp.vdot(a, b),
                                          jnp.inner(a, b)), n(3), n(3))
    add("polyval_etc", lambda a, x: (jnp.polyval(a, x), jnp.vander(x, 4), jnp.polyadd(a, a), jnp.polymul(a, a)), n(4),
        n(5))

    # --- Contractions
    # -----------------------------------------------------------------------------------------------------------
    add("matmuls", lambda a, b: (a @ b, jnp.matmul(a, b), jnp.tensordot(a, b, ((1,), (0,)))), n(7, 9), n(9, 5))
    add("batch_matmul", lambda a, b: jnp.matmul(a, b), n(3, 2, 4, 6), n(2, 6, 5))
    add("dot_i32", lambda a, b: a @ b, ints(5, 6), ints(6, 4))
    add("dot_i8_to_i32", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=i32),
        ints(5, 6, dtype=i8), ints(6, 4, dtype=i8))
    add("dot_f64", lambda a, b: a @ b, n(5, 6, dtype=f64), n(6, 4, dtype=f64))
    add("dot_c64", lambda a, b: (a @ b, jnp.vdot(a, a)), n(5, 6, dtype=c64), n(6, 4, dtype=c64))
    add("dot_c128", lambda a, b: a @ b, n(5, 6, dtype=c128), n(6, 4, dtype=c128))
    add("dot_bool", lambda a, b: jnp.dot(a, b), ints(5, 6) > 0, ints(6, 4) > 0)
    add("dot_mixed", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=f32),
        n(4, 8, dtype=bf16), n(8, 3))
    add("einsums", lambda a, b: (jnp.einsum("ij,jk->ik", a, b), jnp.einsum("ij,jk->k", a, b), jnp.einsum("ij->ji", a),
                                 jnp.einsum("ij,ij->", a, a), jnp.einsum("ij,kj->ikj", a, a)), n(4, 5), n(5, 3))
    add("einsum_attention", lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k), n(2, 3, 2, 4), n(2, 5, 2, 4))
    add("einsum_3", lambda a, b, c: jnp.einsum("ab,bc,cd->ad", a, b, c), n(3, 4), n(4, 5), n(5, 2))
    add("dot_high", lambda a, b: jnp.dot(a, b, precision="highest"), n(4, 5), n(5, 3))
    add("dot_algorithm", lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())),
                                                      precision=lax.DotAlgorithmPreset.F32_F32_F32), n(4, 5), n(5, 3))
    add("batched_mv", jax.vmap(lambda m, v: m @ v), n(5, 4, 3), n(5, 3))
    add("ragged_dot", lambda a, b, g: lax.ragged_dot(a, b, g), n(8, 4), n(3, 4, 5), np.array([3, 1, 4], i32))
    add("matrix_power_dot", lambda a: (jnp.linalg.matrix_power(a, 3), jnp.linalg.multi_dot([a, a, a])), n(4, 4))

    # --- Convolutions
    # -------------------------------------------------------------------------------------------------------------
    def conv(name, lhs, rhs, **k):
        add("conv_" + name, lambda a, b: lax.conv_general_dilated(a, b, **k), lhs, rhs)

    conv("1d", n(2, 3, 12), n(4, 3, 5), window_strides=(2,), padding="SAME")
    conv("2d_nchw", n(2, 3, 9, 8), n(4, 3, 3, 3), window_strides=(1, 1), padding="VALID")
    conv("2d_nhwc", n(2, 9, 8, 3), n(3, 3, 3, 4), window_strides=(2, 1), padding="SAME",
         dimension_numbers=("NHWC", "HWIO", "NHWC"))
    conv("groups", n(2, 6, 7, 7), n(4, 3, 3, 3), window_strides=(1, 1), padding="SAME", feature_group_count=2)
    conv("depthwise", n(2, 6, 7, 7), n(6, 1, 3, 3), window_strides=(1, 1), padding="SAME", feature_group_count=6)
    conv("batch_groups", n(4, 3, 7, 7), n(4, 3, 3, 3), window_strides=(1, 1), padding="VALID", batch_group_count=2)
    conv("dilated", n(1, 2, 11, 11), n(3, 2, 3, 3), window_strides=(1, 1), padding="VALID", rhs_dilation=(2, 3))
    conv("lhs_dilated", n(1, 2, 5, 5), n(3, 2, 3, 3), window_strides=(1, 1), padding=[(2, 2), (1, 3)],
         lhs_dilation=(2, 2))
    conv("3d", n(1, 2, 5, 6, 7), n(3, 2, 2, 3, 2), window_strides=(1, 2, 1), padding="SAME")
    conv("negative_pad", n(1, 2, 8, 8), n(3, 2, 3, 3), window_strides=(1, 1), padding=[(-1, 0), (2, -2)])
    conv("bf16", n(2, 3, 8, 8, dtype=bf16), n(4, 3, 3, 3, dtype=bf16), window_strides=(1, 1), padding="SAME")
    conv("f64", n(2, 3, 8, 8, dtype=f64), n(4, 3, 3, 3, dtype=f64), window_strides=(1, 1), padding="SAME")
    conv("int", ints(1, 2, 6, 6, lo=-5, hi=5), ints(3, 2, 3, 3, lo=-5, hi=5), window_strides=(1, 1), padding="SAME")
    conv("complex", n(1, 2, 6, 6, dtype=c64), n(3, 2, 3, 3, dtype=c64), window_strides=(1, 1), padding="SAME")
    conv("0d", n(3, 4), n(5, 4), window_strides=(), padding=[])
    add("conv_transpose", lambda a, b: lax.conv_transpose(a, b, (2, 2), "SAME"), n(1, 5, 5, 2), n(3, 3, 2, 4))
    add("conv_grads", lambda a, b: jax.grad(lambda p, q: jnp.sum(lax.conv_general_dilated(p, q, (2, 1), "SAME") ** 2),
                                            (0, 1))(a, b), n(2, 3, 7, 6), n(4, 3, 3, 3))
    add("conv_group_grads", lambda a, b: jax.grad(
        lambda p, q: jnp.sum(jnp.sin(lax.conv_general_dilated(p, q, (1, 1), "SAME", feature_group_count=2))), (0, 1))(a,
                b), n(2, 4, 5, 6), n(4, 2, 3, 3))
    add("conv_patches", lambda a: lax.conv_general_dilated_patches(a, (2, 3), (1, 2), "VALID"), n(1, 2, 6, 7))
    add("pools", lambda a: (lax.reduce_window(a, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"),
                            lax.reduce_window(a, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 1, 1), "SAME") / 9), n(2, 3, 8, 8))
    add("max_pool_grad", jax.grad(
        lambda a: jnp.sum(lax.reduce_window(a, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME") ** 2)),
        n(2, 3, 8, 8))
    add("avg_pool_grad", jax.grad(
        lambda a: jnp.sum(lax.reduce_window(a, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 2, 2), "VALID") ** 3)), n(2, 3, 8, 8))
    add("resize", lambda a: (jax.image.resize(a, (6, 8), "linear"), jax.image.resize(a, (3, 3), "nearest"),
                             jax.image.resize(a, (7, 5), "cubic")), n(4, 5))

    # --- Indexing
    # ------------------------------------------------------------------------------------------------------------------
    ix = ints(5, lo=0, hi=6)
    add("take", lambda a, i: (jnp.take(a, i, 0), a[i], a[:, i % 4],
                              jnp.take_along_axis(a, (i % 6)[:, None] * jnp.ones((1, 4), i32), 0)), n(6, 4), ix)
    add("take_modes", lambda a, i: (jnp.take(a, i, mode="clip"), jnp.take(a, i, mode="wrap"),
                                    jnp.take(a, i, mode="fill", fill_value=9)), n(6), ints(9, lo=-9, hi=12))
    add("gather_nd", lambda a, i, j: (a[i, j], a[i, :, j]), n(6, 4, 5), ix, ints(5, lo=0, hi=4))
    add("bool_mask_where", lambda a: (a[np.array([True, False, True])], jnp.where(a > 0, a, 0).sum()), n(3, 4))
    add("at_ops", lambda a, i, v: (a.at[i].set(v), a.at[i].add(v), a.at[i].multiply(v), a.at[i].min(v), a.at[i].max(v)),
        n(6, 4), np.array([0, 2, 5], i32), n(3, 4))
    add("at_oob", lambda a, i, v: (a.at[i].set(v, mode="drop"), a.at[i].add(v, mode="clip")), n(6),
        np.array([0, 9, -20, 3], i32), n(4))
    add("at_slices", lambda a, v: (a.at[1:3, ::2].set(v), a.at[-1].add(1.0), a.at[:, 0].mul(2.0)), n(4, 6), n(2, 3))
    add("scatter_add_dup", lambda a, i, v: a.at[i].add(v), n(5, 3), np.array([1, 1, 1, 4, 0], i32), n(5, 3))
    add("scatter_apply", lambda a, i: a.at[i].apply(jnp.tanh), n(6), np.array([1, 3], i32))
    add("segments", lambda a, s: (jax.ops.segment_sum(a, s, 4), jax.ops.segment_max(a, s, 4),
                                  jax.ops.segment_min(a, s, 4), jax.ops.segment_prod(a, s, 4)), n(9, 2),
                                  np.sort(ints(9, lo=0, hi=4)))
    add("dynamic_slices", lambda a, i: (lax.dynamic_slice(a, (i, i), (2, 3)), lax.dynamic_slice_in_dim(a, i, 2, 1),
                                        lax.dynamic_index_in_dim(a, i, 0)), n(5, 6), i32(2))
    add("dynamic_slice_clamped", lambda a, i: lax.dynamic_slice(a, (i, -i), (3, 4)), n(5, 6), i32(7))
    add("dynamic_update", lambda a, v, i: (lax.dynamic_update_slice(a, v, (i, 1)),
                                           lax.dynamic_update_index_in_dim(a, v[0, 0], i, 0)), n(5, 6), n(2, 3), i64(4))
    add("gather_grad", jax.grad(lambda a, i: jnp.sum(a[i] ** 2)), n(6, 3), ix)
    add("vmap_gather", lambda a, i: jax.vmap(lambda p, q: p[q])(a, i), n(4, 6), ints(4, 3, lo=0, hi=6))
    add("vmap_scatter", lambda a, i, v: jax.vmap(lambda p, q, r: p.at[q].add(r))(a, i, v), n(4, 6),
        ints(4, 3, lo=0, hi=6), n(4, 3))
    add("vmap_dynamic_slice", lambda a, i: jax.vmap(lambda p, q: lax.dynamic_slice(p, (q,), (2,)))(a, i), n(4, 6),
        ints(4, lo=0, hi=6))
    add("vmap_dynamic_update", lambda a, v, i: jax.vmap(lambda p, q, r: lax.dynamic_update_slice(p, q, (r,)))(a, v, i),
        n(4, 6), n(4, 2), ints(4, lo=0, hi=6))
    add("one_hot_embed", lambda w, i: (jnn.one_hot(i, 6), jnn.one_hot(i, 6) @ w, w[i]), n(6, 3), ix)
    add("gather_u8_index", lambda a, i: a[i], n(6, 3), ints(4, lo=0, hi=6, dtype=u8))
    add("choose_put", lambda i, a, b: (jnp.choose(i, [a, b, a], mode="clip"),
                                       jnp.compress(jnp.array([True, False, True, True]), a, size=3)),
                                       ints(4, lo=0, hi=3), n(4), n(4))

    # --- Control flow
    # ------------------------------------------------------------------------------------------------------------------
    add("fori", lambda a: lax.fori_loop(0, 7, lambda i, c: c * 1.1 + i, a), n(3))
    add("while", lambda a: lax.while_loop(lambda c: c[0] < 100, lambda c: (c[0] * 2 + 1, c[1] + jnp.sin(c[0])),
                                          (a, f32(0))), f32(1.5))
    add("cond", lambda p, a: (lax.cond(p > 0, jnp.sin, jnp.cos, a), lax.cond(p < 0, lambda: a * 2, lambda: a)), f32(1),
        n(4))
    add("switch", lambda i, a: lax.switch(i, [jnp.sin, jnp.cos, jnp.tanh, lambda x: x * 0], a), i32(2), n(4))
    add("switch_clamped", lambda i, a: lax.switch(i, [jnp.sin, jnp.cos], a), i32(9), n(4))
    add("scan_rnn", lambda w, xs: lax.scan(lambda h, x: (jnp.tanh(h @ w + x), jnp.sum(h)), jnp.zeros(4), xs),
        n(4, 4, scale=0.5), n(6, 4))
    add("scan_reverse", lambda xs: lax.scan(lambda c, x: (c + x, c * x), f32(1), xs, reverse=True), n(7))
    add("scan_unroll", lambda xs: lax.scan(lambda c, x: (c + x, c), f32(0), xs, unroll=3), n(8))
    add("scan_grad", jax.grad(lambda w, xs: jnp.sum(lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), jnp.zeros(3),
                                                             xs)[1] ** 2)), n(3, 3, scale=0.5), n(5, 3))
    add("scan_none", lambda a: lax.scan(lambda c, _: (c * 0.9, c), a, None, length=5), n(2))
    add("nested_loops", lambda a: lax.fori_loop(0, 3,
                                                lambda i, c: lax.fori_loop(0, i + 1, lambda j, d: d + jnp.sin(d) * j,
                                                                           c), a), n(4))
    add("while_vmap", jax.vmap(lambda a: lax.while_loop(lambda c: c < 10, lambda c: c * 1.7 + 1, a)), u(5, lo=0, hi=9))
    add("map_remat", lambda a: (lax.map(lambda r: jnp.sum(jnp.sin(r)), a),
                                jax.grad(lambda b: jnp.sum(jax.checkpoint(lambda c: jnp.sin(jnp.cos(c)))(b)))(a)),
                                n(4, 5))
    add("cond_grad", jax.grad(lambda a: jnp.sum(lax.cond(a[0] > 0, lambda b: b**2, lambda b: b**3, a))), n(4))
    add("custom_jvp", lambda a: (jax.jacfwd(jnn.relu)(a), jax.grad(lambda b: jnp.sum(jnn.gelu(b)))(a)), n(4))
    add("newton_root", lambda a: lax.fori_loop(0, 20, lambda _, x: 0.5 * (x + a / x), jnp.ones_like(a)),
        u(5, lo=1, hi=9))
    add("collatz_int", lambda a: lax.while_loop(lambda c: c[0] != 1,
                                                lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
                                                (a, i32(0))), i32(27))

    # --- Derivatives
    # ------------------------------------------------------------------------------------------------------------------
    def mlp(p, x):
        return jnn.log_softmax(jnp.tanh(x @ p[0] + p[1]) @ p[2])

    add("mlp_grad", lambda w1, b1, w2, x: jax.value_and_grad(lambda p: -jnp.mean(mlp(p, x)[:, 0]))((w1, b1, w2)),
        n(5, 8, scale=0.3), n(8), n(8, 3, scale=0.3), n(6, 5))
    add("hessian", jax.hessian(lambda a: jnp.sum(jnp.sin(a) * a[::-1] ** 2)), n(4))
    add("jacobians", lambda a: (jax.jacfwd(lambda b: jnp.outer(b, jnp.exp(b)))(a),
                                jax.jacrev(lambda b: jnp.cumsum(b) ** 2)(a)), n(3))
    add("jvp_vjp", lambda a, v: (jax.jvp(jnp.tanh, (a,), (v,)), jax.vjp(lambda b: jnp.sort(b) * b, a)[1](v)), n(6),
        n(6))
    add("hvp", lambda a, v: jax.jvp(jax.grad(lambda b: jnp.sum(jnp.log1p(b**2))), (a,), (v,)), n(6), n(6))
    add("vmap_grad", jax.vmap(jax.grad(lambda a: jnp.prod(jnp.cos(a)))), n(4, 5))
    add("third_derivative", jax.vmap(jax.grad(jax.grad(jax.grad(jnp.tanh)))), n(5))
    add("grad_norm_layers", jax.grad(
        lambda a: jnp.sum((a - a.mean(-1, keepdims=True)) / jnp.sqrt(a.var(-1, keepdims=True) + 1e-5)
                          * jnp.arange(6.0))), n(4, 6))
    add("grad_logsumexp_prod", lambda a: (jax.grad(lambda b: jsp.special.logsumexp(b))(a),
                                          jax.grad(lambda b: jnp.prod(b))(a), jax.grad(lambda b: jnp.max(b))(a)), n(7))
    add("grad_complex", lambda a: jax.grad(lambda z: jnp.sum(jnp.abs(jnp.exp(1j * z)) ** 2 + jnp.sin(z)).real)(a), n(5))
    add("grad_sort_topk", lambda a: (jax.grad(lambda b: jnp.sum(jnp.sort(b) * jnp.arange(9.0)))(a),
                                     jax.grad(lambda b: jnp.sum(lax.top_k(b, 3)[0] ** 2))(a)), n(9))
    add("grad_cumprod", jax.grad(lambda b: jnp.sum(jnp.cumprod(b) ** 2)), u(6, lo=0.5, hi=1.5))
    add("grad_specials", lambda a: (jax.vmap(jax.grad(jsp.special.gammaln))(a), jax.vmap(jax.grad(jsp.special.erf))(a),
                                    jax.vmap(jax.grad(jsp.special.digamma))(a),
                                    jax.vmap(jax.grad(jsp.special.erfinv))(a / 6)), u(5, lo=0.5, hi=5))
    add("sgd_step", lambda w, x, y: w - 0.1 * jax.grad(lambda v: jnp.mean((x @ v - y) ** 2))(w), n(4), n(8, 4), n(8))
    add("adam_step", lambda w, m, v, g: (w - 1e-3 * (0.9 * m + 0.1 * g) / (jnp.sqrt(0.999 * v + 0.001 * g * g) + 1e-8),
                                         0.9 * m + 0.1 * g), n(5, 4), n(5, 4), u(5, 4), n(5, 4))

    # --- Neural networks
    # ------------------------------------------------------------------------------------------------------------------
    for fn in ("relu relu6 gelu silu elu selu celu softplus sigmoid log_sigmoid leaky_relu hard_tanh hard_sigmoid "
               "hard_swish mish squareplus soft_sign glu softmax log_softmax standardize sparse_plus").split():
        add("nn_" + fn, getattr(jnn, fn), n(4, 6, scale=2))
    add("nn_gelu_exact", lambda a: jnn.gelu(a, approximate=False), n(4, 6, scale=2))
    add("attention", lambda q, k, v: jnn.softmax(jnp.where(jnp.tril(jnp.ones((5, 5), bool)),
                                                           q @ k.T / np.sqrt(4.0).astype(f32), -1e9)) @ v, n(5, 4),
                                                           n(5, 4), n(5, 4))
    add("dot_product_attention", lambda q, k, v: jnn.dot_product_attention(q, k, v, is_causal=True), n(2, 5, 2, 4),
        n(2, 5, 2, 4), n(2, 5, 2, 4))
    add("layer_norm", lambda a, g, b: (a - a.mean(-1, keepdims=True)) * lax.rsqrt(a.var(-1, keepdims=True) + 1e-6) * g
        + b, n(4, 6), n(6), n(6))
    add("cross_entropy", lambda a, y: -jnp.mean(jnp.sum(jnn.one_hot(y, 5, dtype=f32) * jnn.log_softmax(a), -1)),
        n(6, 5), ints(6, lo=0, hi=5))
    add("lstm_cell", lambda w, x, h, c: (
        lambda z: (jnn.sigmoid(z[:, 8:12])
                   * jnp.tanh(jnn.sigmoid(z[:, 4:8]) * c + jnn.sigmoid(z[:, :4])
                              * jnp.tanh(z[:, 12:]))))(jnp.concatenate([x, h], 1) @ w), n(7, 16), n(2, 3), n(2, 4),
                              n(2, 4))

    # --- scipy.special, linear algebra, fft
    # ----------------------------------------------------------------------------------------------------------
    sp = jsp.special
    for fn in "erf erfc erfinv expit i0e i1e i1 ndtr log_ndtr entr".split():
        add("sp_" + fn, getattr(sp, fn), u(4, 6, lo=0.05, hi=0.95) if fn in ("erfinv", "entr") else n(4, 6))
    for fn in "gammaln digamma gamma factorial".split():
        add("sp_" + fn, getattr(sp, fn), u(4, 6, lo=0.3, hi=6))
    add("sp_gammaln_neg", sp.gammaln, u(9, lo=-4, hi=-0.2))
    add("sp_digamma_neg", sp.digamma, u(9, lo=-4.3, hi=-0.2))
    add("sp_logit", sp.logit, u(4, 6, lo=0.05, hi=0.95))
    add("sp_two", lambda a, b: (sp.betaln(a, b), sp.beta(a, b), sp.xlogy(a, b), sp.xlog1py(a, b), sp.zeta(a + 1.5, b),
                                sp.rel_entr(a, b), sp.kl_div(a, b)), u(4, 5, lo=0.2, hi=4), u(4, 5, lo=0.2, hi=4))
    add("sp_gammainc", lambda a, x: (sp.gammainc(a, x), sp.gammaincc(a, x)), u(3, 4, lo=0.5, hi=4),
        u(3, 4, lo=0.1, hi=6))
    add("sp_betainc", lambda a, b, x: sp.betainc(a, b, x), u(6, lo=0.5, hi=4), u(6, lo=0.5, hi=4),
        u(6, lo=0.05, hi=0.95))
    add("sp_polygamma", lambda a: (sp.polygamma(1, a), sp.polygamma(2, a)), u(6, lo=0.5, hi=5))
    add("sp_ndtri", sp.ndtri, u(9, lo=0.01, hi=0.99))
    add("sp_exp1", lambda a: (sp.exp1(a), sp.expi(a)), u(6, lo=0.3, hi=5))
    add("sp_f64", lambda a: (sp.erf(a), sp.erfc(a), sp.gammaln(a), sp.digamma(a), sp.erfinv(a / 7), sp.i1e(a),
                             sp.zeta(a + 1.1, a)), u(9, lo=0.3, hi=6, dtype=f64))
    add("sp_bf16", lambda a: (sp.erf(a), sp.gammaln(a), sp.erfinv(a / 7)), u(9, lo=0.3, hi=6, dtype=bf16))
    add("stats", lambda a: (jsp.stats.norm.logpdf(a), jsp.stats.norm.cdf(a), jsp.stats.t.logpdf(a, 3.0),
                            jsp.stats.poisson.logpmf(jnp.floor(jnp.abs(a)), 2.0),
                            jsp.stats.gamma.logpdf(jnp.abs(a), 2.0)), n(8))
    spd = n(5, 5)
    spd = (spd @ spd.T + 5 * np.eye(5)).astype(f32)
    add("cholesky", lambda a: lax.linalg.cholesky(a), spd)
    add("cholesky_c64", lambda a: lax.linalg.cholesky(a, symmetrize_input=False), (spd + 0j).astype(c64))
    add("triangular", lambda a, b: (lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
                                    lax.linalg.triangular_solve(a, b.T, lower=False, transpose_a=True),
                                    lax.linalg.triangular_solve(a, b, left_side=True, lower=True, unit_diagonal=True)),
                                    np.tril(spd).astype(f32) + np.triu(spd, 1), n(5, 3))
    add("solve", lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.slogdet(a)),
        spd, n(5, 2))
    add("qr", lambda a: jnp.linalg.qr(a)[1] ** 2, n(5, 4))
    add("eigh", lambda a: jnp.linalg.eigh(a)[0], spd)
    add("svd", lambda a: jnp.linalg.svd(a, compute_uv=False), n(5, 4))
    add("lstsq_pinv", lambda a: jnp.linalg.pinv(a), n(5, 4))
    add("cho_solve", lambda a, b: jsp.linalg.cho_solve((jnp.linalg.cholesky(a), True), b), spd, n(5, 2))
    add("solve_triangular", lambda a, b: (jsp.linalg.solve_triangular(a, b, lower=True),
                                          jsp.linalg.solve_triangular(a, b, trans=1)), spd, n(5, 2))
    add("toeplitz_block", lambda a: (jsp.linalg.toeplitz(a), jsp.linalg.block_diag(a[:, None], a[None])), n(4))
    add("expm_padded", lambda a: jsp.linalg.expm(a * 0.1), n(4, 4))
    add("eigvals", lambda a: jnp.sort(jnp.abs(jnp.linalg.eigvals(a))), n(5, 5))
    add("schur", lambda a: (lambda t, q: (q @ t @ q.T, jnp.abs(jnp.diagonal(t, -2))))(*lax.linalg.schur(a)), n(5, 5))
    add("hessenberg", lambda a: (lambda h, q: q @ h @ q.T)(*jsp.linalg.hessenberg(a, calc_q=True)), n(5, 5))
    add("tridiagonal_solve", lambda a, b: lax.linalg.tridiagonal_solve(a, 4 + a, a, b), n(6), n(6, 2))
    add("eigh_tridiagonal", lambda a, b: jsp.linalg.eigh_tridiagonal(a, b, eigvals_only=True), n(6), n(5))
    add("cholesky_grad", jax.grad(lambda a: jnp.sum(lax.linalg.cholesky(a) ** 2)), spd)
    for fn in "fft ifft".split():
        add("fft_" + fn, lambda a, fn=fn: getattr(jnp.fft, fn)(a), n(3, 12, dtype=c64))
    add("fft_real", lambda a: (jnp.fft.rfft(a), jnp.fft.irfft(jnp.fft.rfft(a)), jnp.fft.fft(a), jnp.fft.hfft(a)),
        n(3, 16))
    add("fft_odd", lambda a: (jnp.fft.rfft(a), jnp.fft.irfft(jnp.fft.rfft(a), 15), jnp.fft.fft(a)), n(3, 15))
    add("fft_2d", lambda a: (jnp.fft.fft2(a), jnp.fft.rfft2(a), jnp.fft.fftshift(a), jnp.fft.irfft2(jnp.fft.rfft2(a))),
        n(2, 6, 8))
    add("fft_3d_f64", lambda a: (jnp.fft.fftn(a), jnp.fft.rfftn(a)), n(3, 4, 5, dtype=f64))
    add("fft_grad", jax.grad(lambda a: jnp.sum(jnp.abs(jnp.fft.rfft(a)) ** 2)), n(16))

    # --- Random numbers
    # ------------------------------------------------------------------------------------------------------------------
    key = np.array([0, 42], u32)
    for name, fn in dict(uniform=lambda k: jr.uniform(k, (3, 5)), normal=lambda k: jr.normal(k, (3, 5)),
                         bits=lambda k: jr.bits(k, (7,)), randint=lambda k: jr.randint(k, (9,), 0, 100),
                         bernoulli=lambda k: jr.bernoulli(k, 0.3, (9,)), permutation=lambda k: jr.permutation(k, 9),
                         choice=lambda k: jr.choice(k, 10, (4,)), split=lambda k: jr.split(k, 3),
                         fold=lambda k: jr.fold_in(k, 7), exponential=lambda k: jr.exponential(k, (5,)),
                         gumbel=lambda k: jr.gumbel(k, (5,)), laplace=lambda k: jr.laplace(k, (5,)),
                         truncated=lambda k: jr.truncated_normal(k, -1, 1, (5,)),
                         categorical=lambda k: jr.categorical(k, jnp.arange(4.0), shape=(6,)),
                         gamma=lambda k: jr.gamma(k, 2.0, (4,)),
                         beta=lambda k: jr.beta(k, 2.0, 3.0, (4,)),
                         dirichlet=lambda k: jr.dirichlet(k, jnp.ones(3), (2,)),
                         poisson=lambda k: jr.poisson(k, 3.0, (5,)), cauchy=lambda k: jr.cauchy(k, (5,)),
                         normal_bf16=lambda k: jr.normal(k, (9,), jnp.bfloat16),
                         normal_f64=lambda k: jr.normal(k, (9,), jnp.float64),
                         uniform_f16=lambda k: jr.uniform(k, (9,), jnp.float16),
                         bits8=lambda k: jr.bits(k, (9,), jnp.uint8), bits64=lambda k: jr.bits(k, (9,), jnp.uint64),
                         choice_p=lambda k: jr.choice(k, 4, (5,), p=jnp.array([0.1, 0.2, 0.3, 0.4])),
                         shuffle_rows=lambda k: jr.permutation(k, jnp.arange(12.0).reshape(4, 3), independent=True),
                         orthogonalish=lambda k: jr.rademacher(k, (6,)),
                         ball=lambda k: jr.normal(k, (2, 3), jnp.complex64)).items():
        add("rng_" + name, fn, key)
    for alg, size in (("THREE_FRY", 2), ("PHILOX", 2)):
        for dt in (u8, u16, u32, u64):
            add(f"rbg_{alg.lower()}{size}_{np.dtype(dt).name}",
                lambda s, alg=alg, dt=dt: lax.rng_bit_generator(s, (5, 3), dt,
                                                                algorithm=getattr(lax.RandomAlgorithm, "RNG_" + alg)),
                                                                ints(size, lo=0, hi=2**40, dtype=u64))
    return programs


def dynamic_table(seed):
    """Programs of symbolic shapes, as jax.export writes them, with inputs of one shape each: NAME -> (function, shapes,
    arguments)."""
    rng = np.random.default_rng(seed)

    def n(*shape, dtype=f32):
        return rng.standard_normal(shape).astype(dtype)

    def of(text, dtype=f32):
        return text, dtype

    return {
        "add": (lambda a, b: a + jnp.sin(b), [of("n, 3"), of("n, 3")], [n(5, 3), n(5, 3)]),
        "broadcast": (lambda a: jnp.broadcast_to(a[:, None], (a.shape[0], 4)) + jnp.arange(a.shape[0])[:, None],
                      [of("n")], [n(6)]),
        "mean": (lambda a: (a - a.mean(0)) / jnp.sqrt(a.var(0) + 1), [of("n, 4")], [n(7, 4)]),
        "matmul": (lambda a, b: jnp.tanh(a @ b), [of("n, k"), of("k, 3")], [n(4, 6), n(6, 3)]),
        "reshape": (lambda a: a.reshape(a.shape[0] * 2, -1).sum(1), [of("n, 6")], [n(3, 6)]),
        "concatenate": (lambda a, b: jnp.concatenate([a, b, a]), [of("n"), of("m")], [n(3), n(4)]),
        "slice": (lambda a: (a[1:], a[: a.shape[0] // 2], a[::2]), [of("n")], [n(8)]),
        "pad": (lambda a: jnp.pad(a, ((1, a.shape[0]), (0, 1))), [of("n, 2")], [n(3, 2)]),
        "softmax": (lambda a: jnn.softmax(a), [of("n, m")], [n(3, 5)]),
        "argmax": (lambda a: (a.argmax(0), a.argmax(1), a.max()), [of("n, m")], [n(3, 5)]),
        "sort": (lambda a: (jnp.sort(a), jnp.argsort(a)), [of("n")], [n(9)]),
        "cumsum": (lambda a: jnp.cumsum(a * 2), [of("n")], [n(9)]),
        "scan": (lambda a: lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(3), a), [of("n, 3")], [n(5, 3)]),
        "fori": (lambda a: lax.fori_loop(0, a.shape[0], lambda i, c: c + a[i] * i, f32(0)), [of("n")], [n(5)]),
        "while": (lambda a: lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 2 + 1, a), [of("n")], [np.abs(n(4))]),
        "cond": (lambda a: lax.cond(a.sum() > 0, lambda b: b * 2, lambda b: b + 1, a), [of("n")], [n(4)]),
        "grad": (lambda a: jax.grad(lambda b: jnp.sum(jnp.log1p(b**2) / b.shape[0]))(a), [of("n, 2")], [n(5, 2)]),
        "gather": (lambda a, i: (a[i], jnp.take(a, i, 0)), [of("n, 3"), of("m", i32)],
                   [n(6, 3), np.array([0, 5, 2], i32)]),
        "scatter": (lambda a, i, v: a.at[i].add(v), [of("n"), of("m", i32), of("m")],
                    [n(6), np.array([0, 5, 0], i32), n(3)]),
        "dynamic_slice": (lambda a, i: lax.dynamic_slice(a, (i,), (2,)), [of("n"), of("", i32)], [n(6), i32(3)]),
        "conv": (lambda a, w: lax.conv_general_dilated(a, w, (1, 2), "SAME"), [of("b, 2, h, w"), of("3, 2, 3, 3")],
                 [n(2, 2, 6, 5), n(3, 2, 3, 3)]),
        "pool": (lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"), [of("n, 2*m")], [n(3, 6)]),
        "vmap": (lambda a: jax.vmap(lambda r: jnp.outer(r, r).sum(0))(a), [of("n, 3")], [n(4, 3)]),
        "einsum": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b), [of("b, n, m"), of("b, m, 2")],
                   [n(2, 3, 4), n(2, 4, 2)]),
        "iota": (lambda a: jnp.eye(a.shape[0]) * a + jnp.arange(2 * a.shape[0]).sum(), [of("n")], [n(4)]),
        "mlp": (lambda x, w, b: jnn.relu(x @ w + b).mean(0), [of("n, d"), of("d, 5"), of("5")],
                [n(6, 4), n(4, 5), n(5)]),
        "attention": (lambda q, k, v: jnn.softmax(q @ k.T / 2.0) @ v, [of("t, d"), of("t, d"), of("t, d")],
                      [n(5, 4), n(5, 4), n(5, 4)]),
        "erf": (lambda a: (jsp.special.erf(a), jnp.arcsin(a / 10), lax.top_k(a, 2)), [of("n")], [n(7)]),
        "repeat": (lambda a: (jnp.tile(a, 3), jnp.repeat(a, 2), jnp.flip(a), jnp.roll(a, 1)), [of("n")], [n(4)]),
        "where_mask": (lambda a: jnp.where(jnp.arange(a.shape[0]) < a.shape[0] // 2, a, 0.0), [of("n")], [n(7)]),
    }


def dynamic_programs(seed):
    from jax import export

    for name, (fn, shapes, args) in dynamic_table(seed).items():
        scope = export.SymbolicScope()
        specs = [jax.ShapeDtypeStruct(export.symbolic_shape(s, scope=scope), d) for s, d in shapes]
        yield "dyn_" + name, fn, args, lambda fn=fn, specs=specs: export.export(jax.jit(fn))(*specs).mlir_module()


def static_programs(seed):
    for name, (fn, args) in table(seed).items():
        yield name, fn, args, lambda fn=fn, args=args: jax.jit(fn, keep_unused=True).lower(*args).as_text()


def save(path, x):
    x = np.asarray(x)
    if x.dtype.kind == "V" or x.dtype.name in ("bfloat16",) or "float8" in x.dtype.name or "float4" in x.dtype.name:
        x = x.view(u16 if x.dtype.itemsize == 2 else u8)
    np.save(path, x)


def main(folder, seed=0):
    made = 0
    for name, fn, args, lower in itertools.chain(static_programs(seed), dynamic_programs(seed)):
        at = os.path.join(folder, name)
        try:
            text = lower()
            outs = jax.tree.leaves(jax.jit(fn, keep_unused=True)(*args))
        except Exception as e:
            print(f"{name}: left out: {type(e).__name__}: {str(e)[:150]}")
            continue
        if "lapack" in text:  # other platforms lower linear algebra to StableHLO's own ops
            text = jax.jit(fn, keep_unused=True).trace(*args).lower(lowering_platforms=("tpu",)).as_text()
        if "lapack" in text or "@cu_" in text:
            print(f"{name}: left out: calls LAPACK")
            continue
        os.makedirs(at, exist_ok=True)
        open(os.path.join(at, "prog.mlir"), "w").write(text)
        for i, a in enumerate(jax.tree.leaves(args)):
            save(os.path.join(at, f"in{i}.npy"), a)
        for i, a in enumerate(outs):
            save(os.path.join(at, f"out{i}.npy"), a)
        made += 1
    print(f"{made} programs")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
