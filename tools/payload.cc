#include "tools/payload.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace vestq {
namespace {

struct CloseFile {
  void operator()(FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

}  // namespace

int PayloadOptions::sources() const {
  return int{text_option.given()} + int{from_stdin} + int{!file.empty()};
}

void AddPayloadOptions(Command command, PayloadOptions* options, const char* argument,
                       const std::string& what) {
  options->text_option = command.Value("PAYLOAD", &options->text, argument).MayBeEmpty();
  command.Flag("--stdin", &options->from_stdin, what + " is all of stdin, any bytes");
  command.Value("--file", &options->file, what + " is the content of this file");
}

Result<std::string> ReadPayload(const PayloadOptions& options, size_t at_most) {
  if (!options.from_stdin && options.file.empty()) return options.text;
  const std::unique_ptr<FILE, CloseFile> file(
      options.from_stdin ? stdin : std::fopen(options.file.c_str(), "rbe"));
  const std::string name = options.from_stdin ? "stdin" : options.file;
  if (file == nullptr)
    return Error(ErrorCode::kIo, "cannot open " + name + ": " + std::strerror(errno));
  std::string content;
  char buffer[65536];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    content.append(buffer, n);
    if (content.size() > at_most) {
      return Error(ErrorCode::kTooBig,
                   name + " is longer than the limit, " + std::to_string(at_most) + " bytes");
    }
  }
  if (std::ferror(file.get()) != 0)
    return Error(ErrorCode::kIo, "cannot read " + name + ": " + std::strerror(errno));
  return content;
}

}  // namespace vestq
