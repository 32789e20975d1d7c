#include "bench/load/resp.h"

#include <charconv>
#include <cstring>

namespace vestq::bench {
namespace {

bool ParseNumber(std::string_view text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

void AppendHead(char type, size_t number, std::string* out) {
  char buffer[24];
  buffer[0] = type;
  const auto [end, error] = std::to_chars(buffer + 1, buffer + sizeof(buffer) - 2, number);
  static_cast<void>(error);  // 20 digits always fit
  std::memcpy(end, "\r\n", 2);
  out->append(buffer, static_cast<size_t>(end - buffer) + 2);
}

}  // namespace

RespReader::Step RespReader::Next(RespItem* item) {
  if (at_ >= bytes_.size()) return Step::kIncomplete;
  const char* from = bytes_.data() + at_;
  const size_t left = bytes_.size() - at_;
  const void* newline = std::memchr(from, '\n', left);
  if (newline == nullptr) return Step::kIncomplete;
  const size_t line = static_cast<size_t>(static_cast<const char*>(newline) - from);
  if (line < 2 || from[line - 1] != '\r') return Step::kMalformed;
  *item = RespItem{from[0], 0, std::string_view(from + 1, line - 2)};
  size_t used = line + 1;
  switch (item->type) {
    case '+':
    case '-':
    case '_':
    case '#':
    case ',':
    case '(': break;
    case ':':
    case '*':
    case '%':
    case '~':
    case '>':
      if (!ParseNumber(item->text, &item->number)) return Step::kMalformed;
      break;
    case '$':
    case '=':
      if (!ParseNumber(item->text, &item->number)) return Step::kMalformed;
      if (item->number >= 0) {
        const size_t length = static_cast<size_t>(item->number);
        if (left - used < length + 2) return Step::kIncomplete;
        item->text = std::string_view(from + used, length);
        used += length + 2;
      }
      break;
    default: return Step::kMalformed;
  }
  at_ += used;
  return Step::kItem;
}

RespReader::Step RespReader::Skip() {
  int64_t open = 1;
  while (open > 0) {
    RespItem item;
    const Step step = Next(&item);
    if (step != Step::kItem) return step;
    --open;
    const bool array = item.type == '*' || item.type == '~' || item.type == '>';
    if (array && item.number > 0) open += item.number;
    if (item.type == '%' && item.number > 0) open += 2 * item.number;
  }
  return Step::kItem;
}

void AppendRespCommand(std::initializer_list<std::string_view> words, std::string* out) {
  AppendHead('*', words.size(), out);
  for (const std::string_view word : words) {
    AppendHead('$', word.size(), out);
    out->append(word);
    out->append("\r\n");
  }
}

}  // namespace vestq::bench
