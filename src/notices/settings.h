// Settings: what a site says of its notices, as the administrator's file has it.
//
//   smtp:
//     url: smtp://mail.example.org:587
//     from: dove@example.org
//   webhook_networks: [10.20.0.0/16]
//
// docs/operate/notices.md has all fields. Values only, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/time.h"
#include "wire/outside/networks.h"
#include "wire/outside/smtp.h"

namespace dove::notices {

struct Settings {
  std::optional<wire::SmtpRelay> smtp;    // unset: nobody gets mail
  std::string from;                       // of all mail
  std::vector<std::string> mail_domains;  // only addresses there; empty: everywhere
  bool webhooks = true;                   // false: nobody has any
  wire::Networks webhook_networks;        // beside the public ones
  bool http_webhooks = false;             // without TLS, too
  std::string ca_file;                    // of webhooks' servers; "": the system's
  std::int64_t per_hour = 60;             // notices for one person
  Span soon = seconds(900);               // before a job starts or is stopped
};

// Errors: kNotFound cannot_read; kInvalid bad_notices_file, which names file, line and remedy.
Result<Settings> read_settings(const std::string& path);

}  // namespace dove::notices
