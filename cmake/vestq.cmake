# How vestq declares its libraries, tests and flags.

add_library(vestq_flags INTERFACE)
target_include_directories(vestq_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(vestq_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough
  -fstack-protector-strong $<$<BOOL:${VESTQ_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False for assignments of short literals to std::string with -O2 (GCC bug 105651, mended in 13).
  target_compile_options(vestq_flags INTERFACE -Wno-restrict)
  if(VESTQ_SANITIZE)
    # What GCC 12 concludes from the flow of code that a sanitizer has changed is false too. The other builds warn of it.
    target_compile_options(vestq_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
      -Wno-maybe-uninitialized)
  endif()
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

# vestq_library(NAME SOURCES a.cc ... HEADERS a.h ... USES other ... [PRECOMPILE header ...])
#
# A static library of one folder. USES names what it may include: the libraries of lower layers and outside packages.
# A header without a source file of its name is also compiled on its own, so that it includes what it needs; the others
# are the first that their source file includes (rule LAYER-7 of tests/style/layering.py). PRECOMPILE names slow headers
# of outside packages; they are precompiled in sanitizer builds only, so that another build shows who lacks an #include.
function(vestq_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;USES;PRECOMPILE" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES} ${ARG_HEADERS})
    target_link_libraries(${name} PUBLIC vestq_flags ${ARG_USES})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE vestq_flags ${ARG_USES})
  endif()
  if(VESTQ_PCH AND VESTQ_SANITIZE AND ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${ARG_PRECOMPILE})
  endif()
  set(checks)
  foreach(header IN LISTS ARG_HEADERS)
    string(REGEX REPLACE "\\.h$" ".cc" source "${header}")
    if("${source}" IN_LIST ARG_SOURCES)
      continue()
    endif()
    file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${header}")
    string(MAKE_C_IDENTIFIER "${path}" id)
    set(check "${CMAKE_CURRENT_BINARY_DIR}/alone_${id}.cc")
    file(CONFIGURE OUTPUT "${check}" CONTENT "#include \"${path}\"\n")
    list(APPEND checks "${check}")
  endforeach()
  if(checks)
    add_library(${name}_headers OBJECT ${checks})
    target_link_libraries(${name}_headers PRIVATE vestq_flags ${ARG_USES})
    target_compile_options(${name}_headers PRIVATE -O0)
  endif()
endfunction()

# GoogleTest's headers, and RocksDB's where a test's libraries have them, precompiled once for all programs compiled alike.
function(vestq_precompile_test name uses fast)
  set(precompiled vestq_precompiled_test)
  set(headers <gmock/gmock.h> <gtest/gtest.h> <functional> <map> <string> <vector>)
  set(libraries vestq_flags GTest::gtest GTest::gmock)
  if("${uses}" MATCHES "vestq_(store|engine|world|net|sim_env)")
    string(APPEND precompiled _rocksdb)
    list(APPEND headers <rocksdb/db.h>)
    list(APPEND libraries vestq_rocksdb)
  endif()
  if(fast)
    string(APPEND precompiled _fast)
  endif()
  if(NOT TARGET ${precompiled})
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/${precompiled}.cc" CONTENT "int main() {}\n")
    # An executable as its users are: a library's objects differ in a flag.
    add_executable(${precompiled} EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/${precompiled}.cc")
    target_link_libraries(${precompiled} PRIVATE ${libraries})
    if(NOT fast)
      target_compile_options(${precompiled} PRIVATE -O0)
    endif()
    target_precompile_headers(${precompiled} PRIVATE ${headers})
  endif()
  target_precompile_headers(${name} REUSE_FROM ${precompiled})
endfunction()

# vestq_test(NAME SOURCES a_test.cc ... USES library ... [LABELS l ...] [TIMEOUT s] [SHARDS n] [ARGS ...] [FAST]
#   [ROCKSDB_THREADS])
#
# A GoogleTest program, one CTest entry; with SHARDS n of them, each a part of the tests, so that a long one does not
# hold up the end of a run. Its own files are compiled with -O0, since most of the time of a build goes
# into compiling tests; FAST ones are not: they count in millions. The label `threads` says that code of ours runs in
# several threads at once there: those programs run under ThreadSanitizer. The others abort when they start a thread, so
# that the label cannot be forgotten; ROCKSDB_THREADS ones may, because RocksDB has its own.
function(vestq_test name)
  cmake_parse_arguments(ARG "FAST;ROCKSDB_THREADS" "TIMEOUT;SHARDS" "SOURCES;USES;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE vestq_flags ${ARG_USES} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(NOT ARG_FAST)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(VESTQ_PCH)
    vestq_precompile_test(${name} "${ARG_USES}" "${ARG_FAST}")
  endif()
  if(NOT "threads" IN_LIST ARG_LABELS AND NOT ARG_ROCKSDB_THREADS)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/no_threads.cc")
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(VESTQ_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(entry ${name})
    if(ARG_SHARDS GREATER 1)
      set(entry ${name}_${shard})
    endif()
    add_test(NAME ${entry} COMMAND ${name} ${ARG_ARGS})
    # Long ones start first.
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
    if(ARG_SHARDS GREATER 1)
      math(EXPR index "${shard} - 1")
      set_tests_properties(${entry} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${ARG_SHARDS};GTEST_SHARD_INDEX=${index}")
    endif()
  endforeach()
endfunction()
