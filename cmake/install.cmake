# What is installed, and where: libraries, headers, tools, manual pages, documents, and the files with which pkg-config
# and CMake find them.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tern)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
if(tern_tools)
    install(TARGETS ${tern_tools} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# The sources of the programs that tern-perf compares Tern with. tern-perf compiles them when they are first needed.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bench DESTINATION ${CMAKE_INSTALL_DATADIR}/tern
    FILES_MATCHING PATTERN "*.c" PATTERN "*.h")

if(TARGET tern)
    install(TARGETS tern tern_static EXPORT tern-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    install(EXPORT tern-targets NAMESPACE tern:: DESTINATION ${package_dir})
    configure_package_config_file(cmake/tern-config.cmake.in ${CMAKE_BINARY_DIR}/tern-config.cmake
        INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
    # Before 1.0, a new minor version may be incompatible.
    if(PROJECT_VERSION_MAJOR EQUAL 0)
        set(compatible SameMinorVersion)
    else()
        set(compatible SameMajorVersion)
    endif()
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/tern-config-version.cmake COMPATIBILITY ${compatible})
    install(FILES ${CMAKE_BINARY_DIR}/tern-config.cmake ${CMAKE_BINARY_DIR}/tern-config-version.cmake
        DESTINATION ${package_dir})

    # The prefix is derived from the location of tern.pc, so that an installed tree can be moved. Directories that the
    # builder specified as absolute paths, as some distributions do, remain absolute.
    if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    else()
        file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
        string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_prefix}")
    endif()
    foreach(dir INCLUDEDIR LIBDIR)
        if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
            set(pc_${dir} ${CMAKE_INSTALL_${dir}})
        else()
            set(pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
        endif()
    endforeach()
    configure_file(cmake/tern.pc.in ${CMAKE_BINARY_DIR}/tern.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/tern.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The front end ARMCI, its headers, and the drop-in directory for programs of Global Arrays.
set(installed_drop_in ${CMAKE_INSTALL_LIBDIR}/tern/drop-in)
foreach(flavour ${armci_flavours})
    set(armci_kind mpi)
    set(armci_name tern-armci-${flavour})
    set(armci_description "for programs that use ${flavour}")
    set(armci_requires ${flavour})
    if(flavour STREQUAL "alone")
        set(armci_kind alone)
        set(armci_name tern-armci)
        set(armci_description "without MPI")
        set(armci_requires)
    elseif(flavour STREQUAL "openmpi")
        set(armci_requires ompi-c)
    endif()
    string(REPLACE tern-armci armci drop_in ${armci_name})
    install(TARGETS ${armci_name} ${armci_name}-static
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
    if(TARGET ${armci_name}-drop-in)
        install(TARGETS ${armci_name}-drop-in ARCHIVE DESTINATION ${installed_drop_in})
        install(FILES ${drop_in_dir}/lib${drop_in}.so DESTINATION ${installed_drop_in})
    endif()
    configure_file(cmake/tern-armci.pc.in ${CMAKE_BINARY_DIR}/${armci_name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${armci_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
if(notify_mpis)
    install(FILES ${drop_in_dir}/libarmci.so ${drop_in_dir}/libarmci.a DESTINATION ${installed_drop_in})
endif()
if(armci_flavours)
    install(FILES ${drop_in_dir}/libtern.so.${soversion} DESTINATION ${installed_drop_in})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/frontends/armci/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern-armci
        FILES_MATCHING PATTERN "*.h")
endif()

# The front ends for MPI programs: mpi_notify.h, and fompi.h.
foreach(mpi ${notify_mpis})
    set(mpi_requires ${mpi})
    if(mpi STREQUAL "openmpi")
        set(mpi_requires ompi-c)
    endif()
    foreach(front tern-notify tern-notify-pmpi tern-fompi)
        set(front_name ${front}-${mpi})
        if(NOT TARGET ${front_name})
            continue()
        endif()
        set(front_libs -l${front_name})
        set(front_description "Notified access for programs that use ${mpi}")
        if(front STREQUAL "tern-notify-pmpi")
            set(front_libs "-l${front_name} -ltern-notify-${mpi}")
            set(front_description "Notified access for programs that use ${mpi}, by the names of MPI")
        elseif(front STREQUAL "tern-fompi")
            set(front_description "The interface of foMPI for programs that use ${mpi}")
        endif()
        install(TARGETS ${front_name} ${front_name}-static
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
        configure_file(cmake/tern-mpi.pc.in ${CMAKE_BINARY_DIR}/${front_name}.pc @ONLY)
        install(FILES ${CMAKE_BINARY_DIR}/${front_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
    endforeach()
endforeach()
if(notify_mpis)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/frontends/mpi/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tern-mpi
        FILES_MATCHING PATTERN "*.h" PATTERN "*.f90" PATTERN "*.inc")
endif()

# Pages of programs are in man/; those of functions and concepts are generated.
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(section 3 7)
    install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man${section} DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL
        FILES_MATCHING PATTERN "*.${section}")
endforeach()

# Documents are installed in the directories that they have in the source, so that the links between them work.
set(doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/tern)
install(FILES LICENSE README.md CHANGES.md CONTRIBUTING.md DESTINATION ${doc_dir})
install(FILES sim/README.md DESTINATION ${doc_dir}/sim)
install(FILES apps/README.md DESTINATION ${doc_dir}/apps)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${doc_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${doc_dir} FILES_MATCHING PATTERN "*.c" PATTERN Makefile)
