# Manual pages of functions, types and macros (section 3) and of concepts (section 7), generated from the comments in
# the public headers. A declaration without a complete contract or an example fails the build.

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tern/*.h)
file(GLOB man_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c ${PROJECT_SOURCE_DIR}/man/snippets*.c)
set(man_script ${PROJECT_SOURCE_DIR}/scripts/man-from-headers)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/stamp
    COMMAND ${man_script} -o ${CMAKE_BINARY_DIR}/man -V ${PROJECT_VERSION} ${public_headers}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man/stamp
    DEPENDS ${public_headers} ${man_examples} ${man_script} ${PROJECT_SOURCE_DIR}/scripts/man-pages.awk
        ${PROJECT_SOURCE_DIR}/man/tern.7.in
    COMMENT "Making manual pages" VERBATIM)
add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/stamp)
