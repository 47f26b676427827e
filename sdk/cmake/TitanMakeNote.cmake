# cmake -DJSON=plugin.json -DHEADER=titan_note.h [-DTORCH_BUILD=text] -P TitanMakeNote.cmake
# Checks that the metadata is one JSON object with the mandatory members and writes it as a header
# that defines the ELF note. Bytes, not a string literal: C limits literals to 4095 characters.
cmake_minimum_required(VERSION 3.19)
file(READ ${JSON} _text)
foreach(_member name version api_min api_built tier converters)
  string(JSON _value ERROR_VARIABLE _error GET "${_text}" ${_member})
  if(_error)
    message(FATAL_ERROR "${JSON}: ${_error} (member \"${_member}\" is mandatory)")
  endif()
endforeach()
if(TORCH_BUILD)
  string(JSON _text SET "${_text}" torch_build "\"${TORCH_BUILD}\"")
  set(JSON ${HEADER}.json)
  file(WRITE ${JSON} "${_text}")
endif()
file(READ ${JSON} _hex HEX)
string(LENGTH "${_hex}" _digits)
math(EXPR _size "${_digits} / 2")
if(_size GREATER 65536)
  message(FATAL_ERROR "${JSON}: ${_size} bytes; a note holds at most 65536")
endif()
math(EXPR _padded "(${_size} + 3) / 4 * 4")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," _bytes "${_hex}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" _bytes "${_bytes}")
file(WRITE ${HEADER} "/* Generated from plugin.json by titan_add_plugin. */
#include <stdint.h>
static const struct {
  uint32_t namesz, descsz, type;
  char name[8];
  unsigned char desc[${_padded}];
} titan_note __attribute__((section(\".note.titan\"), aligned(4), used)) = {
  6u, ${_size}u, 1u, \"titan\", {
${_bytes}
}};
")
