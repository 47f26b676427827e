#!/usr/bin/env bash
# Checks the float8 plugin on a GPU; see --help.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: scripts/device_check.sh [options]

Builds the float8 plugin and a driver for the GPU of this machine, and finds out what holds there and how fast it is:
casts bit for bit, layers and products against reference data, training in every recipe, that nothing waits for the
device, and speed against bfloat16, torch's own fp8 products and the predictions of titan plan. Prints a line for each
finding; all numbers go to one JSON file.

  --json FILE       the report, written after every part; default: device_check.json
  --seconds N       for everything, building included; default: 240. What no longer fits is left out, and said so.
  --only PARTS      of casts,layers,training,recording,kernels,speed, separated by commas; default: all
  --torch DIR       LibTorch (the folder with include/ and lib/); default: that of python3
  --build-dir DIR   default: build/device_check
  --jobs N          compilers at once; default: one a core
  --build-only      build and stop; needs no GPU, but --arch
  --arch X.Y        compute capability to build for; default: that of CUDA device 0

Needs nvcc (CUDA 12.9 or newer), g++ with C++20, CMake 3.24, Ninja or make, and LibTorch with CUDA. Fetches nothing.

Exit status: 0 all held; 1 something did not hold, was left out for lack of time, or did not build; 2 usage;
3 something that is needed is missing; 77 there is no GPU.
TEXT
}

fail() {  # STATUS WHAT HINT
  printf 'error: %s\n  fix: %s\n' "$2" "$3" >&2
  exit "$1"
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
json=device_check.json seconds=240 only='' torch='' build=$root/build/device_check jobs=$(nproc) build_only='' arch=''
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage; exit 0 ;;
    --build-only) build_only=yes; shift; continue ;;
    --json | --seconds | --only | --torch | --build-dir | --jobs | --arch)
      [ $# -gt 1 ] || fail 2 "$1 lacks its value" "see scripts/device_check.sh --help" ;;
    *) fail 2 "there is no option '$1'" "see scripts/device_check.sh --help" ;;
  esac
  case $1 in
    --json) json=$2 ;;
    --seconds) seconds=$2 ;;
    --only) only=$2 ;;
    --torch) torch=$2 ;;
    --build-dir) build=$2 ;;
    --jobs) jobs=$2 ;;
    --arch) arch=$2 ;;
  esac
  shift 2
done
for number in "$seconds" "$jobs"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || fail 2 "'$number' is no whole number above 0" "see scripts/device_check.sh --help"
done
[ -z "$arch" ] || [[ $arch =~ ^[0-9]+\.[0-9]$ ]] || fail 2 "--arch takes a compute capability such as 9.0, found '$arch'" "see --help"
left() { echo $((seconds - SECONDS)); }

compiler=$(command -v "${CXX:-g++}") || fail 3 "there is no ${CXX:-g++}" "install g++ 12 or newer, or name a compiler in CXX"
mkdir -p "$build" || fail 3 "$build cannot be made" "name another folder with --build-dir"
build=$(cd "$build" && pwd)

# The GPU first: without one nothing else is worth its time.
if [ -z "$arch" ]; then
  "$compiler" -std=c++20 -O1 "$root/tests/device/standalone/gpu_probe.cpp" -o "$build/gpu_probe" -ldl ||
    fail 3 "$compiler cannot build a small C++20 program" "install g++ 12 or newer, or name a compiler in CXX"
  found=$("$build/gpu_probe")
  status=$?
  if [ $status -eq 77 ] && [ -z "$build_only" ]; then
    echo "no GPU: $found. Nothing was checked." >&2
    exit 77
  fi
  [ $status -eq 0 ] || fail 2 "--build-only needs --arch here: $found" "say for which GPU to build, as in --arch 9.0"
  arch=$found
fi
architecture=${arch/./}
[ "$architecture" = 90 ] && architecture=90a
[ "${arch%.*}" -ge 9 ] || [ "$arch" = 8.9 ] ||
  fail 2 "compute capability $arch has no fp8" "run this on a GPU of compute capability 8.9, 9.0 or newer"

nvcc=''
for candidate in "${CUDA_HOME:-}/bin/nvcc" "${CUDA_PATH:-}/bin/nvcc" "$(command -v nvcc)" /usr/local/cuda/bin/nvcc; do
  [ -z "$nvcc" ] && [ -x "$candidate" ] && nvcc=$candidate
