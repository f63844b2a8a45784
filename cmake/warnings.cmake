# Warnings of this project's own code, and the sanitizers of a test build.
add_library(gpuctr_warnings INTERFACE)
target_compile_options(
  gpuctr_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-missing-field-initializers
            $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast -Wnon-virtual-dtor>
            $<$<BOOL:${GPUCTR_WERROR}>:-Werror>)

if(GPUCTR_SANITIZE)
  add_compile_options(-fsanitize=${GPUCTR_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GPUCTR_SANITIZE})
endif()
