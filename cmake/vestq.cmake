# How vestq declares its libraries, tests and flags.

add_library(vestq_flags INTERFACE)
target_include_directories(vestq_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(vestq_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough
  -fstack-protector-strong $<$<BOOL:${VESTQ_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False for assignments of short literals to std::string with -O2 (GCC bug 105651, mended in 13).
  target_compile_options(vestq_flags INTERFACE -Wno-restrict)
endif()
if(VESTQ_SANITIZE)
  target_compile_options(vestq_flags INTERFACE -fsanitize=${VESTQ_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(vestq_flags INTERFACE -fsanitize=${VESTQ_SANITIZE})
  if(VESTQ_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # ThreadSanitizer does not model fences. Ours order flags (store before load); data is published by the release
    # stores beside them, which it does see.
    target_compile_options(vestq_flags INTERFACE -Wno-tsan)
  endif()
endif()

# vestq_library(NAME SOURCES a.cc ... HEADERS a.h ... USES other ...)
#
# A static library of one folder. USES names what it may include: the libraries of lower layers and outside packages.
# Each header is also compiled on its own, so that it includes what it needs.
function(vestq_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;USES" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_link_libraries(${name} PUBLIC vestq_flags ${ARG_USES})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE vestq_flags ${ARG_USES})
  endif()
  set(checks)
  foreach(header IN LISTS ARG_HEADERS)
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
    string(MAKE_C_IDENTIFIER "${path}" id)
    set(check "${CMAKE_CURRENT_BINARY_DIR}/alone_${id}.cc")
    file(CONFIGURE OUTPUT "${check}" CONTENT "#include \"${path}\"\n")
    list(APPEND checks "${check}")
  endforeach()
  if(checks)
    add_library(${name}_headers OBJECT ${checks})
    target_link_libraries(${name}_headers PRIVATE vestq_flags ${ARG_USES})
  endif()
endfunction()

# vestq_test(NAME SOURCES a_test.cc ... USES library ... [LABELS l ...] [TIMEOUT s] [ARGS ...])
#
# A GoogleTest program, one CTest entry.
function(vestq_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;USES;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE vestq_flags ${ARG_USES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
