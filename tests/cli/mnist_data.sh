#!/bin/bash
# Training on IDX files, and every way they can be wrong: one sentence with the file and the offset, exit 1.
. "$(dirname "$0")/../examples/lib.sh"
export XT_SUMMARY=off XT_PROGRESS=off
# idx NAME COUNT LABEL: images of one grey, labels all LABEL
images() {
    printf '\0\0\10\3\0\0%b\0\0\0\34\0\0\0\34' "\\$(printf '%03o' $(($2 / 256)))\\$(printf '%03o' $(($2 % 256)))"
    head -c $(($2 * 784)) /dev/zero | tr '\0' "${3:-@}"
}
labels() {
    printf '\0\0\10\1\0\0%b' "\\$(printf '%03o' $(($2 / 256)))\\$(printf '%03o' $(($2 % 256)))"
    head -c "$2" /dev/zero | tr '\0' "\\$(printf '%03o' "${3:-7}")"
}
d=$tmp/data
fresh() {
    rm -rf "$d"
    mkdir -p "$d"
    images x 600 >"$d/train-images-idx3-ubyte"
    labels x 600 >"$d/train-labels-idx1-ubyte"
}
fit() { "$XTRAIN" fit mnist --data "$d" --epochs 1 --batch 32 --json --no-pictures >"$tmp/out" 2>"$tmp/err"; }
refused() {
    fit
    local code=$?
    check "$1: exit code 1" [ $code = 1 ]
    check "$1: one sentence" [ "$(grep -c . "$tmp/err")" = 1 ]
    check "$1: what is wrong" grep -qE "$2" "$tmp/err"
    [ $code = 1 ] || cat "$tmp/err"
}
fresh
fit
check "plain files, one set: 90 % train" [ $? = 0 ]
check "JSON on the last line" grep -q '"steps": 16,' <(tail -n 1 "$tmp/out")
check "accuracy is there" grep -q '"test_accuracy": 1[,.]' <(tail -n 1 "$tmp/out")
gzip "$d"/train-*
mkdir -p "$d/MNIST/raw" && mv "$d"/train-*.gz "$d/MNIST/raw/"
fit
check "gzip under MNIST/raw" [ $? = 0 ]
cp "$d/MNIST/raw/train-images-idx3-ubyte.gz" "$d/MNIST/raw/t10k-images-idx3-ubyte.gz"
cp "$d/MNIST/raw/train-labels-idx1-ubyte.gz" "$d/MNIST/raw/t10k-labels-idx1-ubyte.gz"
fit
check "both sets: their own split" grep -q '"steps": 18,' <(tail -n 1 "$tmp/out")

rm -rf "$d" && mkdir "$d"
refused "an empty folder" "$d holds no MNIST"
fresh && rm "$d/train-labels-idx1-ubyte"
refused "no labels" "train-labels-idx1-ubyte .* is missing"
fresh && printf 'PNG!' | dd of="$d/train-images-idx3-ubyte" conv=notrunc 2>/dev/null
refused "wrong magic" "train-images-idx3-ubyte: the magic number at offset 0 is 50 4e 47 21"
fresh && labels x 599 >"$d/train-labels-idx1-ubyte"
refused "one label too few" "train-labels-idx1-ubyte: its header \(offset 4\) says 599 labels, but .* has 600 images"
fresh && head -c 1000 "$d/train-images-idx3-ubyte" >"$tmp/x" && mv "$tmp/x" "$d/train-images-idx3-ubyte"
refused "cut off" "train-images-idx3-ubyte: ends at offset 1000"
fresh && gzip "$d/train-images-idx3-ubyte" && head -c 60 "$d/train-images-idx3-ubyte.gz" >"$tmp/x" &&
    mv "$tmp/x" "$d/train-images-idx3-ubyte.gz"
refused "gzip cut off" "train-images-idx3-ubyte.gz: .*offset [0-9]+"
fresh && printf '\310' | dd of="$d/train-labels-idx1-ubyte" bs=1 seek=108 conv=notrunc 2>/dev/null
refused "a label of 200" "train-labels-idx1-ubyte: label 200 at offset 108"
fresh && printf '\377\377\377\377' | dd of="$d/train-images-idx3-ubyte" bs=1 seek=4 conv=notrunc 2>/dev/null
refused "a size that makes no sense" "train-images-idx3-ubyte: its sizes speak of [0-9]+ bytes"
"$XTRAIN" fit nothing >"$tmp/out" 2>"$tmp/err"
check "an unknown model is a usage error" [ $? = 2 ]
"$XTRAIN" fit mnist --epoch 3 >"$tmp/out" 2>"$tmp/err"
check "an unknown option is a usage error" [ $? = 2 ]
finish
