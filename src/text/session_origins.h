// SessionOrigins: the origin that each session has of its own, so that its page can do nothing to
// the console or to another session: a name under a wildcard, else one port of a range.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dove::text {

class SessionOrigins {
 public:
  // "https://*.apps.example.org", also with a port; "http://127.0.0.1:20000-20099". None: neither.
  static std::optional<SessionOrigins> parse(std::string_view text);

  // "https://j42.apps.example.org", "http://127.0.0.1:20042". In a range, jobs whose numbers differ
  // by a multiple of its length have the same.
  std::string origin_of(std::uint64_t job) const;
  // As a browser sends it in Host: "j42.apps.example.org", "127.0.0.1:20042".
  std::string host_of(std::uint64_t job) const;
  // The same for a port of the range: "127.0.0.1:20042".
  std::string host_at(std::uint16_t port) const { return host_ + ":" + std::to_string(port); }
  // The job that has this name; 0: nobody's, or these origins are ports.
  std::uint64_t job_of(std::string_view host) const;

  bool by_name() const { return by_name_; }
  bool secure() const { return secure_; }
  std::uint16_t first_port() const { return first_port_; }
  std::uint16_t last_port() const { return last_port_; }

 private:
  std::string scheme() const { return secure_ ? "https://" : "http://"; }

  bool secure_ = false;
  bool by_name_ = false;
  std::string host_;  // behind "j42.", or in front of the port
  std::uint16_t first_port_ = 0;
  std::uint16_t last_port_ = 0;  // by name: the same, 0 where the scheme says it
};

}  // namespace dove::text
