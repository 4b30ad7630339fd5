// GrpcLink: gRPC over one connected socket, as much of it as device plug-ins need: unary calls, and
// calls with a stream of answers. Either end.
//
// HTTP/2 is libnghttp2's, which curl brings anyway; gRPC's own library would be 57 more (24 MB of
// every agent's memory). No compression, no metadata of users, no TLS: the sockets are local ones
// of root. Messages are at most 4 MiB.
//
// Source: gRPC over HTTP2 (PROTOCOL-HTTP2.md). Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "wire/loop.h"

namespace dove::devices::kubelet {

inline constexpr int kGrpcOk = 0;
inline constexpr int kGrpcInvalidArgument = 3;
inline constexpr int kGrpcUnimplemented = 12;
inline constexpr int kGrpcUnavailable = 14;

struct GrpcStatus {
  int code = kGrpcOk;
  std::string message;
};

class GrpcLink {
 public:
  // A call's answers, and its end, once.
  struct Receiver {
    std::function<void(const std::string& message)> message;
    std::function<void(const GrpcStatus& status)> end;
  };
  // Serves one method: the answer's message, or why there is none.
  using Serve = std::function<GrpcStatus(const std::string& path, const std::string& message,
                                         std::string* answer)>;

  // Takes over the descriptor of a connected stream socket.
  static std::unique_ptr<GrpcLink> client(wire::Loop& loop, int fd);
  // `closed` is called once, in a turn of its own, when the other end is gone.
  static std::unique_ptr<GrpcLink> server(wire::Loop& loop, int fd, Serve serve,
                                          std::function<void()> closed);
  // Nobody is called any more.
  ~GrpcLink();
  GrpcLink(const GrpcLink&) = delete;
  GrpcLink& operator=(const GrpcLink&) = delete;

  // `path` is "/package.Service/Method". A link that breaks ends all calls with kGrpcUnavailable.
  void call(const std::string& path, const std::string& message, Receiver receiver);

 private:
  struct State;
  explicit GrpcLink(std::shared_ptr<State> state);
  std::shared_ptr<State> state_;
};

}  // namespace dove::devices::kubelet
