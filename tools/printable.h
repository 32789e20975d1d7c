// Text of a job, a worker or a server on the way to a person's terminal. Pure.
#pragma once

#include <string>
#include <string_view>

namespace vestq {

// The same without anything that a terminal obeys or that ends a line: control characters (those of ASCII, DEL, and
// U+0080 to U+009F) and bytes that are no UTF-8 stand as \n, \r, \t, or as \x and two digits for each of their
// bytes. So a row of a table stays one whatever a reason or a space holds. It is for looking at, not for reading
// back: a backslash stays as it is; --json keeps every byte.
[[nodiscard]] std::string Printable(std::string_view text);

// The end of `text`, at most `at_most` bytes, that does not begin inside a character of UTF-8.
[[nodiscard]] std::string_view Tail(std::string_view text, size_t at_most);

}  // namespace vestq
