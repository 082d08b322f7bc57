# The applications. apps/NAME/*.c and apps/common make NAME, which contains all styles that Tern supports. For each MPI
# that is installed (see peers.cmake), the same sources except those that call Tern make NAME-MPI, compiled with the
# compiler wrapper of that MPI. All of them belong to the target apps. cholesky requires OpenBLAS.
# (-Wno-stringop-overflow is needed because MPICH's MPI_STATUSES_IGNORE is not an array, which gcc warns about.)

if(NOT TARGET tern)
    return()
endif()
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
file(GLOB app_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/*/*.h)

add_library(apps_common STATIC EXCLUDE_FROM_ALL apps/common/app.c apps/common/job_tern.c apps/common/message_tern.c)
target_include_directories(apps_common PUBLIC ${PROJECT_SOURCE_DIR}/apps)
target_link_libraries(apps_common PUBLIC tern m PRIVATE tern_flags)

foreach(name stencil tree cholesky)
    if(name STREQUAL "cholesky" AND NOT OPENBLAS_FOUND)
        message(STATUS "Tern apps: OpenBLAS (libopenblas-dev) is missing, so the application cholesky is left out.")
        continue()
    endif()
    set(blas_target)
    set(blas_flags)
    if(name STREQUAL "cholesky")
        set(blas_target PkgConfig::OPENBLAS)
        set(blas_flags ${OPENBLAS_CFLAGS} ${OPENBLAS_LDFLAGS})
    endif()
    set(dir ${PROJECT_SOURCE_DIR}/apps/${name})
    tern_add_program(${name} EXCLUDE_FROM_ALL ${dir}/${name}.c ${dir}/message.c ${dir}/onesided.c ${dir}/notified.c)
    target_link_libraries(${name} PRIVATE apps_common ${blas_target})
    add_dependencies(apps ${name})

    set(sources ${dir}/${name}.c ${dir}/message.c)
    foreach(part app job_mpi message_mpi)
        list(APPEND sources ${PROJECT_SOURCE_DIR}/apps/common/${part}.c)
    endforeach()
    foreach(mpi openmpi mpich)
        string(TOUPPER ${mpi} upper)
        if(NOT TERN_MPICC_${upper} OR TERN_SANITIZE OR TERN_COVERAGE)
            continue()
        endif()
        set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}-${mpi})
        add_custom_command(OUTPUT ${program}
            COMMAND ${TERN_MPICC_${upper}} -std=gnu11 -O2 -Wall -Wextra -Wno-stringop-overflow -DAPP_MPI -I${PROJECT_SOURCE_DIR}/apps
                -o ${program} ${sources} ${blas_flags} -lm
            DEPENDS ${sources} ${app_headers}
            COMMENT "Building ${name}-${mpi}" VERBATIM)
        add_custom_target(app-${name}-${mpi} DEPENDS ${program})
        add_dependencies(apps app-${name}-${mpi})
    endforeach()
endforeach()
