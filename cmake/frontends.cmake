# The front ends: libraries with interfaces that existing programs are written to. They use the public headers only.
#
# frontends/armci makes libtern-armci, without MPI, and for each MPI whose headers pkg-config finds, libtern-armci-MPI:
# the layout of a group depends on MPI's types. lib/tern/drop-in contains the libraries for MPI by the names that the
# link lines of Global Arrays programs contain; the static ones include libtern.
#
# frontends/mpi makes, for each MPI, libtern-notify-MPI (mpi_notify.h), libtern-notify-pmpi-MPI (pmpi_*.c, which stands
# in front of calls of MPI) and libtern-fompi-MPI (fompi.h, from fompi_*.c and the files that it shares with the first).

if(NOT TARGET tern)
    return()
endif()
pkg_check_modules(TERN_OPENMPI ompi-c)
pkg_check_modules(TERN_MPICH mpich)
set(armci_flavours alone)
set(notify_mpis)
foreach(mpi openmpi mpich)
    string(TOUPPER ${mpi} upper)
    if(TERN_SANITIZE OR TERN_COVERAGE) # MPI libraries are not made for sanitizers
        continue()
    elseif(TERN_${upper}_FOUND)
        list(APPEND armci_flavours ${mpi})
        list(APPEND notify_mpis ${mpi})
    else()
        message(STATUS "Tern: lib${mpi}-dev is missing, so ARMCI and notified access for programs that use ${mpi} are left out. To install it: apt-get install lib${mpi}-dev")
    endif()
endforeach()

