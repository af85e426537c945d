#!/bin/sh
# Shows which of the packages xtrain builds with are missing, and how large they are, and installs them. Nothing is
# missing: nothing is asked, and no root is needed. YES=1 (or CI) answers the question; a system without Debian's
# packages gets the list and goes on. DEV=1: what `make format` needs as well (165 MB with LLVM's libraries, so users
# are not asked); WHEEL=1: what `make wheel` needs.
set -eu
packages="gcc libc6-dev meson ninja-build pkg-config libdnnl-dev libcmocka-dev libcjson-dev libpng-dev zlib1g-dev"
packages="$packages libzstd-dev libdw-dev libopenblas0-openmp libpcre2-dev libutf8proc-dev libsodium-dev"
[ "${DEV:-}" != 1 ] || packages="$packages clang-format-14 git"
[ "${WHEEL:-}" != 1 ] || packages="$packages patchelf binutils libopenblas-openmp-dev gfortran"

if ! command -v dpkg-query >/dev/null 2>&1; then
    cat <<TEXT
This is no Debian system, so nothing is installed. xtrain needs gcc (or clang), meson, ninja, pkg-config and the
development files of oneDNN 2.6 or later (libdnnl), cmocka, cJSON, libpng, zlib, zstd, elfutils (libdw), PCRE2,
utf8proc, libsodium, and OpenBLAS (opened when a program needs it); libmicrohttpd (xtrain generate --serve) and
libjpeg-turbo (JPEG pictures) are optional.
On Debian they are: $packages
TEXT
    exit 0
fi

missing=
for p in $packages; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
# A tool that is there by another way (meson from pip, say) is as good.
kept=
for p in $missing; do
    case $p in
        ninja-build) command -v ninja >/dev/null 2>&1 && continue ;;
        clang-format-14) clang-format --version 2>/dev/null | grep -q 'version 14[.]' && continue ;;
        git) command -v git >/dev/null 2>&1 && continue ;;
        meson | gcc | pkg-config) command -v "$p" >/dev/null 2>&1 && continue ;;
    esac
    kept="$kept $p"
done
missing=$kept
[ -n "$missing" ] || exit 0
# optional: asked for beside others, never alone (xtrain generate --serve; JPEG pictures in datasets)
missing="$missing libmicrohttpd-dev libjpeg62-turbo-dev"

root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "missing:$missing
root is needed to install them: apt-get install$missing" >&2; exit 1; }
    root=sudo
fi
for p in $missing; do # a new machine has no package lists yet
    apt-cache policy "$p" 2>/dev/null | grep -q 'Candidate: [^(]' || { $root apt-get update -qq || true; break; }
done
echo "xtrain needs these Debian packages that are not installed:$missing"
LC_ALL=C apt-get install --no-install-recommends --assume-no $missing 2>/dev/null |
    grep -E '^(Need to get|After this operation)' || true
if [ "${YES:-}" != 1 ] && [ -z "${CI:-}" ]; then
    if [ ! -t 0 ]; then
        echo "no terminal to ask on: run with YES=1 to install them" >&2
        exit 1
    fi
    printf 'install them now? [Y/n] '
    read -r answer
    case $answer in [nN]*) exit 1 ;; esac
fi
DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing \
    >/tmp/xtrain-deps.log 2>&1 || {
    cat /tmp/xtrain-deps.log >&2
    exit 1
}
echo "installed."
