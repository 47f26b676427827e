# titan_find_library(NAME HEADER LIBRARY PACKAGE): the target titan_NAME for a C library of the system that
# brings no CMake package; PACKAGE is its Debian name.
function(titan_find_library name header library package)
  find_path(TITAN_${name}_INCLUDE ${header})
  find_library(TITAN_${name}_LIBRARY ${library})
  if(NOT TITAN_${name}_INCLUDE OR NOT TITAN_${name}_LIBRARY)
    message(FATAL_ERROR "${header} or lib${library} was not found.\n"
      "Install ${package} (`./dev build` does), or pass -DTITAN_${name}_INCLUDE=FOLDER and "
      "-DTITAN_${name}_LIBRARY=FILE.")
  endif()
  mark_as_advanced(TITAN_${name}_INCLUDE TITAN_${name}_LIBRARY)
  add_library(titan_${name} INTERFACE)
  target_include_directories(titan_${name} SYSTEM INTERFACE ${TITAN_${name}_INCLUDE})
  target_link_libraries(titan_${name} INTERFACE ${TITAN_${name}_LIBRARY})
endfunction()
