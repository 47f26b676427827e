# titan_add_plugin(NAME SOURCES... [METADATA plugin.json] [TORCH_STABLE | TORCH_EXACT] [LIBRARIES...] [OUTPUT_DIRECTORY dir])
#
# Builds NAME.so the way the contract asks: hidden symbols, one exported function, no LibTorch among
# its needs, no executable stack. METADATA is checked and turned into the header <titan_note.h>, which
# the source that defines register_converters includes in place of TITAN_NOTE("..."). Its "api_built" is the
# API level that the sources are compiled for (TITAN_API_VERSION).
# TORCH_EXACT (tier exact) gives all headers of LibTorch and writes into the note which build they are
# of ("torch_build"): only a titan on that very build loads the plugin.
# TORCH_STABLE adds the include folder of torch's stable headers (tier stable): Torch_INCLUDE or the
# variable TITAN_TORCH_INCLUDE_DIR must name it.

include(${CMAKE_CURRENT_LIST_DIR}/TitanTorchBuild.cmake)

function(titan_add_plugin name)
  cmake_parse_arguments(ARG "TORCH_STABLE;TORCH_EXACT" "METADATA;OUTPUT_DIRECTORY" "SOURCES;LIBRARIES" ${ARGN})
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "titan_add_plugin(${name}): unknown arguments ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  add_library(${name} MODULE ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES
    PREFIX "" SUFFIX ".so" C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
    CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  if(ARG_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY})
  endif()
  target_link_libraries(${name} PRIVATE Titan::SDK ${ARG_LIBRARIES})
  target_link_options(${name} PRIVATE
    -Wl,--version-script,${CMAKE_CURRENT_FUNCTION_LIST_DIR}/titan_plugin.version
    -Wl,--exclude-libs,ALL -Wl,-z,noexecstack -Wl,--as-needed)
  set_property(TARGET ${name} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/titan_plugin.version)
  set(_torch_build "")
  if((ARG_TORCH_STABLE OR ARG_TORCH_EXACT) AND NOT TITAN_TORCH_INCLUDE_DIR)
    message(FATAL_ERROR "titan_add_plugin(${name}): LibTorch's headers were not found; name the folder that holds their include/ "
                        "with -DTITAN_TORCH_ROOT=DIR, or install torch for python3")
  endif()
  if(ARG_TORCH_EXACT)
    titan_torch_build(${TITAN_TORCH_INCLUDE_DIR} _torch_build)
    # The symbols come from the titan that loads it; linking LibTorch would bring a second one.
    target_include_directories(${name} SYSTEM PRIVATE
      ${TITAN_TORCH_INCLUDE_DIR} ${TITAN_TORCH_INCLUDE_DIR}/torch/csrc/api/include)
    target_compile_definitions(${name} PRIVATE FMT_HEADER_ONLY=1)
  elseif(ARG_TORCH_STABLE)
    target_include_directories(${name} SYSTEM PRIVATE ${TITAN_TORCH_INCLUDE_DIR})
    # The oldest LibTorch the plugin runs on; newer functions of the headers are not declared.
    target_compile_definitions(${name} PRIVATE TORCH_TARGET_VERSION=0x020a000000000000)
  else()
    target_link_options(${name} PRIVATE -Wl,-z,defs)
  endif()
  if(ARG_METADATA)
    get_filename_component(_json ${ARG_METADATA} ABSOLUTE)
    set(_dir ${CMAKE_CURRENT_BINARY_DIR}/${name}_note)
    set(_header ${_dir}/titan_note.h)
    add_custom_command(OUTPUT ${_header}
      COMMAND ${CMAKE_COMMAND} -DJSON=${_json} -DHEADER=${_header} "-DTORCH_BUILD=${_torch_build}" -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/TitanMakeNote.cmake
      DEPENDS ${_json} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/TitanMakeNote.cmake VERBATIM)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_json})
    file(READ ${_json} _text)
    string(JSON _level ERROR_VARIABLE _error GET "${_text}" api_built)  # TitanMakeNote says what is wrong with it
    if(NOT _error)
      target_compile_definitions(${name} PRIVATE TITAN_API_VERSION=${_level})
    endif()
    target_sources(${name} PRIVATE ${_header})
    target_include_directories(${name} PRIVATE ${_dir})
  endif()
endfunction()

# titan_install_plugin(NAME [COMPONENT name]): an install rule to lib/titan/plugins of the prefix.
# By rename: a trainer that runs has the old file mapped, and one that starts finds the old file or the
# new one, never a part of it.
function(titan_install_plugin name)
  cmake_parse_arguments(ARG "" "COMPONENT" "" ${ARGN})
  set(_component "")
  if(ARG_COMPONENT)
    set(_component COMPONENT ${ARG_COMPONENT})
  endif()
  set(_folder lib/titan/plugins)
  install(TARGETS ${name} LIBRARY DESTINATION ${_folder}/.new ${_component})
  install(CODE "
    set(_titan_folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${_folder}\")
    file(RENAME \"\${_titan_folder}/.new/${name}.so\" \"\${_titan_folder}/${name}.so\")
    file(GLOB _titan_rest \"\${_titan_folder}/.new/*\")
    if(NOT _titan_rest)
      file(REMOVE_RECURSE \"\${_titan_folder}/.new\")
    endif()
    list(TRANSFORM CMAKE_INSTALL_MANIFEST_FILES REPLACE \"/${_folder}/\\\\.new/\" \"/${_folder}/\")" ${_component})
endfunction()
