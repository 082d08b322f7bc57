# The programs in bin/. tools/NAME/*.c makes NAME; examples/NAME.c makes NAME, as part of the target examples.
#
# ternrun and tern-info need hwloc, for binding and for the description of the machine. ternrun starts the ranks but is
# not a rank itself, so it links only with the lower part of the library. All other programs use libtern as a user
# would.

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
    file(GLOB tool_dirs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*)
    foreach(dir ${tool_dirs})
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.c)
        if(NOT sources)
            continue()
        endif()
        list(FILTER sources EXCLUDE REGEX "${tern_fabric_tool_not}")
        get_filename_component(name ${dir} NAME)
        tern_add_program(${name} ${sources})
        target_include_directories(${name} PRIVATE ${dir})
        target_link_libraries(${name} PRIVATE tern_base)
        if(name MATCHES "^(ternrun|tern-info)$")
            target_link_libraries(${name} PRIVATE PkgConfig::HWLOC)
        endif()
        if(NOT name STREQUAL "ternrun")
            target_link_libraries(${name} PRIVATE tern)
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
