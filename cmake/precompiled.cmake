# Headers of others that most files include, compiled once instead of once a file: without
# them a build takes twice as long. A file still has to include what it uses: the preset
# "release" and clang-tidy do without them, and a missing include shows there.
option(GPUCTR_PRECOMPILE "Precompile the headers of the standard library" OFF)
set(gpuctr_common_headers <algorithm> <array> <cstdint> <filesystem> <fstream> <functional> <map>
                          <memory> <optional> <set> <span> <string> <string_view> <utility>
                          <variant> <vector> <fmt/core.h>)

if(GPUCTR_PRECOMPILE)
  # ccache takes the outcome for one that depends on the time otherwise.
  foreach(language C CXX)
    if(CMAKE_${language}_COMPILER_LAUNCHER MATCHES "ccache$")
      list(PREPEND CMAKE_${language}_COMPILER_LAUNCHER
           env CCACHE_SLOPPINESS=pch_defines,time_macros)
    endif()
  endforeach()
endif()

# gpuctr_precompile(TARGET [FROM OTHER | HEADER...]): those headers, or what another target has
# that is compiled in the same way.
function(gpuctr_precompile target)
  cmake_parse_arguments(P "" "FROM" "" ${ARGN})
  if(NOT GPUCTR_PRECOMPILE)
    return()
  elseif(P_FROM)
    target_precompile_headers(${target} REUSE_FROM ${P_FROM})
    return()
  endif()
  target_precompile_headers(${target} PRIVATE ${gpuctr_common_headers} ${P_UNPARSED_ARGUMENTS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
