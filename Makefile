# A thin front for Meson + ninja. `make help` lists the targets.
BUILD ?= build
DATA ?=
EPOCHS ?= 3
DEVICE ?=
PEERS ?=
BENCH ?=
FIGURES ?= $(BUILD)/bench.json
PICTURE ?= $(BUILD)/steps.png
OPTIONS ?=
KIT ?=
CROSS ?=
TESTS ?= unit
export YES

.DEFAULT_GOAL := all
.PHONY: wheel device-kit all help deps mnist test test-slow test-device bench bench-programs install format form clean
.PHONY: bench-generate bench-lora
.PHONY: asan tsan coverage docs

help:
	@sed -n 's/^## //p' Makefile

## make              builds (needs meson, ninja and the libraries; `make deps` installs them)
##                   (OPTIONS="-Dwerror=true ...": Meson's options; CROSS=aarch64: for that processor, into
##                   build-aarch64, by Debian's gcc-aarch64-linux-gnu and a sysroot of Debian's packages)
all:
	@$(if $(CROSS),tools/cross.sh $(CROSS) build-$(CROSS),tools/build.sh $(BUILD)) $(OPTIONS)

## make deps         shows what is missing from Debian's packages and how large it is, and installs it
##                   (YES=1: without asking)
deps:
	@tools/deps.sh

## make mnist        sets up, builds, trains the MNIST network; DATA=DIR trains on the IDX files there, EPOCHS=N
mnist: deps all
	@$(BUILD)/xtrain fit mnist --epochs $(EPOCHS) $(if $(DATA),--data $(DATA))

## make test         sets up, builds and runs every test that needs no second machine
test: deps all
	@tests/run.sh $(BUILD) unit cli examples conformance layers

## make test-slow    what takes longer or needs packages from PyPI: other plugins, peers, ThreadSanitizer, clang,
##                   Ray, long runs
test-slow: deps all
	@tests/run.sh $(BUILD) slow

## make test-device  the device suite against another device: DEVICE=TPU, CUDA or the path of a PJRT plugin
test-device: deps all
	@tests/run.sh $(BUILD) device:$(DEVICE)

## make asan         the unit tests and command-line tests under AddressSanitizer and UBSan
asan: deps
	@tools/build.sh build-asan -Db_sanitize=address,undefined -Db_lundef=false $(OPTIONS)
	@tests/run.sh build-asan unit cli examples

## make tsan         the threaded tests under ThreadSanitizer
tsan: deps
	@tests/run.sh $(BUILD) slow:tsan

## make docs         the reference of the public headers and the documents as HTML, in BUILD/docs (needs doxygen)
docs:
	@tools/docs.sh $(BUILD)/docs

## make coverage     which lines the tests execute, by folder, forked ranks among them
##                   (TESTS="unit cli": other than the unit tests; LIST=src/coll names files)
coverage: deps
	@tools/coverage.sh build-coverage $(TESTS)

## make device-kit   packs what a bare machine with a GPU or TPU needs to run the device suite, fits, benchmarks and
##                   peers there (doc/gpu.md): BUILD/device-kit.tar.xz (needs Debian's patchelf; KIT=--no-cpu:
##                   without our CPU compiler)
device-kit: deps all
	@python3 tools/device_kit.py $(BUILD) $(KIT)

## make bench        all benchmarks in one run, figures to build/bench.json (FIGURES=FILE); options: BENCH="--quick ..."
##                   PEERS=1 runs PyTorch and JAX beside it (installed into build/peers once; PEERS=DIR: in DIR, by
##                   bench/peers/setup.sh), prints the tables of doc/benchmarks.md, draws build/steps.png (PICTURE=FILE)
peers_dir = $(if $(filter 1,$(PEERS)),$(BUILD)/peers,$(PEERS))
with_steps = $(if $(findstring --only,$(BENCH)),$(findstring steps,$(BENCH)),steps)
bench: deps all
	@$(if $(findstring --json,$(BENCH)),$(error BENCH has --json: name the file of figures by FIGURES=FILE))
	@$(if $(filter 1,$(PEERS)),bench/peers/setup.sh $(BUILD)/peers)
	@$(BUILD)/xtrain_bench $(if $(PEERS),--peers $(peers_dir)) --json $(FIGURES) $(BENCH)
	@$(if $(PEERS),$(if $(with_steps),$(BUILD)/steps_chart $(FIGURES) --table --png $(PICTURE)))

## make bench-programs  some 280 JAX programs on XLA's CPU compiler and on the plugin, in turns in one process, by
##                   JAX_PYTHON, a Python with JAX (options: PROGRAMS="--family reductions ...", "--help")
bench-programs: wheel
	@bench/programs/run.sh $(BUILD) $(PROGRAMS)

## make bench-generate  tokens a second beside llama.cpp (LLAMA_PYTHON) and transformers (HF_PYTHON); make bench-lora: a
##                   LoRA step beside transformers and peft (options: GENERATE="...", LORA="..."; bench/generate/)
HF_PYTHON ?= python3
bench-generate: deps all
	@$(HF_PYTHON) bench/generate/run.py $(BUILD)/xtrain $(GENERATE)
bench-lora: deps all
	@$(HF_PYTHON) bench/generate/run.py $(BUILD)/xtrain --shapes llama --sides xtrain --make
	@$(HF_PYTHON) bench/generate/lora.py $(BUILD)/xtrain $(LORA)

## make install      library, headers, plugin, command, pkg-config and CMake files, man page (PREFIX by
##                   `meson configure`, DESTDIR works)
install: all
	@meson install -C $(BUILD) --no-rebuild

## make wheel        the Python package xtrain-pjrt for JAX and PyTorch/XLA, with the libraries it needs,
##                   into BUILD/wheel
wheel: deps all
	@WHEEL=1 tools/deps.sh
	@python3 tools/wheel.py $(BUILD)

## make format       clang-format over the sources, lines of at most 120 columns (DEV=1 make deps installs it)
format:
	@tools/format.sh

## make form         what CI asks of the form: installs clang-format, then says what `make format` would change
form:
	@DEV=1 tools/deps.sh
	@tools/format.sh --check

## make clean        removes the build folders
clean:
	@rm -rf build build-asan build-tsan build-clang build-coverage build-aarch64
