func.func @main() -> tensor<i32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %a = stablehlo.add %one, %one : tensor<i32>
  %r = stablehlo.while(%i = %a) : tensor<i32> cond {
    %n = stablehlo.constant dense<9> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %b = stablehlo.convert %a : tensor<i32>
    %j = stablehlo.add %i, %b : tensor<i32>
    stablehlo.return %j : tensor<i32>
  }
  return %r : tensor<i32>
}