done
[ -n "$nvcc" ] || fail 3 "there is no nvcc" "install the CUDA toolkit 12.9 or newer, or set CUDA_HOME"
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
read -r major minor <<<"$release"
[ $((100 * ${major:-0} + ${minor:-0})) -ge 1209 ] ||
  fail 3 "$nvcc is CUDA ${major:-?}.${minor:-?}, and 12.9 or newer is needed" "install a newer CUDA toolkit, or set CUDA_HOME to one"

home=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
[ -n "$(find -L "$home" -name libcudart_static.a -print -quit)" ] ||
  fail 3 "the toolkit of $nvcc has no libcudart_static.a" "install the whole CUDA toolkit, or set CUDA_HOME to one"

command -v cmake >/dev/null || fail 3 "there is no cmake" "install CMake 3.24 or newer"
if command -v ninja >/dev/null; then
  generator=Ninja
elif command -v make >/dev/null; then
  generator='Unix Makefiles'
else
  fail 3 "there is neither ninja nor make" "install one of them"
fi
if [ -z "$torch" ]; then
  torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null) ||
    fail 3 "python3 has no torch" "install torch with CUDA, or name LibTorch's folder with --torch"
fi
if ! [ -e "$torch/include/ATen/core/TensorBody.h" ] || ! [ -e "$torch/lib/libtorch_cpu.so" ]; then
  fail 3 "$torch is no LibTorch: include/ATen/core/TensorBody.h or lib/libtorch_cpu.so is missing" "name the folder with include/ and lib/ with --torch"
fi
[ -n "$build_only" ] || [ -e "$torch/lib/libtorch_cuda.so" ] ||
  fail 3 "the LibTorch in $torch has no CUDA: lib/libtorch_cuda.so is missing" "install the CUDA build of torch"

# A toolkit without cuBLAS will do if the libraries that torch brings have its header.
flags=''
if [ -z "$(find -L "$home" -name cublasLt.h -print -quit)" ]; then
  header=$(find -L "$torch/../nvidia" -name cublasLt.h -print -quit 2>/dev/null)
  [ -n "$header" ] || fail 3 "cublasLt.h is neither in the toolkit of $nvcc nor beside torch" "install the whole CUDA toolkit, or the wheel nvidia-cublas"
  flags="-idirafter $(dirname "$header")"
fi

echo "building for compute capability $arch with CUDA $major.$minor, torch in $torch, $jobs at once"
log=$build/build.log
# Half a minute is kept to run what matters most.
limit=$(($(left) - 30))
[ -n "$build_only" ] || [ "$limit" -gt 0 ] || fail 1 "$seconds s are too few to build and run anything" "give it more with --seconds"
[ -z "$build_only" ] || limit=0
if ! { timeout "$limit" cmake -S "$root" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=Release -DTITAN_DEVICE_CHECK=ON \
  -DTITAN_TORCH_ROOT="$torch" -DTITAN_NVCC="$nvcc" -DCMAKE_CUDA_ARCHITECTURES="$architecture-real" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CUDA_HOST_COMPILER="$compiler" &&
  timeout "$limit" cmake --build "$build" --parallel "$jobs" --target device_check float8; } >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  [ -n "$build_only" ] || [ "$(left)" -gt 30 ] || fail 1 "building did not end in time" "give it more with --seconds, or build before with --build-only"
  fail 1 "it did not build; the whole log is $log" "mend the first error above"
fi
build_seconds=$SECONDS
echo "built in $build_seconds s"
[ -z "$build_only" ] || exit 0

rm -f "$json"
run=("$build/bin/device_check" --plugin "$build/lib/titan/plugins/float8.so" --json "$json" --build-seconds "$build_seconds")
[ -z "$only" ] || run+=(--only "$only")
# A fault in a kernel ends what a process can do on a GPU: the parts after it get a process of their own.
resume=no
while :; do
  [ "$(left)" -gt 5 ] || fail 1 "the time is over" "give it more with --seconds; what was found until now is in $json"
  timeout "$(left)" "${run[@]}" --seconds "$(($(left) - 3))" --resume "$resume"
  status=$?
  if [ $status -eq 124 ]; then
    echo "stopped: the time was over. What was found until then is in $json." >&2
    exit 1
  fi
  [ $status -eq 70 ] || [ $status -gt 128 ] || exit $status
  # Dying before the first part would come again.
  [ -e "$json" ] || fail 1 "the driver died with status $status before its first part" "run ${run[*]} by hand"
  echo "the driver died with status $status; it goes on after the part it died in" >&2
  resume=yes
done
