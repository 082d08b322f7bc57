# The applications. apps/NAME/*.c and apps/common make NAME, which contains all styles that Tern supports. For each MPI
# that is installed (see peers.cmake), the same sources except those that call Tern make NAME-MPI, compiled with the
# compiler wrapper of that MPI; NAME/mpi_notified.c, if it exists, takes the place of NAME/notified.c, and uses
# libtern-notify-MPI. All of them belong to the target apps. cholesky and lu require OpenBLAS. lu has a style that calls
# ARMCI: it is part of lu with Tern's ARMCI, and of lu-armci-MPI with Debian's (libarmci-mpi-dev).
# (-Wno-stringop-overflow is needed because MPICH's MPI_STATUSES_IGNORE is not an array, which gcc warns about.)

if(NOT TARGET tern)
    return()
endif()
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)
set(notify_include ${PROJECT_SOURCE_DIR}/frontends/mpi/include)
file(GLOB app_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/*/*.h)

add_library(apps_common STATIC EXCLUDE_FROM_ALL apps/common/app.c apps/common/job_tern.c apps/common/message_tern.c)
target_include_directories(apps_common PUBLIC ${PROJECT_SOURCE_DIR}/apps)
target_link_libraries(apps_common PUBLIC tern m PRIVATE tern_flags)

foreach(name stencil tree cholesky lu)
    if(name MATCHES "^(cholesky|lu)$" AND NOT OPENBLAS_FOUND)
        message(STATUS "Tern apps: OpenBLAS (libopenblas-dev) is missing, so the application ${name} is left out.")
        continue()
    endif()
    set(blas_target)
    set(blas_flags)
    if(name MATCHES "^(cholesky|lu)$")
        set(blas_target PkgConfig::OPENBLAS)
        set(blas_flags ${OPENBLAS_CFLAGS} ${OPENBLAS_LDFLAGS})
    endif()
    set(dir ${PROJECT_SOURCE_DIR}/apps/${name})
    tern_add_program(${name} EXCLUDE_FROM_ALL ${dir}/${name}.c ${dir}/message.c ${dir}/onesided.c ${dir}/notified.c)
    target_link_libraries(${name} PRIVATE apps_common ${blas_target})
    add_dependencies(apps ${name})

    set(sources ${dir}/${name}.c ${dir}/message.c)
    if(EXISTS ${dir}/mpi_notified.c)
        list(APPEND sources ${dir}/mpi_notified.c)
    endif()
    foreach(part app job_mpi message_mpi)
        list(APPEND sources ${PROJECT_SOURCE_DIR}/apps/common/${part}.c)
    endforeach()
    foreach(mpi openmpi mpich)
        string(TOUPPER ${mpi} upper)
        if(NOT TERN_MPICC_${upper} OR NOT TARGET tern-notify-${mpi})
            continue()
        endif()
        set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}-${mpi})
        add_custom_command(OUTPUT ${program}
            COMMAND ${TERN_MPICC_${upper}} -std=gnu11 -O2 -Wall -Wextra -Wno-stringop-overflow -DAPP_MPI -I${PROJECT_SOURCE_DIR}/apps
                -I${notify_include} -o ${program} ${sources} ${blas_flags} -lm
                -L$<TARGET_FILE_DIR:tern> -ltern-notify-${mpi} -ltern -Wl,-rpath,$<TARGET_FILE_DIR:tern>
            DEPENDS ${sources} ${app_headers} ${notify_include}/mpi_notify.h tern-notify-${mpi}
            COMMENT "Building ${name}-${mpi}" VERBATIM)
        add_custom_target(app-${name}-${mpi} DEPENDS ${program})
        add_dependencies(apps app-${name}-${mpi})
    endforeach()
endforeach()

# lu with ARMCI.
if(TARGET lu)
    target_sources(lu PRIVATE ${PROJECT_SOURCE_DIR}/apps/lu/armci.c)
    target_link_libraries(lu PRIVATE tern-armci)
endif()
find_path(TERN_DEBIAN_ARMCI armcix.h)
foreach(mpi openmpi mpich)
    string(TOUPPER ${mpi} upper)
    find_library(TERN_DEBIAN_ARMCI_${upper} armci-${mpi})
    if(NOT TARGET app-lu-${mpi} OR NOT TERN_DEBIAN_ARMCI OR NOT TERN_DEBIAN_ARMCI_${upper})
        continue()
    endif()
    set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/lu-armci-${mpi})
    set(sources)
    foreach(part common/app common/job_mpi common/message_mpi lu/lu lu/message lu/armci)
        list(APPEND sources ${PROJECT_SOURCE_DIR}/apps/${part}.c)
    endforeach()
    add_custom_command(OUTPUT ${program}
        COMMAND ${TERN_MPICC_${upper}} -std=gnu11 -O2 -Wall -Wextra -Wno-stringop-overflow -DAPP_ARMCI
            -I${PROJECT_SOURCE_DIR}/apps -o ${program} ${sources} ${TERN_DEBIAN_ARMCI_${upper}} ${OPENBLAS_CFLAGS}
            ${OPENBLAS_LDFLAGS} -lm
        DEPENDS ${sources} ${app_headers}
        COMMENT "Building lu-armci-${mpi}" VERBATIM)
    add_custom_target(app-lu-armci-${mpi} DEPENDS ${program})
    add_dependencies(apps app-lu-armci-${mpi})
endforeach()
