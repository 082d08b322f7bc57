# The simulator. sim/*.c makes a library for tern-sim and its tests, and sim/match/*.c makes tern-match. The simulator
# uses only src/base of the library.

option(TERN_SIM "Build the simulator" ON)

if(TERN_SIM AND TARGET tern_base)
    file(GLOB sim_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/*.c)
    list(FILTER sim_sources EXCLUDE REGEX "/main\\.c$")
    add_library(tern_sim STATIC ${sim_sources})
    target_include_directories(tern_sim PUBLIC ${PROJECT_SOURCE_DIR}/sim)
    target_link_libraries(tern_sim PUBLIC tern_base tern_flags m)
    tern_add_program(tern-sim ${PROJECT_SOURCE_DIR}/sim/main.c)
    target_link_libraries(tern-sim PRIVATE tern_sim)

    file(GLOB match_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/sim/match/*.c)
    list(FILTER match_sources EXCLUDE REGEX "/main\\.c$")
    add_library(tern_match STATIC ${match_sources})
    target_include_directories(tern_match PUBLIC ${PROJECT_SOURCE_DIR}/sim/match)
    target_link_libraries(tern_match PUBLIC tern_flags)
    tern_add_program(tern-match ${PROJECT_SOURCE_DIR}/sim/match/main.c)
    target_link_libraries(tern-match PRIVATE tern_match)
    list(APPEND tern_tools tern-sim tern-match)
endif()
