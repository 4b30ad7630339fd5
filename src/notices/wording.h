// Wording: what a notice says: to people in mail and chat, to programs at a webhook.
//
// Names of jobs are written by whoever submits them: no text of theirs begins a header, a link or a
// mention. Nothing of what a job prints is told, which may be secret. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "model/time.h"
#include "notices/notice.h"

namespace dove::notices {

// What every notice of this cluster has.
struct Origin {
  std::string cluster;  // its name
  std::string url;      // of its console; "": not known
};

// "[gpu] job 7 (train) failed: exit code 3", a line of printable characters.
std::string subject_of(const Notice& notice, const Origin& origin);
// A few lines, with a link to the console.
std::string text_of(const Notice& notice, const Origin& origin);

// RFC 5322: headers and text, lines that end with CR LF. `from`, `to`: addresses alone.
std::string mail_of(const Notice& notice, const Origin& origin, const std::string& from,
                    const std::string& to, const std::string& id, Instant now);
// NoticeBody of api/openapi.yaml.
nlohmann::json webhook_body(const Notice& notice, const Origin& origin, const std::string& id);
// {"text": ...}, as Slack's incoming webhooks take it, and others after them.
nlohmann::json slack_body(const Notice& notice, const Origin& origin);

// RFC 2047: `text` as it may stand in a header, folded; ASCII stays as it is.
std::string header_text(std::string_view text);
// RFC 2045, 6.7.
std::string quoted_printable(std::string_view text);

}  // namespace dove::notices
