# Packages from the distribution, and RocksDB (tools/deps).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
find_package(mimalloc REQUIRED)
find_package(date REQUIRED)  # time zones: libhowardhinnant-date-dev

# liburing is linked statically: Debian's shared 2.3 does not export all that its header declares.
find_library(VESTQ_LIBURING NAMES liburing.a REQUIRED)
find_path(VESTQ_LIBURING_INCLUDE liburing.h REQUIRED)
add_library(vestq_liburing INTERFACE)
target_link_libraries(vestq_liburing INTERFACE "${VESTQ_LIBURING}")
target_include_directories(vestq_liburing SYSTEM INTERFACE "${VESTQ_LIBURING_INCLUDE}")

add_library(vestq_rocksdb INTERFACE)
if(VESTQ_ROCKSDB STREQUAL "system")
  message(WARNING "VESTQ_ROCKSDB=system: the distribution's RocksDB. Debian 12's 7.8.3 costs about three times the CPU "
    "a job, has assertions on, no hardware CRC, and aborts on a full disk. Measure nothing with it.")
  find_library(VESTQ_ROCKSDB_LIB NAMES rocksdb REQUIRED)
  target_link_libraries(vestq_rocksdb INTERFACE "${VESTQ_ROCKSDB_LIB}" Threads::Threads)
else()
  set(prefix "${VESTQ_ROCKSDB}")
  if(NOT prefix)
    set(deps_env "VESTQ_DEPS_SANITIZE=")
    if(VESTQ_SANITIZE STREQUAL "thread")
      set(deps_env "VESTQ_DEPS_SANITIZE=thread")  # false reports otherwise: its code is linked into ours
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E env ${deps_env} "CXX=c++" "${PROJECT_SOURCE_DIR}/tools/deps"
      OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE deps_result)
    if(NOT deps_result EQUAL 0)
      message(FATAL_ERROR "tools/deps failed (see above). -DVESTQ_ROCKSDB=system takes the distribution's RocksDB "
        "(slower by three, and it aborts on a full disk).")
    endif()
  endif()
  target_include_directories(vestq_rocksdb SYSTEM INTERFACE "${prefix}/include")
  target_link_libraries(vestq_rocksdb INTERFACE "${prefix}/lib/librocksdb.a" PkgConfig::LZ4 PkgConfig::ZSTD
    Threads::Threads ${CMAKE_DL_LIBS})
endif()
