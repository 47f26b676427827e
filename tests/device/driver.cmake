# The driver's program, for the tree and for the build that scripts/device_check.sh makes. Two halves, as LibTorch's full
# headers and the plugin's (its stable ones alone) do not go into one source.
set(_here ${CMAKE_CURRENT_LIST_DIR})

add_library(device_check_float8 OBJECT ${_here}/matrices.cpp ${_here}/facts.cpp ${_here}/casts.cpp ${_here}/layers.cpp
  ${_here}/layer_recording.cpp ${_here}/kernels_speed.cpp ${_here}/layers_speed.cpp)
target_link_libraries(device_check_float8 PRIVATE float8_objects titan_warnings)
target_include_directories(device_check_float8 PRIVATE ${_here} ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/host)
# As the plugin's own: what the two have inline must not differ.
set_target_properties(device_check_float8 PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_compile_options(device_check_float8 PRIVATE -ffp-contract=off)

add_library(device_check_model OBJECT ${_here}/json.cpp ${_here}/report.cpp ${_here}/reference.cpp ${_here}/platform.cpp
  ${_here}/plugin_file.cpp ${_here}/reference_model.cpp ${_here}/training.cpp ${_here}/model_recording.cpp ${_here}/main.cpp)
target_link_libraries(device_check_model PUBLIC titan_converters titan_optim titan_plugins titan_model titan_base titan_torch
  PRIVATE titan_warnings)
target_include_directories(device_check_model PRIVATE ${_here} ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(device_check_model PRIVATE TITAN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
set_target_properties(device_check_model PROPERTIES UNITY_BUILD ${TITAN_UNITY} UNITY_BUILD_BATCH_SIZE 3)

# The program that needs a GPU. Of the room train only the search for the device: it has no other needs.
add_executable(device_check ${_here}/cuda_platform.cpp ${PROJECT_SOURCE_DIR}/host/train/cuda_facts.cpp ${PROJECT_SOURCE_DIR}/host/train/device.cpp
  $<TARGET_OBJECTS:device_check_float8> $<TARGET_OBJECTS:float8_objects> $<TARGET_OBJECTS:float8_gpu_objects>)
target_link_libraries(device_check PRIVATE device_check_model CUDA::cudart_static titan_warnings)
target_include_directories(device_check PRIVATE ${_here})