set(armci_dir ${PROJECT_SOURCE_DIR}/frontends/armci)
set(drop_in_dir ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/tern/drop-in)
set(armci_targets)
file(MAKE_DIRECTORY ${drop_in_dir})
# The linker looks for libtern, which the libraries need, in the directory in which it finds them.
file(CREATE_LINK ../../libtern.so.${soversion} ${drop_in_dir}/libtern.so.${soversion} SYMBOLIC)
foreach(flavour ${armci_flavours})
    string(TOUPPER ${flavour} upper)
    file(GLOB sources CONFIGURE_DEPENDS ${armci_dir}/*.c ${PROJECT_SOURCE_DIR}/frontends/common/*.c)
    if(flavour STREQUAL "alone")
        set(suffix "")
        list(FILTER sources EXCLUDE REGEX "_mpi\\.c$")
        set(kind alone)
    else()
        set(suffix -${flavour})
        list(FILTER sources EXCLUDE REGEX "_alone\\.c$")
        set(kind mpi)
    endif()
    set(name tern-armci${suffix})
    add_library(${name}-objects OBJECT ${sources})
    set_target_properties(${name}-objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_include_directories(${name}-objects PRIVATE ${PROJECT_SOURCE_DIR}/frontends/common ${armci_dir}
        ${armci_dir}/include ${armci_dir}/include/${kind} ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(${name}-objects SYSTEM PRIVATE ${TERN_${upper}_INCLUDE_DIRS})
    target_compile_definitions(${name}-objects PRIVATE _GNU_SOURCE)
    target_compile_options(${name}-objects PRIVATE -fno-semantic-interposition
        -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes $<$<BOOL:${TERN_WERROR}>:-Werror>)

    add_library(${name} SHARED $<TARGET_OBJECTS:${name}-objects>)
    add_library(${name}-static STATIC $<TARGET_OBJECTS:${name}-objects>)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
        INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
    set_target_properties(${name}-static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${name})
    target_link_libraries(${name} PUBLIC tern PRIVATE Threads::Threads ${TERN_${upper}_LINK_LIBRARIES})
    target_link_libraries(${name}-static PUBLIC tern_static)
    target_link_options(${name} PRIVATE -Wl,--as-needed)
    if(NOT TERN_SANITIZE)
        target_link_options(${name} PRIVATE -Wl,-z,defs)
    endif()
    foreach(target ${name} ${name}-static)
        target_include_directories(${target} INTERFACE ${armci_dir}/include ${armci_dir}/include/${kind})
    endforeach()

    # The drop-in. The static library contains libtern, because the link line does not name it. Without a suffix, the
    # name is that of the library for the first MPI, as in Debian.
    list(APPEND armci_targets ${name} ${name}-static)
    if(flavour STREQUAL "alone" AND notify_mpis)
        continue()
    endif()
    add_library(${name}-drop-in STATIC $<TARGET_OBJECTS:${name}-objects> ${library_objects})
    set_target_properties(${name}-drop-in PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME armci${suffix}
        ARCHIVE_OUTPUT_DIRECTORY ${drop_in_dir})
    file(CREATE_LINK ../../lib${name}.so ${drop_in_dir}/libarmci${suffix}.so SYMBOLIC)
    list(FIND notify_mpis ${flavour} index)
    if(index EQUAL 0)
        file(CREATE_LINK ../../lib${name}.so ${drop_in_dir}/libarmci.so SYMBOLIC)
        file(CREATE_LINK libarmci${suffix}.a ${drop_in_dir}/libarmci.a SYMBOLIC)
    endif()
endforeach()

# tern_add_mpi_front(name mpi libraries source...): add the shared and the static library NAME-MPI. libraries are the
# targets, without the suffix of the MPI, that the shared library needs.
function(tern_add_mpi_front name mpi libraries)
    string(TOUPPER ${mpi} upper)
    set(dir ${PROJECT_SOURCE_DIR}/frontends/mpi)
    set(full ${name}-${mpi})
    add_library(${full}-objects OBJECT ${ARGN})
    set_target_properties(${full}-objects PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
    target_include_directories(${full}-objects PRIVATE ${PROJECT_SOURCE_DIR}/frontends/common ${dir} ${dir}/include
        ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(${full}-objects SYSTEM PRIVATE ${TERN_${upper}_INCLUDE_DIRS})
    target_compile_definitions(${full}-objects PRIVATE _GNU_SOURCE)
    target_compile_options(${full}-objects PRIVATE -fno-semantic-interposition
        -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes $<$<BOOL:${TERN_WERROR}>:-Werror>)
    add_library(${full} SHARED $<TARGET_OBJECTS:${full}-objects>)
    add_library(${full}-static STATIC $<TARGET_OBJECTS:${full}-objects>)
    set_target_properties(${full} PROPERTIES LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION ${soversion}
        INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
    set_target_properties(${full}-static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${full})
    list(TRANSFORM libraries APPEND -${mpi})
    target_link_libraries(${full} PUBLIC tern PRIVATE ${libraries} Threads::Threads ${TERN_${upper}_LINK_LIBRARIES})
    target_link_libraries(${full}-static PUBLIC tern_static)
    target_link_options(${full} PRIVATE -Wl,--as-needed -Wl,-z,defs)
    foreach(target ${full} ${full}-static)
        target_include_directories(${target} INTERFACE ${dir}/include)
    endforeach()
endfunction()

foreach(mpi ${notify_mpis})
    file(GLOB all CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/frontends/mpi/*.c)
    set(front ${PROJECT_SOURCE_DIR}/frontends/common/front.c ${PROJECT_SOURCE_DIR}/frontends/common/front_mpi.c)
    foreach(part notify pmpi fompi) # the prefix of a file says where it belongs; files without one are shared
        set(${part}_sources ${all})
        list(FILTER ${part}_sources INCLUDE REGEX "/${part}_[^/]*\\.c$")
    endforeach()
    set(shared ${all})
    list(FILTER shared EXCLUDE REGEX "/(notify|pmpi|fompi)_[^/]*\\.c$")
    tern_add_mpi_front(tern-notify ${mpi} "" ${notify_sources} ${shared} ${front})
    if(pmpi_sources)
        tern_add_mpi_front(tern-notify-pmpi ${mpi} tern-notify ${pmpi_sources})
    endif()
    if(fompi_sources)
        tern_add_mpi_front(tern-fompi ${mpi} "" ${fompi_sources} ${shared} ${front})
    endif()
endforeach()
