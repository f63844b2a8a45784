# libgpucontainer.a: one object, in which all but the C functions is local, so that
# a program may have parts of its own with the same names. Without grouping, the
# linker would take a program's copy of an inline function for ours; without
# debug information, which is not merged here, it is a tenth as large.
set(static_object ${CMAKE_CURRENT_BINARY_DIR}/gpucontainer.o)
# A precompiled header is no part of it.
list(TRANSFORM library_modules REPLACE "(.+)" "$<FILTER:$<TARGET_OBJECTS:\\1>,EXCLUDE,gch$>"
     OUTPUT_VARIABLE objects)
list(APPEND objects $<TARGET_OBJECTS:gpuctr_syscall>)
add_custom_command(
  OUTPUT ${static_object}
  COMMAND ${CMAKE_CXX_COMPILER} -r -nostdlib -Wl,--force-group-allocation -o ${static_object}
          ${objects}
  COMMAND ${CMAKE_COMMAND} -D OBJECT=${static_object} -D NM=${CMAKE_NM} -D OBJCOPY=${CMAKE_OBJCOPY}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/make_local.cmake
  DEPENDS ${objects} make_local.cmake
  COMMAND_EXPAND_LISTS VERBATIM)

add_library(gpucontainer_static STATIC ${static_object})
add_library(gpucontainer::gpucontainer_static ALIAS gpucontainer_static)
set_target_properties(gpucontainer_static PROPERTIES OUTPUT_NAME gpucontainer LINKER_LANGUAGE CXX)
set_source_files_properties(${static_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
target_include_directories(
  gpucontainer_static INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(gpucontainer_static INTERFACE cxx_std_20)
# By name: no package of ours has to find them.
target_link_libraries(gpucontainer_static INTERFACE yaml-cpp elf stdc++ m)
