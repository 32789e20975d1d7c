// The network side of a daemon: one reactor thread for each core of an engine, and the sockets they
// serve.
//
// The first reactor accepts and hands each connection to the reactor that has fewest. Every
// function may be called from any thread but a reactor's.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"
#include "net/server_options.h"
#include "net/server_shared.h"

namespace vestq {

class Server {
 public:
  // Binds, starts the reactors (which from then on own the engine's cores) and accepts. Sets the
  // engine's failure callback. With IoKind::kAuto epoll serves where io_uring is refused, after one
  // line to options.log that names the reason. Errors: those of ListenOn; kUnsupported when
  // io_uring was asked for and is refused. Nothing runs after an error. REQUIRES: no Turn has been
  // made; the server lives until Engine::Close has returned.
  static Result<std::unique_ptr<Server>> Start(Engine* engine, ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  uint16_t port() const { return shared_.port; }
  const std::string& address() const { return shared_.address; }
  const std::string& io_name() const { return shared_.io_name; }  // "io_uring" or "epoll"

  // Accepts no more, answers waiting LEASEs with null and delivers what is under way, for at most
  // `grace`; then closes everything and ends the reactors. Leases that no client has heard of are
  // given back. Blocks. Idempotent.
  void Stop(Duration grace);

 private:
  explicit Server(Engine* engine) { shared_.engine = engine; }
  Error StartReactors(IoKind io);

  ServerShared shared_;
  int listen_fd_ = -1;
  bool stopped_ = false;
};

}  // namespace vestq
