# Warnings of this project's own code, and the sanitizers of a test build.
add_library(gpuctr_warnings INTERFACE)
target_compile_options(
  gpuctr_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers
            $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor>
            $<$<BOOL:${GPUCTR_WERROR}>:-Werror>)
if(CMAKE_UNITY_BUILD)
  # A name of one file shadows that of another there.
  target_compile_options(gpuctr_warnings INTERFACE -Wno-shadow)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # Optimising, GCC 12 sees these in the standard library's own strings and
  # variants, where they are not (GCC bug 105651 and its relatives).
  target_compile_options(gpuctr_warnings
                         INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict -Wno-maybe-uninitialized>)
endif()

if(GPUCTR_SANITIZE)
  add_compile_options(-fsanitize=${GPUCTR_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GPUCTR_SANITIZE})
  if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    # The runtime of programs in C has to serve the library too.
    add_link_options($<$<LINK_LANGUAGE:C>:-fsanitize-link-c++-runtime>
                     $<$<LINK_LANGUAGE:C>:-Wl,--push-state,--as-needed,-lstdc++,--pop-state>)
  endif()
endif()

# A process relocates all data when it starts, and the sanitizers' data of a large program take
# longer than what most tests do with it. So the linker drops what nothing uses (GNU's drops
# less of it), the most frequent checks trap without words, and programs have fixed addresses.
if(GPUCTR_SANITIZE STREQUAL "address,undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  find_program(GPUCTR_LLD NAMES ld.lld DOC "The linker of LLVM, for builds with sanitizers")
  mark_as_advanced(GPUCTR_LLD)
  if(GPUCTR_LLD)
    add_compile_options(-ffunction-sections -fdata-sections
                        -fsanitize-address-globals-dead-stripping)
    add_link_options(-fuse-ld=lld -Wl,--gc-sections)
  endif()
  add_compile_options(-fsanitize-trap=null,alignment)
  string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
endif()

# What libFuzzer sees of the code under test: as with -fsanitize=fuzzer-no-link, without tables
# of addresses, which each process would relocate when it starts.
set(GPUCTR_COVERAGE -fsanitize-coverage=inline-8bit-counters,indirect-calls,trace-cmp)
