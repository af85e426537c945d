"""What PyTorch prints of tensors: case/x0 the elements (case/c0: of complex ones the parts, behind the other dims),
case/text the bytes (without "tensor(", and bools as C spells them)."""
import torch
from torch._tensor_str import _tensor_str

from parity import File

f = File("printed")


def case(name, x):
    if x.is_complex():
        f.put(name + "/c0", torch.view_as_real(x))
    else:
        f.put(name + "/x0", x)
    text = _tensor_str(x, 0)
    if x.dtype == torch.bool:
        text = text.lower()
    f.put(name + "/text", torch.tensor(list(text.encode()), dtype=torch.uint8))


g = torch.Generator().manual_seed(3)
r = lambda *s: torch.randn(*s, generator=g)
inf, nan = float("inf"), float("nan")
case("matrix", r(3, 4))
case("row", r(30))
case("row_of_80", r(10))
case("column", r(7, 1))
case("cube", r(2, 3, 4))
case("four_dims", r(2, 1, 2, 3))
case("one_in_brackets", torch.tensor([[0.25, 0.5]]))
case("whole", torch.tensor([[1.0, -2, 3], [40, 5, 600]]))
case("zeros", torch.zeros(2, 3))
case("zero_and_infinite", torch.tensor([0, inf, -inf, nan]))
case("not_finite_among_fractions", torch.tensor([0.5, inf, -inf, nan, 0]))
case("not_finite_among_whole", torch.tensor([1, inf, -inf, nan, 12345678]))
case("minus_zero", torch.tensor([-0.0, 0.5]))
case("small", torch.tensor([1e-5, 2e-5]))
case("small_and_whole", torch.tensor([1e-5, 1]))
case("just_1000", torch.tensor([1.0, 1000]))
case("over_1000", torch.tensor([1.0, 1001]))
case("fractions_just_1000", torch.tensor([0.5, 500]))
case("fractions_over_1000", torch.tensor([0.5, -501]))
case("large_and_whole", torch.tensor([2e8, 1.5e8]))
case("limit_1e8", torch.tensor([1e8, 5e7]))
case("limit_1e-4", torch.tensor([1e-4, 0.05], dtype=torch.float64))
case("f64", r(2, 3).double() / 3)
case("f64_large", torch.tensor([1e300, 1e-300, -3.5], dtype=torch.float64))
case("bf16", r(3, 3).bfloat16())
case("f16", r(3, 3).half())
case("i64", torch.tensor([[1, -20, 300], [9007199254740993, 0, -1]]))
case("i32", torch.arange(24, dtype=torch.int32).reshape(2, 3, 4))
case("u8", torch.arange(250, 256, dtype=torch.uint8))
case("i8", torch.tensor([-128, 127], dtype=torch.int8))
case("bool", r(2, 5) > 0)
case("complex", torch.complex(r(2, 3), r(2, 3)))
case("complex_whole", torch.tensor([1 + 2j, -3 - 40j]))
case("complex_mixed", torch.tensor([1 + 2j, -0.5 - 1j, 0j]))
case("complex_not_finite", torch.tensor([complex(1.5, inf), complex(nan, -2), complex(3, nan)]))
case("many", torch.arange(1001.0))
case("many_rows", r(400, 3))
case("many_columns", r(2, 600))
case("many_of_both", r(40, 30))
case("many_of_three", r(10, 12, 9))
case("many_integers", torch.arange(1200).reshape(20, 60))
case("many_in_few_dims", r(6, 2, 100))
case("just_a_thousand", r(10, 100))
case("wide_complex", torch.complex(r(20), r(20)))
f.save()
