# Finds a CUDA compiler: TITAN_NVCC, an installed toolkit, or the nvcc wheels that ./dev unpacks.
# Sets TITAN_HAVE_CUDA. Without one, or with -DTITAN_CUDA=OFF, everything but device code builds.
set(TITAN_HAVE_CUDA FALSE)
if(TITAN_CUDA)
  find_program(TITAN_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
               PATHS /usr/local/cuda ${PROJECT_SOURCE_DIR}/.titan/cuda/nvidia/cu13)
  if(TITAN_NVCC)
    set(CMAKE_CUDA_COMPILER ${TITAN_NVCC} CACHE FILEPATH "")
    # Why 17: CMake 3.25 does not know how to ask CUDA 13 for C++20.
    set(CMAKE_CUDA_STANDARD 17)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES 89-real 90a-real 100-real CACHE STRING "")
    endif()
    enable_language(CUDA)
    set(TITAN_HAVE_CUDA TRUE)
  else()
    message(STATUS "No CUDA compiler: device code is left out (./dev build fetches one)")
  endif()
endif()
