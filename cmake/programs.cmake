# The programs in bin/. tools/NAME/*.c makes NAME; examples/NAME.c makes NAME, as part of the target examples.
#
# ternrun and tern-info need hwloc, for binding and for the description of the machine, and share tools/hostlist.
# ternrun starts the ranks but is not a rank itself, so it links only with the lower part of the library. All other
# programs use libtern as a user would.

set(program_rpath "$ORIGIN/../lib" "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
list(REMOVE_DUPLICATES program_rpath)

# Create a program that finds libtern relative to its own location, both in the build tree and after installation.
function(tern_add_program name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE tern_flags m)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH "${program_rpath}" BUILD_WITH_INSTALL_RPATH ON)
endfunction()

# The measurement of libfabric itself, or a replacement that reports that libfabric is missing.
if(tern_fabric_abi)
    set(tern_fabric_tool_not "/tern-perf/register_none\\.c$")
else()
    set(tern_fabric_tool_not "/tern-perf/register\\.c$")
endif()

set(tern_tools)
if(TERN_TOOLS AND TARGET tern_base)
    pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
    file(GLOB hostlist CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/hostlist/*.c)
    file(GLOB tool_dirs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*)
    foreach(dir ${tool_dirs})
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.c)
        get_filename_component(name ${dir} NAME)
        if(NOT sources OR name STREQUAL "hostlist")
            continue()
        endif()
        list(FILTER sources EXCLUDE REGEX "${tern_fabric_tool_not}")
        tern_add_program(${name} ${sources})
        target_include_directories(${name} PRIVATE ${dir})
        target_link_libraries(${name} PRIVATE tern_base)
        if(name MATCHES "^(ternrun|tern-info)$")
            target_sources(${name} PRIVATE ${hostlist})
            target_link_libraries(${name} PRIVATE PkgConfig::HWLOC)
        endif()
        if(name STREQUAL "ternrun")
            set(sanitized 0)
            if(TERN_SANITIZE)
                set(sanitized 1)
            endif()
            target_compile_definitions(${name} PRIVATE TERN_SANITIZED=${sanitized})
        else()
            target_link_libraries(${name} PRIVATE tern)
        endif()
        if(name STREQUAL "tern-perf")
            # tern-perf compiles the peer programs of compare from sources beside it, or from the place where they are
            # installed. The link makes the build tree look like an installed tree.
            target_compile_definitions(${name} PRIVATE TERN_PERF_BENCH="${CMAKE_INSTALL_FULL_DATADIR}/tern/bench")
            # The place of a short loop in its cache lines changes the figure of a put by up to 15 percent.
            target_compile_options(${name} PRIVATE -falign-loops=32)
            file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/tern)
            file(CREATE_LINK ${PROJECT_SOURCE_DIR}/bench ${CMAKE_BINARY_DIR}/share/tern/bench SYMBOLIC)
        endif()
        list(APPEND tern_tools ${name})
    endforeach()
endif()

if(TARGET tern)
    file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
    foreach(source ${examples})
        get_filename_component(name ${source} NAME_WE)
        tern_add_program(${name} EXCLUDE_FROM_ALL ${source})
        target_link_libraries(${name} PRIVATE tern)
        add_dependencies(examples ${name})
    endforeach()
endif()
