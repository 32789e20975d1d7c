// What removes many jobs asks a person first.
#pragma once

#include <string>

namespace vestq {

// Puts the question on stderr and reads a line of stdin; true for one that begins with y. Without a terminal on stdin
// nobody is asked, and it is false.
[[nodiscard]] bool AskedAndYes(const std::string& question);
// Whether somebody sits there to be asked.
[[nodiscard]] bool CanAsk();

}  // namespace vestq
