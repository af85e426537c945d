#!/bin/bash
# Meshes: the same losses on 1, 2 and 4 devices, data parallel, fully sharded, tensor parallel and mixed; each device
# holds its share; mistakes name the line.
. "$(dirname "$0")/lib.sh"
export XT_SUMMARY=off
losses() { sed -nE 's/.*step ([0-9]+) loss ([-0-9.e+]+)$/\1 \2/p' "$1"; }
parameters() {
    sed -nE 's/.*on this device: ([0-9]+) of ([0-9]+) bytes of parameters, ([0-9]+) of optimizer.*/\1/p' "$1"
}
CPU_NUM_DEVICES=1 "$BUILD/mesh" 1 1 >"$tmp/one" 2>"$tmp/out"
check "one device" [ $? = 0 ]
check "it learns" awk 'NR == 1 {a = $2} {b = $2} END {exit !(NR == 20 && b < a - 0.5)}' <(losses "$tmp/one")
whole=$(parameters "$tmp/one")
while read -r devices data tensor fsdp most; do
    name="$data x $tensor $fsdp on $devices devices"
    # shellcheck disable=SC2086
    CPU_NUM_DEVICES=$devices "$BUILD/mesh" $data $tensor ${fsdp#-} >"$tmp/many" 2>"$tmp/out"
    check "$name" [ $? = 0 ]
    near='NR == FNR {a[$1] = $2; next} {d = $2 - a[$1]; if (d < 0) d = -d; if (!($1 in a) || d > 1e-5 * (a[$1] + 1)) '
    near+='bad = 1} END {exit bad || FNR != 20}'
    check "$name: the losses of one device to 1e-5" awk "$near" <(losses "$tmp/one") <(losses "$tmp/many")
    check "$name: a device holds at most $most % of the parameters" \
        [ $(($(parameters "$tmp/many") * 100)) -le $((whole * most)) ]
done <<END
2 2 1 - 100
4 4 1 fsdp 30
2 1 2 - 60
4 2 2 fsdp 30
END
# Op by op: as many small programs as ops, of whole values between them (it took minutes a step when each went back to
# the step's inputs).
CPU_NUM_DEVICES=2 XT_DEBUG=eager timeout 400 "$BUILD/mesh" 2 1 fsdp >"$tmp/many" 2>"$tmp/out"
check "op by op on a mesh" [ $? = 0 ]
near='NR == FNR {a[$1] = $2; next} {d = $2 - a[$1]; if (d < 0) d = -d; if (!($1 in a) || d > 1e-5 * (a[$1] + 1)) bad '
near+='= 1} END {exit bad || FNR != 20}'
check "op by op: the same losses to 1e-5" awk "$near" <(losses "$tmp/one") <(losses "$tmp/many")
CPU_NUM_DEVICES=2 "$BUILD/mesh" 3 1 >"$tmp/o" 2>"$tmp/out"
check "a mesh larger than the run is refused" [ $? != 0 ]
check "with the line" \
    grep -qE 'mesh.c:[0-9]+: xt_mesh_new: the mesh data=3,tensor=1 needs 3 devices, the run has 2' "$tmp/out"
finish
