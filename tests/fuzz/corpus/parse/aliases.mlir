#b0 = 1
#b1 = [#b0, #b0]
#loc1 = loc("a"(#loc))
#loc = loc("f.c":1:2)
!t = tensor<2xf32>
module @"a b" attributes {x = #b1, y = {z = [], w = @a::@b}, "q r" = affine_map<(d0) -> (d0)>} {
  func.func nested @f(%a: !t {tf.x}) -> (!t {jax.r = dense<[1,2]> : tensor<2xindex>}) attributes {k = unit} {
    %0 = stablehlo.add %a, %a {s = #sdy.sharding<@m, [{"x"}]>, f = 0x7FC00000 : f32, g = -1.5, h = (tensor<f32>) -> ()} : !t loc(#loc1)
    return %0 : !t
  } loc(unknown)
} loc(fused[])
