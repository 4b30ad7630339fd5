// Api: what the proxy asks the server, as anybody could. It has no credential of its own: each call
// shows the token of the browser that it is for. Where there are several controllers it asks the
// one that leads, and looks for that one before anybody comes.
//
// Loop thread only. Callbacks come in a later turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "proxy/app_link.h"
#include "wire/cluster/cluster_client.h"
#include "wire/loop.h"

namespace dove::proxy {

// What a code was traded for.
struct Entry {
  std::uint64_t job = 0;
  std::string token;
  std::string user;
  std::string path;
  std::int64_t ends_us = 0;  // by the steady clock
  // Whether the app itself says when it was used: what its page sends on WebSockets does not.
  bool app_tells = false;
};

// The job as the visitor sees it.
struct SessionView {
  std::uint64_t job = 0;
  std::string app;
  std::string name;
  std::string phase;  // "waiting", "active", "ended"
  std::string state;
  std::string why;
  std::string promised_start;
  std::int64_t runs_for_us = -1;  // -1: it does not run
  bool may_read = false;
};

class Api {
 public:
  Api(wire::Loop& loop, wire::ControllersPtr controllers);

  // The leader's URL, as far as is known.
  const std::string& url() const { return (*controllers_)[controllers_->at()].url; }

  void trade(const std::string& code, const std::string& nonce, const std::string& origin,
             std::function<void(Result<Entry>)> done);
  void look(std::uint64_t job, const std::string& token,
            std::function<void(Result<SessionView>)> done);
  // The last lines of its standard error, else of its output; "" when there are none.
  void last_lines(std::uint64_t job, const std::string& token,
                  std::function<void(std::string)> done);
  void note_input(std::uint64_t job, const std::string& token, std::int64_t ago_ms);
  AppLink::Open link(std::uint64_t job, const std::string& token);

 private:
  wire::Request request(const char* method, const std::string& target,
                        const std::string& token) const;
  void look_for_leader();
  void lines_of(std::uint64_t job, const std::string& token, bool is_stderr,
                std::function<void(std::string)> done);

  wire::Loop& loop_;
  const wire::ControllersPtr controllers_;
  wire::ClusterClient trades_;  // strangers cause them: they hold up nobody who is in
  std::size_t trading_ = 0;
  wire::ClusterClient calls_;
  wire::ClusterClient logs_;  // of a node that answers slowly: they hold up nobody's entry
  wire::ClusterClient looks_;
  wire::Timer look_timer_;
};

}  // namespace dove::proxy
