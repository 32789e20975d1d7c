#include "tools/address.h"

#include <charconv>

namespace vestq {

std::string Address::ToString() const {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Address> ParseAddress(std::string_view text) {
  const Error wrong(
      ErrorCode::kSyntax,
      "\"" + std::string(text) +
          "\" is not an address: write HOST:PORT, such as 127.0.0.1:7733 or [::1]:7733");
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong;
  }
  Address address;
  address.host = host;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (host.empty() || port.empty() || error != std::errc() || end != port.data() + port.size())
    return wrong;
  return address;
}

}  // namespace vestq
