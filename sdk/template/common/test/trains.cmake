# cmake -DTITAN=titan -DPLUGIN=@NAME@.so -DFOLDER=scratch -P trains.cmake
# Trains a tiny model with and without the plugin and compares the losses.
cmake_minimum_required(VERSION 3.24)
file(REMOVE_RECURSE ${FOLDER})
set(_text "")
foreach(_i RANGE 400)
  math(EXPR _square "${_i} * ${_i}")
  string(APPEND _text "line ${_i}: the quick brown fox, ${_square}\n")
endforeach()
file(WRITE ${FOLDER}/text.txt "${_text}")
file(WRITE ${FOLDER}/tiny.yaml "model:
  args: {dim: 32, n_layers: 2, n_heads: 4, n_kv_heads: 2, vocab_size: 320, multiple_of: 16}
training:
  dataset: text
  dataset_path: \"${FOLDER}/text.txt\"
  local_batch_size: 2
  seq_len: 32
  steps: 8
  device: cpu
optimizer: {lr: 0.01}
metrics: {log_freq: 1}
job: {dump_folder: \"${FOLDER}/out\"}
plugins: {paths: [\"${PLUGIN}\"]}
")

# The losses of steps 1 and 8 of a run with these options.
function(train first last)
  execute_process(COMMAND ${TITAN} train ${FOLDER}/tiny.yaml ${ARGN} RESULT_VARIABLE _status
                  OUTPUT_VARIABLE _output ERROR_VARIABLE _output)
  if(NOT _status EQUAL 0)
    message(FATAL_ERROR "titan train ${ARGN}: status ${_status}\n${_output}")
  endif()
  file(STRINGS ${FOLDER}/out/metrics.jsonl _lines)
  list(GET _lines 0 _line)
  string(JSON _loss GET "${_line}" loss)
  set(${first} ${_loss} PARENT_SCOPE)
  list(GET _lines -1 _line)
  string(JSON _loss GET "${_line}" loss)
  set(${last} ${_loss} PARENT_SCOPE)
  message(STATUS "${ARGN}: ${_line}")
endfunction()

foreach(_type float32 bfloat16)
  train(_stock_first _stock_last --training.mixed_precision_param=${_type})
  train(_first _last --training.mixed_precision_param=${_type} --model.converters=@NAME@)
  # Gains of 1 change nothing: the first step is the stock model's. Then they are trained.
  if(NOT _first STREQUAL _stock_first)
    message(FATAL_ERROR "${_type}: the first loss is ${_first}, without the plugin ${_stock_first}")
  endif()
  if(_last STREQUAL _stock_last)
    message(FATAL_ERROR "${_type}: the last loss is ${_last} with and without the plugin: the gains were not trained")
  endif()
  if(NOT _last LESS _first)
    message(FATAL_ERROR "${_type}: the loss went from ${_first} to ${_last}")
  endif()
endforeach()
