// ServerLink: what the SSH gateway asks of the server, by the public API alone. It
// asks the controller that leads. The process that announces the gateway finds which one that is,
// and tells the processes of connections by memory that all of them share.
//
// One thread. call()s block, for ten seconds at most, and while nobody leads for kLeaderWait more:
// a connection's own process waits for them, and nobody else.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/cluster/cluster_client.h"
#include "wire/loop.h"
#include "wire/web_socket/web_socket.h"

namespace dove::ssh {

struct ServerSettings {
  std::string url;      // or several controllers: URL,URL
  std::string token;    // the gateway's
  std::string ca_file;  // authorities of an https:// server; "": the system's
};

// Where people find the gateway.
struct Announcement {
  std::string address;
  std::uint16_t port = 0;
  std::vector<std::string> host_keys;
};

struct Entry {
  std::string user;
  std::string token;  // good for one job
};

class ServerLink {
 public:
  // Errors: bad_url, and of the authorities' file.
  static Result<ServerLink> make(ServerSettings settings);

  bool has_several() const { return controllers_->has_several(); }

  Result<void> announce(const Announcement& announcement) const;
  // `key`: a line; its possession was proved. Errors: the server's.
  Result<Entry> sign_in(const std::string& key, const std::string& job,
                        const std::string& address) const;
  std::unique_ptr<wire::WebSocket> open(wire::Loop& loop, const std::string& token,
                                        const std::string& target,
                                        wire::WebSocketCallbacks callbacks) const;

 private:
  Result<std::string> call(const std::string& method, const std::string& target,
                           const std::string& body) const;

  ServerSettings settings_;
  wire::ControllersPtr controllers_;
  std::shared_ptr<std::atomic<std::uint32_t>> leader_;  // its place, of all processes
};

// What a refused WebSocket, or {"error": ...} on one, says to people.
std::string message_of_closed(const Error& closed);

}  // namespace dove::ssh
