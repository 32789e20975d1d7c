// Bytes that a sub-command is given: on its command line, on stdin or in a file. Blocking; one thread.
#pragma once

#include <cstddef>
#include <string>

#include "engine/base/result.h"
#include "tools/command_line.h"

namespace vestq {

struct PayloadOptions {
  std::string text;
  CommandOption text_option;
  bool from_stdin = false;
  std::string file;

  // How many of the three were given.
  int sources() const;
};

// Adds the argument PAYLOAD and --stdin and --file; `what` is what the help says of each
// ("The payload"), `argument` of the first.
void AddPayloadOptions(Command command, PayloadOptions* options, const char* argument,
                       const std::string& what);

// All of the bytes. Errors: kIo naming the file, kTooBig when there are more than `at_most`.
// REQUIRES: sources() == 1.
[[nodiscard]] Result<std::string> ReadPayload(const PayloadOptions& options, size_t at_most);

}  // namespace vestq
