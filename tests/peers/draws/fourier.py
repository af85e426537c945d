"""Fourier transforms and frames."""
import torch

from draws.calls import Call, axes_of, axis_of, family, lst, maybe, on, opts, pos, r, shape, smooth


@family
def fourier():
    dims = shape(1, 3, 0)
    a = axis_of(dims)
    norm = r.choice((None, "backward", "ortho", "forward"))
    N = f", .norm = XT_FFT_{norm.upper()}" if norm else ""
    n = maybe(r.randint(1, 7))
    axes = axes_of(dims)
    name = r.choice(("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn", "hfftn",
                     "ihfftn", "fft2", "ifft2", "rfft2", "irfft2", "hfft2", "ihfft2"))
    x, im = smooth(*dims), smooth(*dims)
    real = name[0] in "r" or name.startswith("ih")
    arg = "x" if real else "xt_complex(x, y)"
    g = getattr(torch.fft, name)

    def split(z):
        return (z.real, z.imag) if z.is_complex() else z
    if name[-1] in "n2":
        use = axes if name[-1] == "n" else (-2, -1)
        s = maybe([-1 if r.random() < 0.2 else r.randint(1, 6) for _ in use])
        if s and name[-1] == "n" and r.random() < 0.3:
            use = None
        S = opts(s=s) + N
        to = ", " + (lst(use) if use else "XT_ALL_AXES") if name[-1] == "n" else ""
        call = f"xt_{name}({arg}{to}{S})"
        run = lambda z: g(z, s, dim=use, norm=norm)
    else:
        call = f"xt_{name}({arg}, {a}{opts(n=n)}{N})"
        run = lambda z: g(z, n=n, dim=a, norm=norm)
    c = call if "irfft" in name or name.startswith("hfft") else \
        f"xt_tensor z = {call}; out[0] = xt_real(z); out[1] = xt_imag(z);"
    if real:
        return Call(c, lambda x: split(run(x)), ["x"], x=x)
    return Call(c, lambda x, y: split(run(torch.complex(x, y))), ["x", "y"], x=x, y=im)


@family
def frames():
    n = r.choice((4, 5, 8))
    hop = r.randint(1, n)
    win = maybe(r.randint(2, n))
    cen, two, normed, zero = (r.random() < 0.5 for _ in range(4))
    x = smooth(*([2] if r.random() < 0.5 else []), r.randint(n + 2, 20))
    w = pos(win or n)
    o = opts(hop=hop, win_length=win, normalized=normed or None, two_sided=two or None) + ", .window = w"
    return Call(f"xt_tensor z = xt_stft(x, {n}{o}, .center = {on(cen)}{', .zero_pad = true' if zero and cen else ''}); "
                "out[0] = xt_real(z); out[1] = xt_imag(z);",
                lambda x, w: (lambda z: (z.real, z.imag))(torch.stft(
                    x, n, hop, win, w, cen, "constant" if zero else "reflect", normed, not two, return_complex=True)),
                ["x", "w"], x=x, w=w)
