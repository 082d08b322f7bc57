# Compiler and linker flags.
#
# The target tern_flags carries what every target of the project needs: the language standard, the warnings and the
# include paths. Sanitizers and coverage must apply to every object of a program, so they are set for the whole tree.

include(CheckCCompilerFlag)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug" FORCE)
endif()
# Line numbers for debuggers cost nothing at run time.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
if(TERN_SANITIZE)
    set(CMAKE_C_FLAGS_DEBUG "-Og -g1") # the lines in reports; without variables, the build takes two thirds of the time
elseif(NOT TERN_COVERAGE)
    set(CMAKE_C_FLAGS_DEBUG "-Og -g")
endif()

add_library(tern_flags INTERFACE)
target_include_directories(tern_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(tern_flags INTERFACE _GNU_SOURCE)
target_compile_options(tern_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes)
target_link_libraries(tern_flags INTERFACE Threads::Threads)
if(TERN_WERROR)
    target_compile_options(tern_flags INTERFACE -Werror)
endif()

# By default, gcc zeroes and copies structs of 100 to 200 bytes, such as operations and the arguments of collective
# calls, with "rep stos" and "rep movs", which are slow for so few bytes: with vectors, a broadcast of 8 bytes takes 23
# instead of 31 ns on an AMD EPYC (Zen 5).
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT TERN_SANITIZE)
    foreach(function memset memcpy)
        set(strategy "-m${function}-strategy=vector_loop:256:noalign,libcall:-1:noalign")
        check_c_compiler_flag("${strategy}" TERN_HAS_${function}_STRATEGY) # only for x86
        if(TERN_HAS_${function}_STRATEGY)
            target_compile_options(tern_flags INTERFACE "${strategy}")
        endif()
    endforeach()
endif()

if(TERN_SANITIZE)
    add_compile_options(-fsanitize=${TERN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${TERN_SANITIZE})
    # gcc warns that its thread sanitizer does not model fences. The fences in Tern order accesses between processes,
    # which the sanitizer cannot observe anyway.
    if(TERN_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
        add_compile_options(-Wno-tsan)
    endif()
endif()

if(TERN_COVERAGE)
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()
