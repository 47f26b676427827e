# Target titan_torch: LibTorch as headers + libtorch_cpu + libc10.
#
# Why not find_package(Torch): the config file of a CUDA wheel stops with an error on a machine
# without a CUDA toolkit, although nothing of it is needed to compile and run on the CPU.
# libtorch_cuda is opened at run time, only when a CUDA device is asked for.
#
# Found in this order: TITAN_TORCH_ROOT (the folder with include/ and lib/), Torch_DIR,
# CMAKE_PREFIX_PATH, the virtual environment that ./dev makes.
set(TITAN_TORCH_ROOT "" CACHE PATH "LibTorch: the folder that holds include/ and lib/")

set(_hints ${TITAN_TORCH_ROOT})
if(Torch_DIR)
  list(APPEND _hints ${Torch_DIR}/../../..)
endif()
file(GLOB _venv ${PROJECT_SOURCE_DIR}/.titan/venv/lib/python3*/site-packages/torch)
list(APPEND _hints ${CMAKE_PREFIX_PATH} ${_venv})

unset(_torch_root)
foreach(_hint IN LISTS _hints)
  foreach(_candidate ${_hint} ${_hint}/torch)
    if(NOT _torch_root AND EXISTS ${_candidate}/include/ATen/core/TensorBody.h
       AND EXISTS ${_candidate}/lib/libtorch_cpu.so)
      get_filename_component(_torch_root ${_candidate} REALPATH)
    endif()
  endforeach()
endforeach()
if(NOT _torch_root)
  message(FATAL_ERROR
    "LibTorch was not found (looked in: ${_hints}).\n"
    "Run ./dev build, which makes a virtual environment with torch 2.11.0, or pass "
    "-DTITAN_TORCH_ROOT=/path/to/libtorch (the folder with include/ and lib/).")
endif()

set(TITAN_TORCH_VERSION "")
foreach(_part MAJOR MINOR PATCH)
  file(STRINGS ${_torch_root}/include/torch/headeronly/version.h _line REGEX "define TORCH_VERSION_${_part} ")
  string(REGEX REPLACE ".* ([0-9]+).*" "\\1" _number "${_line}")
  string(APPEND TITAN_TORCH_VERSION "${_number}.")
endforeach()
string(REGEX REPLACE "\\.$" "" TITAN_TORCH_VERSION "${TITAN_TORCH_VERSION}")
message(STATUS "LibTorch ${TITAN_TORCH_VERSION} in ${_torch_root}")

add_library(titan_torch INTERFACE)
target_include_directories(titan_torch SYSTEM INTERFACE
  ${_torch_root}/include ${_torch_root}/include/torch/csrc/api/include)
target_link_libraries(titan_torch INTERFACE ${_torch_root}/lib/libtorch_cpu.so ${_torch_root}/lib/libc10.so)
target_compile_definitions(titan_torch INTERFACE FMT_HEADER_ONLY=1)
# at::parallel_for is a template: compiled without OpenMP it runs on one thread, in silence. At run time
# the name libgomp.so.1 is found in torch's folder first, so that all share one pool of threads.
target_compile_options(titan_torch INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fopenmp>)
target_link_options(titan_torch INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fopenmp>)
# The wheel's libraries find each other through their own RUNPATH; the linker is told not to check.
target_link_options(titan_torch INTERFACE -Wl,--allow-shlib-undefined -Wl,-rpath,${_torch_root}/lib)

# Headers only, for plugins of tier stable: they link no LibTorch.
add_library(titan_torch_headers INTERFACE)
target_include_directories(titan_torch_headers SYSTEM INTERFACE ${_torch_root}/include)
set(TITAN_TORCH_INCLUDE_DIR ${_torch_root}/include)
include(${PROJECT_SOURCE_DIR}/sdk/cmake/TitanTorchBuild.cmake)
titan_torch_build(${TITAN_TORCH_INCLUDE_DIR} TITAN_TORCH_BUILD)
