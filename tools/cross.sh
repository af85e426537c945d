#!/bin/sh
# Builds for another processor with Debian's cross compiler, against Debian's packages for that processor in a sysroot:
# a folder of the user's that apt fills from lists and with packages of its own, so that neither root nor a foreign
# architecture in the system's dpkg is needed. What is built runs under qemu-user, which Meson is told of.
# usage: tools/cross.sh ARCH [BUILD_DIR [meson options]]    ARCH: aarch64
#        tools/cross.sh --sysroot ARCH                      makes the sysroot where it is missing, and prints its path
# SYSROOT=DIR: the folder (default: ~/.cache/xtrain-sysroots/ARCH). It is made once; remove it to make it anew.
set -eu
cd "$(dirname "$0")/.."
build=1
[ "${1:-}" != --sysroot ] || { build=0; shift; }
arch=${1:-}
[ $# = 0 ] || shift
case $arch in
    aarch64) debian=arm64 triplet=aarch64-linux-gnu ;;
    *)
        echo "tools/cross.sh: \"$arch\" is no architecture that xtrain is cross-built for; expected: aarch64" >&2
        exit 2
        ;;
esac
# What the build needs, and the OpenBLAS that is opened when a program needs it.
packages="libc6-dev libdnnl-dev libcmocka-dev libcjson-dev libpng-dev zlib1g-dev libzstd-dev libdw-dev libpcre2-dev
libutf8proc-dev libsodium-dev libopenblas0-openmp"
sysroot=${SYSROOT:-${XDG_CACHE_HOME:-$HOME/.cache}/xtrain-sysroots/$arch}

# An apt of its own: lists, state and cache in a folder of the user's, the system's sources and keys.
private_apt() {
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    : >"$1/status"
    cat >"$1/apt.conf" <<TEXT
APT::Architecture "$debian";
APT::Architectures { "$debian"; };
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::State::status "$1/status";
Dir::State::extended_states "$1/extended";
Dir::State::lists "$1/lists";
Dir::Cache "$1/cache";
Debug::NoLocking "true";
TEXT
}

# Several sources may have no packages for this processor, which apt only warns of.
make_sysroot() {
    apt=$sysroot.apt
    parts=$sysroot.parts
    rm -rf "$apt" "$parts"
    mkdir -p "$apt" "$parts"
    trap 'rm -rf "$apt" "$parts"' EXIT
    private_apt "$apt"
    echo "making the sysroot $sysroot: some 50 MB of Debian's packages for $debian" >&2
    # shellcheck disable=SC2086
    {
        APT_CONFIG=$apt/apt.conf apt-get update -qq &&
            APT_CONFIG=$apt/apt.conf apt-get install -qq -y --download-only $packages
    } >"$apt/log" 2>&1 || {
        cat "$apt/log" >&2
        echo "the packages for $debian did not come: is there a network, and do the system's sources (/etc/apt) have \
$debian?" >&2
        exit 1
    }
    for p in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$p" "$parts"; done
    # A link to a path from the root would leave the sysroot.
    find "$parts" -lname '/*' | while IFS= read -r link; do
        up=$(dirname "${link#"$parts"/}" | sed 's|[^/][^/]*|..|g')
        ln -sfn "$up$(readlink "$link")" "$link"
    done
    # Debian's alternatives are links that a package's installation makes.
    for lib in "$parts/usr/lib/$triplet"/openblas-*/libopenblas.so.0; do
        [ ! -e "$lib" ] || ln -sf "${lib#"$parts/usr/lib/$triplet/"}" "$parts/usr/lib/$triplet/libopenblas.so.0"
    done
    mkdir -p "$(dirname "$sysroot")"
    rm -rf "$sysroot"
    mv "$parts" "$sysroot"
}

for tool in apt-get dpkg-deb; do
    command -v $tool >/dev/null 2>&1 || {
        echo "$tool is missing: the sysroot for $arch is made of Debian's packages" >&2
        exit 1
    }
done
command -v $triplet-gcc >/dev/null 2>&1 || {
    echo "the cross compiler $triplet-gcc is missing: apt-get install gcc-$triplet (and qemu-user to run what it \
builds)" >&2
    exit 1
}
[ -e "$sysroot/usr/include/stdio.h" ] || make_sysroot
[ $build = 1 ] || { echo "$sysroot"; exit 0; }

dir=${1:-build-$arch}
[ $# = 0 ] || shift
ccache=
! command -v ccache >/dev/null 2>&1 || ccache="'ccache', "
qemu=$(command -v qemu-$arch || command -v qemu-$arch-static || true)
[ -n "$qemu" ] || echo "qemu-$arch is missing (Debian's qemu-user): what is built runs on $arch machines alone" >&2
cat >"$sysroot/meson.new" <<TEXT
[binaries]
c = [$ccache'$triplet-gcc', '--sysroot=$sysroot']
ar = '$triplet-ar'
strip = '$triplet-strip'
pkgconfig = 'pkg-config'
${qemu:+exe_wrapper = ['$qemu', '-L', '$sysroot']}
[properties]
sys_root = '$sysroot'
pkg_config_libdir = '$sysroot/usr/lib/$triplet/pkgconfig:$sysroot/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$arch'
cpu = '$arch'
endian = 'little'
TEXT
cmp -s "$sysroot/meson.new" "$sysroot/meson.ini" && rm "$sysroot/meson.new" ||
    mv "$sysroot/meson.new" "$sysroot/meson.ini"
exec tools/build.sh "$dir" --cross-file "$sysroot/meson.ini" "$@"
