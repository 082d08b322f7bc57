# The simulator: sim/*.c makes a library for tern-sim and its tests. It uses src/base and nothing else of the library.

option(TERN_SIM "Build the simulator" ON)

if(TERN_SIM AND TARGET tern_base)
    file(GLOB sim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/*.c)
    list(FILTER sim_sources EXCLUDE REGEX "/main\\.c$")
    add_library(tern_sim STATIC ${sim_sources})
    target_include_directories(tern_sim PUBLIC ${PROJECT_SOURCE_DIR}/sim)
    target_link_libraries(tern_sim PUBLIC tern_base tern_flags m)
    tern_add_program(tern-sim ${PROJECT_SOURCE_DIR}/sim/main.c)
    target_link_libraries(tern-sim PRIVATE tern_sim)
    list(APPEND tern_tools tern-sim)
endif()
