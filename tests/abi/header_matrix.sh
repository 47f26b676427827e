#!/bin/sh
# header_matrix.sh SDK_INCLUDE TORCH_INCLUDE COMPILER: compiles every SDK header alone and twice with
# one compiler, in every language standard and at every API level it promises, and checks that wrong API levels are refused.
set -eu
include=$1 torch=$2 compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict="-Wall -Wextra -pedantic -Werror -fsyntax-only"
count=0

# try STANDARD LANGUAGE FLAGS...: compiles $work/unit
try() {
  standard=$1 language=$2
  shift 2
  # shellcheck disable=SC2086
  "$compiler" -x "$language" -std="$standard" $strict -I "$include" -isystem "$torch" "$@" "$work/unit" 2>"$work/log"
}
expect_good() {
  if ! try "$@"; then
    echo "FAILED: $compiler -std=$1: $(cat "$work/unit")"
    cat "$work/log"
    exit 1
  fi
  count=$((count + 1))
}

for level in 1 2; do
  at="-DTITAN_API_VERSION=$level"
  for header in $(cd "$include" && find titan -name '*.h' | sort); do
    # The declaration: ISO C forbids a file without any, which version.h alone would be.
    printf '#include <%s>\n#include <%s>\nint declared;\n' "$header" "$header" >"$work/unit"
    for standard in c99 c11 c17; do expect_good $standard c "$at"; done
    for standard in c++17 c++20; do expect_good $standard c++ "$at"; done
  done
  for header in $(cd "$include" && find titan -name '*.hpp' | sort); do
    printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$work/unit"
    # Tier exact is LibTorch's own headers, which refuse a target version.
    case $header in
      */torch_exact.hpp) target="" ;;
      *) target=-DTORCH_TARGET_VERSION=0x020a000000000000 ;;
    esac
    for standard in c++17 c++20; do
      # shellcheck disable=SC2086
      expect_good $standard c++ "$at" $target
    done
  done
done

# The examples in the headers' first comments are whole plugins.
sed -n '/\[example\]/,/\[\/example\]/{/example\]/!s/^ \* \{0,1\}//p}' "$include/titan/titan_sdk.h" >"$work/unit"
test "$(wc -l <"$work/unit")" -gt 10
for standard in c99 c11 c17; do expect_good $standard c; done
sed -n '/\[example\]/,/\[\/example\]/{/example\]/!s/^\/\/\/ \{0,1\}//p}' "$include/titan/titan_sdk.hpp" >"$work/unit"
test "$(wc -l <"$work/unit")" -gt 10
for standard in c++17 c++20; do expect_good $standard c++ -DTORCH_TARGET_VERSION=0x020a000000000000; done

# A level that these headers do not describe must not compile; the one they do must.
echo '#include <titan/titan_sdk.h>' >"$work/unit"
for level in 1 2; do expect_good c11 c -DTITAN_API_VERSION=$level; done
for level in 0 3 99; do
  if try c11 c -DTITAN_API_VERSION=$level; then
    echo "FAILED: TITAN_API_VERSION=$level was accepted"
    exit 1
  fi
done
echo "$count compilations with $compiler"
