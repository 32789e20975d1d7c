// Bytes that a sub-command is given: on its command line, on stdin or in a file. Blocking; one thread.
#pragma once

#include <cstddef>
#include <string>

#include "engine/base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace vestq {

struct PayloadOptions {
  std::string text;
  const CLI::Option* text_option = nullptr;
  bool from_stdin = false;
  std::string file;

  // How many of the three were given.
  int sources() const;
};

// Adds the argument PAYLOAD and --stdin and --file; `what` is what the help says of each
// ("The payload"), `argument` of the first.
void AddPayloadOptions(CLI::App* command, PayloadOptions* options, const char* argument,
                       const std::string& what);

// All of the bytes. Errors: kIo naming the file, kTooBig when there are more than `at_most`.
// REQUIRES: sources() == 1.
[[nodiscard]] Result<std::string> ReadPayload(const PayloadOptions& options, size_t at_most);

}  // namespace vestq
