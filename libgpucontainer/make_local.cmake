# Makes all symbols that OBJECT defines local, but the C interface. NM and OBJCOPY are programs.
#
# A unique symbol cannot be made local, but weak; a weak one can. Only defined ones are made
# weak: a weak reference to another library's function does not bring that function along.
execute_process(COMMAND ${NM} --defined-only ${OBJECT} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9a-f]+ u [^\n]+" unique "${symbols}")
list(TRANSFORM unique REPLACE "^[0-9a-f]+ u " "")
list(JOIN unique "\n" unique)
file(WRITE ${OBJECT}.unique "${unique}\n")
execute_process(COMMAND ${OBJCOPY} --strip-debug --weaken-symbols=${OBJECT}.unique ${OBJECT}
                COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --wildcard --keep-global-symbol=gpuctr_* ${OBJECT}
                COMMAND_ERROR_IS_FATAL ANY)
