# The programs that tern-perf compares Tern with. bench/peers/mpi_*.c is compiled once for each MPI that is installed,
# with the compiler wrapper of that MPI, and bench/peers/shmem_*.c with Open MPI's wrapper for OpenSHMEM. The names of
# the wrappers are those of Debian, which can install Open MPI and MPICH side by side. Debian can also install the
# wrappers without the headers. All programs belong to the target peers.

foreach(mpi openmpi mpich)
    string(TOUPPER ${mpi} upper)
    find_program(TERN_MPICC_${upper} mpicc.${mpi} DOC "compiler command of ${mpi}")
    mark_as_advanced(TERN_MPICC_${upper})
    if(TERN_MPICC_${upper})
        file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/has_mpi.c "#include <mpi.h>\n")
        execute_process(COMMAND ${TERN_MPICC_${upper}} -fsyntax-only ${CMAKE_BINARY_DIR}/CMakeFiles/has_mpi.c
            RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
        if(NOT status EQUAL 0)
            message(STATUS "Tern peers: mpicc.${mpi} does not find mpi.h, which is in lib${mpi}-dev.")
            set(TERN_MPICC_${upper} "")
        endif()
    endif()
endforeach()

file(GLOB peer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/peers/mpi_*.c)
file(GLOB peer_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.h ${PROJECT_SOURCE_DIR}/bench/peers/*.h)
if(peer_sources AND NOT TERN_SANITIZE AND NOT TERN_COVERAGE)
    foreach(mpi openmpi mpich)
        string(TOUPPER ${mpi} upper)
        if(NOT TERN_MPICC_${upper})
            message(STATUS "Tern peers: mpicc.${mpi} is missing, so there is nothing to compare with for ${mpi}.")
            continue()
        endif()
        set(peer ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tern-peer-${mpi})
        add_custom_command(OUTPUT ${peer}
            COMMAND ${TERN_MPICC_${upper}} -std=gnu11 -O2 -Wall -Wextra -o ${peer} ${peer_sources} -lm
            DEPENDS ${peer_sources} ${peer_headers}
            COMMENT "Building tern-peer-${mpi}" VERBATIM)
        add_custom_target(tern-peer-${mpi} DEPENDS ${peer})
        add_dependencies(peers tern-peer-${mpi})
    endforeach()
    find_program(TERN_OSHCC oshcc DOC "compiler command of OpenSHMEM")
    mark_as_advanced(TERN_OSHCC)
    file(GLOB shmem_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/peers/shmem_*.c)
    if(TERN_OSHCC AND shmem_sources)
        file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/has_shmem.c "#include <shmem.h>\n")
        execute_process(COMMAND ${TERN_OSHCC} -fsyntax-only ${CMAKE_BINARY_DIR}/CMakeFiles/has_shmem.c
            RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
        if(status EQUAL 0)
            set(peer ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/tern-peer-oshmem)
            add_custom_command(OUTPUT ${peer}
                COMMAND ${TERN_OSHCC} -std=gnu11 -O2 -Wall -Wextra -o ${peer} ${shmem_sources} -lm
                DEPENDS ${shmem_sources} ${peer_headers}
                COMMENT "Building tern-peer-oshmem" VERBATIM)
            add_custom_target(tern-peer-oshmem DEPENDS ${peer})
            add_dependencies(peers tern-peer-oshmem)
        else()
            message(STATUS "Tern peers: oshcc does not find shmem.h, which is in libopenmpi-dev.")
        endif()
    else()
        message(STATUS "Tern peers: oshcc is missing, so there is nothing to compare with for OpenSHMEM.")
    endif()
endif()
