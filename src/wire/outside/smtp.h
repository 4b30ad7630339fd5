// Mail by SMTP, through the relay of a site.
//
// Blocks up to its time-out. Any thread.
#pragma once

#include <atomic>
#include <string>

#include "base/result.h"

namespace dove::wire {

struct SmtpRelay {
  std::string url;   // "smtp://mail.example.org:587", or smtps://
  std::string user;  // "": none is needed
  std::string password;
  std::string ca_file;  // "": the system's authorities
  bool plain = false;   // true: STARTTLS is not asked for
  int timeout_ms = 20'000;
};

// "smtp://HOST[:PORT]" or smtps://. Error kInvalid bad_url.
Result<std::string> host_of_relay(const std::string& url);

struct Mail {
  std::string from;  // addresses alone
  std::string to;
  std::string message;  // RFC 5322, lines that end with CR LF
};

// `stop` ends it within a second. Errors name the relay and hold no secret: kInvalid mail_refused
// (for good: a reply of 5xx to the recipient or the message) · kUnavailable mail_delayed (a reply
// of 4xx), host_unknown, unreachable, untrusted, broken, stopped · kTimeout timeout · kDenied
// login_refused.
Result<void> send_mail(const SmtpRelay& relay, const Mail& mail, const std::atomic<bool>& stop);

}  // namespace dove::wire
