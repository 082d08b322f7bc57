# Manual pages of the functions, generated from the comments in the public headers. A declaration without a complete
# contract fails the build.

file(GLOB public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tern/*.h)
set(man_script ${PROJECT_SOURCE_DIR}/scripts/man-from-headers)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/stamp
    COMMAND ${man_script} -o ${CMAKE_BINARY_DIR}/man/man3 -V ${PROJECT_VERSION} ${public_headers}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man/stamp
    DEPENDS ${public_headers} ${man_script}
    COMMENT "Making manual pages" VERBATIM)
add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/stamp)
