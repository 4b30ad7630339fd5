// ApiServer: the HTTP API of api/openapi.yaml, and the calls that a backend's agents make.
//
// It reads from its own fold of committed batches, never from the core; it changes things by
// submitting events to the controller and answers when they are durable. Everything runs on the
// loop's thread. Use:
//
//   wire::Loop loop;
//   backends::NativeBackend backend;
//   controller::Controller controller(*store, *store, backend, options);
//   TRY(controller.open());
//   TRY_ASSIGN(auto api, server::ApiServer::make(loop, api_options, controller, backend, *store));
//   controller.start();
//   loop.run();          // until a signal calls api->shutdown([&] { loop.stop(); })
//   controller.stop();   // before the ApiServer and the loop are destroyed
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/node_backend.h"
#include "base/result.h"
#include "controller/controller.h"
#include "hook/answer.h"
#include "listener/throttle.h"
#include "notices/place.h"
#include "notices/settings.h"
#include "openid/provider.h"
#include "pam/check.h"
#include "server/standing/controllers.h"
#include "store/log_store.h"
#include "wire/loop.h"
#include "wire/tls/tls.h"

namespace dove::server {

class AgentsPort;

// With TLS people and agents have a port each: strangers never reach a parser of the agents'.
struct ApiTls {
  std::shared_ptr<const wire::Tls> people;
  bool is_own = false;  // what people are shown is from `authority`
  wire::Credentials authority;
  std::shared_ptr<wire::Tls> agents;
  std::uint16_t agents_port = 0;          // 0: a free one
  std::shared_ptr<AgentsPort> port = {};  // of `agents`, where it is open already
  std::int64_t node_valid_s = 24 * 3600;  // a node's certificate
};

// A server's authorities while one follows another (listener/node_authority.h).
struct ApiAuthorities {
  wire::Credentials shown;
  std::optional<wire::Credentials> next;
  std::function<void(const std::string& node)> certified;
};

struct ApiOptions {
  std::string data_dir;  // exists; holds `token`, `secret`, `identity.pem`: 0600, made when missing
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
  std::string version = "0.1.0";
  std::int64_t heartbeat_us = 2'000'000;       // what agents are told
  std::int64_t report_burst = 50'000;          // events that a node may have written down at once
  std::int64_t count_every_us = 5'000'000;     // between two counts of GPU time
  bool log_is_remote = false;                  // the store is across a network
  bool reads_aside = false;                    // nothing waits on the loop for the store's disk
  std::optional<ApiTls> tls = {};              // unset: one plain port for everybody
  std::vector<openid::Provider> sign_in = {};  // services that people sign in at
  std::string public_url = {};  // "https://gpu.example.org", by which others know this server
  notices::Settings notices = {};
  notices::Place notices_place = {};  // unset: a file in data_dir
  // The origins of sessions, where there is a proxy: "https://*.apps.example.org", or
  // "http://127.0.0.1:20000-20099" (text/session_origins.h).
  std::string sessions_url = {};
  // Whether that is the password of a Linux account that people may sign in with; blocks, for
  // seconds at most, in any thread. Unset: they may not.
  std::function<Result<pam::Account>(const std::string& user, const std::string& password)>
      check_password = {};
  // Whom the site's hook lets in; blocks, for seconds at most, in any thread. Unset: there is none.
  // REQUIRES: not both of these.
  hook::Ask ask_hook = {};
  bool local_passwords = false;  // people sign in with passwords that only this server knows
  // Why nobody is to be answered now, though everything runs: the controller may not lead any more.
  // Asked at every request but GET /healthz; unset: it always may.
  std::function<std::optional<Error>()> silence = {};
  ControllerPeers controllers = {};
  std::shared_ptr<listener::RefusalTally> refused = nullptr;  // as in DeskOptions
  listener::ThrottleLimits throttle = {};
  // What is worth knowing of the log, as /readyz tells it; "": nothing. Any moment, loop thread.
  std::function<std::string()> log_note = {};
  // The log is behind what an agent has seen, or the controller failed: the program must end with
  // this message. Called once, on the loop's thread.
  std::function<void(const Error&)> on_fatal;
};

class ApiServer {
 public:
  // Listens and subscribes to `controller`. REQUIRES: the controller is open and not running.
  // Errors: address_in_use, bind_denied, bad_address, data_dir, key_damaged, bad_identity_key,
  // bad_sessions_url.
  static Result<std::unique_ptr<ApiServer>> make(wire::Loop& loop, ApiOptions options,
                                                 controller::Controller& controller,
                                                 backends::NodeBackend& backend,
                                                 store::LogStore& log);
  ~ApiServer();
  // What a log of a former version says in former ways is written anew. REQUIRES: the controller
  // runs.
  void begin();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  std::uint16_t port() const;
  std::uint16_t agents_port() const;  // port(), where there is no TLS
  // Where the administrator's token lies, for messages: "<data>/token".
  std::string token_path() const;
  // Nodes that are there and talk to us. Loop thread.
  std::int64_t nodes_connected() const;
  // REQUIRES: there is TLS, and the credentials are those of authorities.
  void follow(const ApiAuthorities& authorities);
  // Submits JoinTokenIssued and gives the token, for `dove up`'s own agents; the token is valid
  // once `done` was called (loop thread). Loop thread.
  void issue_join_token(const std::string& node, Span valid_for,
                        std::function<void(Result<std::string>)> done);
  // Stops accepting, ends streams, answers what is in progress for at most a few seconds.
  void shutdown(std::function<void()> on_done);
  // Another controller is to lead: notices are its to send, once `done` was called, in any thread.
  void rest_notices(std::chrono::microseconds at_most, std::function<void()> done);
  // It answers nobody any more, and the controller and the backend are free for another one. What
  // was asked of others may still come back to it, so it is destroyed a while later. REQUIRES: the
  // controller has stopped.
  void retire();

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dove::server
