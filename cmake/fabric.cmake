# libfabric, which transfers data between nodes. The link ofi needs its headers at build time. The library itself is
# loaded at run time when a job needs it, so nothing is linked against it. If the headers are missing, the link is
# omitted, and jobs on several nodes use TCP sockets.
#
# Sets tern_fabric_abi to the version of libfabric's symbols that the installed headers describe, or leaves it empty.

set(tern_fabric_abi)
pkg_check_modules(FABRIC libfabric>=1.14)
if(FABRIC_FOUND)
    find_library(TERN_FABRIC_LIBRARY fabric HINTS ${FABRIC_LIBRARY_DIRS})
    execute_process(COMMAND ${CMAKE_NM} -D ${TERN_FABRIC_LIBRARY}
        OUTPUT_VARIABLE fabric_symbols ERROR_QUIET RESULT_VARIABLE fabric_failed)
    if(NOT fabric_failed AND fabric_symbols MATCHES " fi_getinfo@@(FABRIC_[0-9.]+)")
        set(tern_fabric_abi ${CMAKE_MATCH_1})
    endif()
endif()
if(NOT tern_fabric_abi)
    message(STATUS "Tern: libfabric (libfabric-dev) is missing, so jobs on several nodes use TCP only. To install it: make deps")
endif()
