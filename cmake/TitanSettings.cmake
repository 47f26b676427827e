# Language level, warnings and the helper that declares one room of host/.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(TITAN_CCACHE ccache)
if(TITAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TITAN_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TITAN_CCACHE})
endif()
find_program(TITAN_MOLD mold)
if(TITAN_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(titan_warnings INTERFACE)
target_compile_options(titan_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Werror=return-type -Werror=unused-result>)

if(TITAN_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=address,undefined>
                      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=address,undefined)
endif()
if(TITAN_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage, which guides the fuzzers
endif()

# titan_room(NAME SOURCES... DEPENDS...): one room of host/ as the static library titan_NAME.
# Include order is the link order: a room depends only on rooms listed before it in host/CMakeLists.txt.
function(titan_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(titan_${name} STATIC ${ARG_SOURCES})
  target_include_directories(titan_${name} PUBLIC ${PROJECT_SOURCE_DIR}/host)
  target_link_libraries(titan_${name} PUBLIC ${ARG_DEPENDS} PRIVATE titan_warnings)
  set_target_properties(titan_${name} PROPERTIES UNITY_BUILD ${TITAN_UNITY} UNITY_BUILD_BATCH_SIZE 6)
endfunction()
