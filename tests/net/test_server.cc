#include "tests/net/test_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace vestq::nettest {
namespace {
constexpr int kPatienceMs = 20'000;
const Value kEnd;
}  // namespace

std::string Value::ToString() const {
  switch (type) {
    case 0: return "(end)";
    case '-': return "-" + text;
    case ':': return ":" + std::to_string(number);
    case '_': return "(null)";
    case '*':
    case '~':
    case '>':
    case '%': {
      std::string out = type == '%' ? "{" : "[";
      for (size_t i = 0; i < items.size(); ++i) {
        if (i > 0) out += ", ";
        out += items[i].ToString();
      }
      return out + (type == '%' ? "}" : "]");
    }
    default: return text;
  }
}

const Value& Value::at(std::string_view key) const {
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].text == key) return items[i + 1];
  }
  return kEnd;
}

int Client::NewSocket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

Client::Client(uint16_t port, int fd) : fd_(fd) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    ADD_FAILURE() << "connect: " << std::strerror(errno);
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Client::~Client() { Close(); }

void Client::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

void Client::Reset() {
  const linger hard{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  Close();
}

void Client::CloseWrite() { shutdown(fd_, SHUT_WR); }

void Client::SendRaw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return;  // the peer has closed: what it said is read next
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

std::string Encode(const std::vector<std::string_view>& args) {
  std::string out = "*" + std::to_string(args.size()) + "\r\n";
  for (std::string_view arg : args) {
    out.append("$").append(std::to_string(arg.size())).append("\r\n").append(arg).append("\r\n");
  }
  return out;
}

void Client::Send(const std::vector<std::string_view>& args) { SendRaw(Encode(args)); }

bool Client::Readable(int timeout_ms) {
  if (at_ < buffer_.size()) return true;
  pollfd p{fd_, POLLIN, 0};
  return poll(&p, 1, timeout_ms) > 0;
}

bool Client::Fill() {
  if (at_ > (1 << 20)) {
    buffer_.erase(0, at_);
    at_ = 0;
  }
  if (!Readable(kPatienceMs) && at_ == buffer_.size()) {
    ADD_FAILURE() << "no reply within " << kPatienceMs << " ms";
    return false;
  }
  pollfd p{fd_, POLLIN, 0};
  if (poll(&p, 1, kPatienceMs) <= 0) {
    ADD_FAILURE() << "half a reply";
    return false;
  }
  char bytes[65536];
  const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
  if (n <= 0) return false;
  buffer_.append(bytes, static_cast<size_t>(n));
  return true;
}

std::string Client::Line() {
  size_t end;
  while ((end = buffer_.find("\r\n", at_)) == std::string::npos) {
    if (!Fill()) return "";
  }
  std::string line = buffer_.substr(at_, end - at_);
  at_ = end + 2;
  return line;
}

Value Client::Read() {
  Value value;
  const std::string line = Line();
  if (line.empty()) return value;
  value.type = line[0];
  const std::string rest = line.substr(1);
  switch (line[0]) {
    case '+':
    case '-': value.text = rest; break;
    case ':': value.number = std::stoll(rest); break;
    case '_': break;
    case '$':
    case '=': {
      if (rest == "-1") {
        value.type = '_';
        break;
      }
      const size_t size = std::stoull(rest);
      while (buffer_.size() - at_ < size + 2) {
        if (!Fill()) return Value();
      }
      value.text = buffer_.substr(at_, size);
      at_ += size + 2;
      break;
    }
    case '*':
    case '~':
    case '>':
    case '%': {
      if (rest == "-1") {
        value.type = '_';
        break;
      }
      const size_t n = std::stoull(rest) * (line[0] == '%' ? 2 : 1);
      for (size_t i = 0; i < n; ++i) value.items.push_back(Read());
      break;
    }
    default: ADD_FAILURE() << "not RESP: " << line; break;
  }
  return value;
}

Value Client::Call(const std::vector<std::string_view>& args) {
  Send(args);
  return Read();
}

bool Client::Ended() {
  if (at_ < buffer_.size()) return false;
  pollfd p{fd_, POLLIN, 0};
  if (poll(&p, 1, kPatienceMs) <= 0) return false;
  char byte;
  return recv(fd_, &byte, 1, 0) <= 0;
}

size_t ResidentBytes() {
  unsigned long size = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%lu %lu", &size, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

ServerTest::ServerTest() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vestq-net-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
}

ServerTest::~ServerTest() {
  CloseServer();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool ServerTest::Open(const SessionLimits& limits, size_t connections_max) {
  EngineOptions options;
  options.path = folder_ + "/data";
  options.cores = static_cast<uint16_t>(std::get<1>(GetParam()));
  options.memory = uint64_t{64} << 20;
  options.clock = clock_;
  options.durability = durability_;
  Result<std::unique_ptr<Engine>> engine = Engine::Open(options);
  if (!engine.ok()) {
    ADD_FAILURE() << engine.error().ToString();
    return false;
  }
  engine_ = std::move(*engine);
  ServerOptions server;
  server.resp = "127.0.0.1:0";
  server.io = std::get<0>(GetParam());
  server.limits = limits;
  server.connections_max = connections_max;
  server.on_shutdown = [this] { ++shutdowns_; };
  Result<std::unique_ptr<Server>> started = Server::Start(engine_.get(), server);
  if (!started.ok()) {
    if (started.error().code() != ErrorCode::kUnsupported)
      ADD_FAILURE() << started.error().ToString();
    return false;
  }
  server_ = std::move(*started);
  return true;
}

void ServerTest::CloseServer() {
  if (server_ != nullptr) server_->Stop(Seconds(1));
  if (engine_ != nullptr) {
    const Error error = engine_->Close();
    EXPECT_TRUE(error.ok()) << error.ToString();
  }
  server_.reset();
  engine_.reset();
}

std::string ServerTestName(const testing::TestParamInfo<std::tuple<IoKind, int>>& info) {
  return std::string(std::get<0>(info.param) == IoKind::kUring ? "uring" : "epoll") + "_" +
         std::to_string(std::get<1>(info.param)) +
         (std::get<1>(info.param) == 1 ? "_core" : "_cores");
}

}  // namespace vestq::nettest
