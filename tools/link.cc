#include "tools/link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

#include "engine/base/check.h"
#include "tools/client.h"
#include "tools/time_text.h"

namespace vestq {
namespace {

constexpr int64_t kBackoffMinMs = 50;
constexpr int64_t kBackoffMaxMs = 2000;
constexpr int64_t kConnectMs = 5000;
// A peer that vanished without a word is noticed after this long, waiting (keep-alive) or with data
// on the way.
constexpr int kDeadPeerSeconds = 15;
constexpr unsigned kUnackedMs = 30'000;

}  // namespace

int64_t NowMs() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

void Link::Send(const std::vector<std::string_view>& command, Handler handler, int64_t wait_ms) {
  CHECK(up());
  std::vector<const char*> words;
  std::vector<size_t> sizes;
  for (const std::string_view word : command) {
    words.push_back(word.data() == nullptr ? "" : word.data());
    sizes.push_back(word.size());
  }
  redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(),
                         sizes.data());
  sent_.push_back({std::move(handler), NowMs() + patience_ms_ + wait_ms, wait_ms});
  unsent_ = true;
}

void Link::HalfClose() {
  if (state_ == State::kUp && unsent_) Flush();
  if (state_ != State::kUp || sent_.empty()) return Close();
  state_ = State::kClosing;
  ::shutdown(context_->fd, SHUT_WR);
}

void Link::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosing;
  Down("");
}

pollfd Link::Poll() const {
  pollfd entry{context_ == nullptr ? -1 : context_->fd, POLLIN, 0};
  if (state_ == State::kConnecting) entry.events = POLLOUT;
  if ((state_ == State::kUp || state_ == State::kGreeting) && unsent_)
    entry.events = POLLIN | POLLOUT;
  return entry;
}

void Link::OnEvents(short events) {
  if (context_ == nullptr || events == 0) return;
  if (state_ == State::kConnecting) return OnConnected();
  if ((events & POLLOUT) != 0) Flush();
  if (context_ != nullptr && (events & (POLLIN | POLLHUP | POLLERR)) != 0) Read();
}

int64_t Link::Tick(int64_t now_ms) {
  if (state_ == State::kDown) {
    if (now_ms < try_at_ms_) return try_at_ms_ - now_ms;
    Connect(now_ms);
    return state_ == State::kDown ? std::max<int64_t>(1, try_at_ms_ - now_ms) : kConnectMs;
  }
  if (state_ == State::kConnecting || state_ == State::kGreeting) {
    if (now_ms >= connect_by_ms_) {
      Down(state_ == State::kConnecting ? "no answer to the connection attempt"
                                        : "what listens there does not answer");
    }
    return std::max<int64_t>(1, (state_ == State::kDown ? try_at_ms_ : connect_by_ms_) - now_ms);
  }
  const int64_t silent_in = SilentIn(now_ms);
  if (silent_in != 0) return silent_in;
  Down("no answer for " + SpanText(patience_ms_) + " (--timeout)");
  return 1;
}

int64_t Link::SilentIn(int64_t now_ms) const {
  if (sent_.empty() || patience_ms_ == 0) return -1;
  const Sent& first = sent_.front();
  const int64_t by_ms = std::max(first.answer_by_ms, heard_ms_ + patience_ms_ + first.wait_ms);
  return std::max<int64_t>(0, by_ms - now_ms);
}

void Link::Connect(int64_t now_ms) {
  backoff_ms_ = std::clamp(backoff_ms_ * 2, kBackoffMinMs, kBackoffMaxMs);
  try_at_ms_ = now_ms + backoff_ms_;
  connect_by_ms_ = now_ms + kConnectMs;
  context_.reset(redisConnectNonBlock(address_.host.c_str(), address_.port));
  CHECK(context_ != nullptr, "hiredis could not allocate a connection");
  state_ = State::kConnecting;
  if (context_->err != 0) Down(context_->errstr);
}

void Link::OnConnected() {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(context_->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return Down(std::strerror(error));
  redisEnableKeepAlive(context_.get());
  setsockopt(context_->fd, IPPROTO_TCP, TCP_KEEPIDLE, &kDeadPeerSeconds, sizeof kDeadPeerSeconds);
  setsockopt(context_->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnackedMs, sizeof kUnackedMs);
  state_ = State::kGreeting;
  redisAppendCommand(context_.get(), "PING");
  unsent_ = true;
  Flush();
}

void Link::OnGreeted(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) return Down(std::string(reply.str, reply.len));
  state_ = State::kUp;
  if (reported_down_) spdlog::info("{}: connected to {} again", name_, address_.ToString());
  reported_down_ = false;
}

void Link::Flush() {
  int done = 0;
  if (redisBufferWrite(context_.get(), &done) != REDIS_OK) return Down(context_->errstr);
  unsent_ = done == 0;
}

void Link::Read() {
  const bool readable = redisBufferRead(context_.get()) == REDIS_OK;
  const std::string why = readable ? "" : context_->errstr;
  heard_ms_ = NowMs();
  while (context_ != nullptr && (state_ == State::kGreeting || !sent_.empty())) {
    void* raw = nullptr;
    if (redisGetReplyFromReader(context_.get(), &raw) != REDIS_OK) {
      return Down(ConnectionErrorText(*context_));
    }
    if (raw == nullptr) break;
    const std::unique_ptr<void, void (*)(void*)> reply(raw, freeReplyObject);
    if (state_ == State::kGreeting) {
      OnGreeted(*static_cast<const redisReply*>(raw));
      continue;
    }
    const Handler handler = std::move(sent_.front().handler);
    sent_.pop_front();
    backoff_ms_ = 0;
    handler(static_cast<const redisReply*>(raw));
  }
  if (!readable && context_ != nullptr) return Down(why);
  if (state_ == State::kClosing && sent_.empty()) Close();
}

void Link::Down(const std::string& why) {
  const bool closing = state_ == State::kClosing;
  context_.reset();
  state_ = closing ? State::kClosed : State::kDown;
  unsent_ = false;
  if (!closing && !reported_down_) {
    spdlog::warn("{}: no connection to {}: {}; trying again", name_, address_.ToString(), why);
    reported_down_ = true;
  }
  try_at_ms_ = std::max(try_at_ms_, NowMs() + kBackoffMinMs);
  const std::deque<Sent> unanswered = std::exchange(sent_, {});
  for (const Sent& sent : unanswered) sent.handler(nullptr);
}

}  // namespace vestq
