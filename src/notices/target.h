// Targets: where notices may go, and how they are spoken of. URLs of webhooks are secrets (whoever
// knows one may post there), so they are shown by their host.
//
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/people.h"

namespace dove::notices {

struct Settings;

// "ada@example.org": printable ASCII, one @, a host after it; no quotes, no line ends.
bool is_mail_address(std::string_view text);

// Errors, all kInvalid and with a remedy: no_mail, no_webhooks, bad_address, domain_refused,
// bad_url, https_only, address_refused, nothing_chosen, too_many_targets, same_target.
Result<void> check_targets(const Settings& settings, const std::vector<NoticeTarget>& targets);

// "ada@example.org", "https://hooks.example.org/***1a2b3c4d": told apart, but not usable.
std::string shown(const NoticeTarget& target);
// The same target as it is declared, where `targets` have it as shown() says it; else itself.
// Error kInvalid unknown_target: it is written as shown() writes it, and stands for no declared
// one.
Result<NoticeTarget> unshown(const NoticeTarget& target, const std::vector<NoticeTarget>& declared);

// The host of it: who has to be reached. Notices for one host wait for each other, no others.
std::string lane_of(const NoticeTarget& target);
// 16 hexadecimal digits of where it leads, for one person; no secret.
std::string target_id(const std::string& user, const NoticeTarget& target);
// What receivers tell doubles by: of the cluster, the notice's key and the target.
std::string notice_id(const std::string& cluster_id, const std::string& key,
                      const std::string& target_id);

}  // namespace dove::notices
