# The library: libtern, shared and static, from objects that are compiled once.
#
# tern_base contains the parts that do not communicate and the start-up of a job (src/base, src/boot), as a static
# library for the tools. It is not installed.

file(GLOB_RECURSE base_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/base/*.c ${PROJECT_SOURCE_DIR}/src/boot/*.c)
file(GLOB_RECURSE upper_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/link/*.c ${PROJECT_SOURCE_DIR}/src/core/*.c
    ${PROJECT_SOURCE_DIR}/src/op/*.c ${PROJECT_SOURCE_DIR}/src/api/*.c)

# PMIx is loaded at run time. Its headers are needed at build time; without them, a file is compiled instead that
# reports the missing support.
pkg_check_modules(PMIX pmix)
if(PMIX_FOUND)
    list(FILTER base_sources EXCLUDE REGEX "/boot/pmix_none\\.c$")
    list(TRANSFORM PMIX_INCLUDE_DIRS PREPEND "-isystem" OUTPUT_VARIABLE pmix_flags) # system headers: no warnings
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/boot/pmix.c PROPERTIES COMPILE_OPTIONS "${pmix_flags}")
else()
    list(FILTER base_sources EXCLUDE REGEX "/boot/pmix\\.c$")
    message(STATUS "Tern: pmix.h (libpmix-dev) is missing, so launchers that offer only PMIx cannot start jobs. To install it: make deps")
endif()

# The link between nodes, or a replacement that reports that there is none.
if(tern_fabric_abi)
    list(FILTER base_sources EXCLUDE REGEX "/boot/fabric_none\\.c$")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/boot/fabric.c PROPERTIES
        COMPILE_DEFINITIONS "TERN_FABRIC_ABI=\"${tern_fabric_abi}\"")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/link/registry.c PROPERTIES COMPILE_DEFINITIONS TERN_WITH_OFI)
else()
    list(FILTER base_sources EXCLUDE REGEX "/boot/fabric(_load)?\\.c$")
    list(FILTER upper_sources EXCLUDE REGEX "/link/ofi/")
endif()

# transpose.c needs unrolled loops to transpose blocks in registers, and shape.c checks lists two entries at a time.
# Speed matters more than code size in both.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/op/shape/transpose.c ${PROJECT_SOURCE_DIR}/src/api/shape.c PROPERTIES
    COMPILE_OPTIONS "$<$<CONFIG:Release>:-O3>")

# Vectorize the accumulate loops, but keep the results identical on all machines.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/op/atomic/acc_kernels.c PROPERTIES
    COMPILE_OPTIONS "-ffp-contract=off;$<$<CONFIG:Release>:-O3;-funroll-loops>")

set_source_files_properties(${PROJECT_SOURCE_DIR}/src/op/coll/kernels.c PROPERTIES
    COMPILE_OPTIONS "-ffp-contract=off;$<$<CONFIG:Release>:-O3>")

# The fields of a request are written one at a time and read soon after. A vector load of two fields would prevent store
# forwarding: both stores would have to reach the cache first, behind all stores to queues that other cores poll.
file(GLOB tagged_sources ${PROJECT_SOURCE_DIR}/src/op/tagged/*.c)
set_source_files_properties(${tagged_sources} ${PROJECT_SOURCE_DIR}/src/op/match.c
    ${PROJECT_SOURCE_DIR}/src/api/tagged.c ${PROJECT_SOURCE_DIR}/src/api/request.c
    PROPERTIES COMPILE_OPTIONS "-fno-tree-slp-vectorize")

function(tern_add_objects name)
    add_library(${name} OBJECT ${ARGN})
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    # Calls within the library are direct, because its symbols must not be interposed.
    target_compile_options(${name} PRIVATE -fno-semantic-interposition)
    target_link_libraries(${name} PRIVATE tern_flags)
endfunction()

set(library_objects)
if(base_sources)
    tern_add_objects(tern_base_objects ${base_sources})
    add_library(tern_base STATIC $<TARGET_OBJECTS:tern_base_objects>)
    target_link_libraries(tern_base PUBLIC tern_flags ${CMAKE_DL_LIBS})
    list(APPEND library_objects $<TARGET_OBJECTS:tern_base_objects>)
endif()
if(upper_sources)
    tern_add_objects(tern_upper_objects ${upper_sources})
    list(APPEND library_objects $<TARGET_OBJECTS:tern_upper_objects>)
endif()

if(library_objects)
    add_library(tern SHARED ${library_objects})
    # Before 1.0, a new minor version may be incompatible, because parts of the library are inlined into programs.
    if(PROJECT_VERSION_MAJOR EQUAL 0)
        set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    else()
        set(soversion ${PROJECT_VERSION_MAJOR})
    endif()
    set_target_properties(tern PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${soversion})
    add_library(tern_static STATIC ${library_objects})
    set_target_properties(tern_static PROPERTIES OUTPUT_NAME tern EXPORT_NAME tern-static)
    foreach(target tern tern_static)
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
        target_include_directories(${target} PUBLIC
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    endforeach()
    target_link_libraries(tern PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    target_link_libraries(tern_static PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
    target_link_options(tern PRIVATE -Wl,--as-needed)
    if(NOT TERN_SANITIZE)
        target_link_options(tern PRIVATE -Wl,-z,defs) # with a sanitizer, its symbols come from the program
    endif()
    add_library(tern::tern ALIAS tern)
    add_library(tern::tern-static ALIAS tern_static)
else()
    message(STATUS "Tern: src/ has no sources of the library, so there is no library.")
endif()
