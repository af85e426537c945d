#!/usr/bin/env python3
"""Chebyshev series of special functions for src/ops/bessel.c and special.c: writes src/ops/special.def. Needs mpmath.

usage: tools/special_tables.py >src/ops/special.def

Each table is of f(x) over an interval of a variable t in [-1,1]: sum of c[k] T_k(t), the first coefficient not halved,
down to what f64 can tell of the largest."""
from mpmath import besseli, besselj, besselk, bessely, cos, erfc, exp, log, mp, mpf, pi, sin, sqrt

mp.dps = 50
NODES = 80


def hankel(n):
    """P and Q of Hankel's expansion: J = sqrt(2/(pi x)) (P cos c - Q sin c), Y = sqrt(2/(pi x)) (P sin c + Q cos c)."""
    def both(x):
        c = x - (2 * n + 1) * pi / 4
        j, y, root = besselj(n, x), bessely(n, x), sqrt(pi * x / 2)
        return root * (j * cos(c) + y * sin(c)), root * (y * cos(c) - j * sin(c))
    return lambda x: both(x)[0], lambda x: both(x)[1] * x


def limit(f, at=mpf(10) ** -15):
    """f, which loses its digits at 0, near it."""
    return lambda x: f(x if abs(x) > at else at)


p0, q0 = hankel(0)
p1, q1 = hankel(1)
TABLES = [
    # name, f, x of t
    ("i0_near", "e^-x I0(x), t = x / 4 - 1", lambda x: exp(-x) * besseli(0, x), lambda t: 4 * (t + 1)),
    ("i0_far", "sqrt(x) e^-x I0(x), t = 16 / x - 1", lambda x: sqrt(x) * exp(-x) * besseli(0, x),
     lambda t: 16 / (t + 1 + mpf(10) ** -30)),
    ("i1_near", "e^-x I1(x) / x, t = x / 4 - 1", limit(lambda x: exp(-x) * besseli(1, x) / x), lambda t: 4 * (t + 1)),
    ("i1_far", "sqrt(x) e^-x I1(x), t = 16 / x - 1", lambda x: sqrt(x) * exp(-x) * besseli(1, x),
     lambda t: 16 / (t + 1 + mpf(10) ** -30)),
    ("k0_near", "K0(x) + log(x / 2) I0(x), t = x^2 / 2 - 1",
     limit(lambda x: besselk(0, x) + log(x / 2) * besseli(0, x)),
     lambda t: sqrt(2 * (t + 1))),
    ("k0_far", "sqrt(x) e^x K0(x), t = 4 / x - 1", lambda x: sqrt(x) * exp(x) * besselk(0, x),
     lambda t: 4 / (t + 1 + mpf(10) ** -30)),
    ("k1_near", "x (K1(x) - log(x / 2) I1(x)), t = x^2 / 2 - 1",
     limit(lambda x: x * (besselk(1, x) - log(x / 2) * besseli(1, x))), lambda t: sqrt(2 * (t + 1))),
    ("k1_far", "sqrt(x) e^x K1(x), t = 4 / x - 1", lambda x: sqrt(x) * exp(x) * besselk(1, x),
     lambda t: 4 / (t + 1 + mpf(10) ** -30)),
    ("j0_near", "J0(x), t = x^2 / 32 - 1", lambda x: besselj(0, x), lambda t: sqrt(32 * (t + 1))),
    ("j1_near", "J1(x) / x, t = x^2 / 32 - 1", limit(lambda x: besselj(1, x) / x), lambda t: sqrt(32 * (t + 1))),
    ("y0_near", "Y0(x) - 2 / pi log(x) J0(x), t = x^2 / 32 - 1",
     limit(lambda x: bessely(0, x) - 2 / pi * log(x) * besselj(0, x)), lambda t: sqrt(32 * (t + 1))),
    ("y1_near", "(Y1(x) - 2 / pi (log(x) J1(x) - 1 / x)) / x, t = x^2 / 32 - 1",
     limit(lambda x: (bessely(1, x) - 2 / pi * (log(x) * besselj(1, x) - 1 / x)) / x), lambda t: sqrt(32 * (t + 1))),
    ("erfcx_table", "(1 + 2 x) e^(x^2) erfc(x), t = (x - 3.75) / (x + 3.75)",
     lambda x: (1 + 2 * x) * exp(x * x) * erfc(x), lambda t: mpf(15) / 4 * (1 + t) / (1 - t)),
    ("p0_far", "P of order 0, t = 128 / x^2 - 1", p0, lambda t: sqrt(128 / (t + 1 + mpf(10) ** -9))),
    ("q0_far", "x Q of order 0, t = 128 / x^2 - 1", q0, lambda t: sqrt(128 / (t + 1 + mpf(10) ** -9))),
    ("p1_far", "P of order 1, t = 128 / x^2 - 1", p1, lambda t: sqrt(128 / (t + 1 + mpf(10) ** -9))),
    ("q1_far", "x Q of order 1, t = 128 / x^2 - 1", q1, lambda t: sqrt(128 / (t + 1 + mpf(10) ** -9))),
]


def series(f, x_of_t):
    angles = [pi * (mpf(j) + mpf(1) / 2) / NODES for j in range(NODES)]
    values = [f(x_of_t(cos(a))) for a in angles]
    c = [2 * sum(v * cos(k * a) for v, a in zip(values, angles)) / NODES for k in range(NODES)]
    c[0] /= 2
    most = max(abs(v) for v in c)
    while abs(c[-1]) < most * mpf(2) ** -55:
        c.pop()
    return c


print("/* Made by tools/special_tables.py: TABLE(name, coefficients). */")
print("/* clang-format off */")
for name, what, f, x_of_t in TABLES:
    c = [f"{float(v):.17g}" for v in series(f, x_of_t)]
    print(f"TABLE({name}, /* {what} */")
    line = "     "
    for i, v in enumerate(c):
        part = f" {v}" + ("," if i + 1 < len(c) else ")")
        if len(line) + len(part) > 118:
            print(line)
            line = "     "
        line += part
    print(line)
print("/* clang-format on */")
