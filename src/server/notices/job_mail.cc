#include "server/notices/job_mail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "notices/job_mail.h"
#include "notices/office.h"
#include "notices/target.h"

namespace dove::server {
namespace {

bool is_own(const core::State& state, const JobSpec& spec) {
  const auto user = state.users.find(spec.user);
  return user != state.users.end() &&
         std::ranges::any_of(user->second.notices, [&](const NoticeTarget& target) {
           return target.by == NoticeBy::kMail && target.to == spec.mail_to;
         });
}

bool is_allowed(const notices::Settings& settings, const std::string& address) {
  std::string domain = address.substr(address.rfind('@') + 1);
  std::ranges::transform(domain, domain.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(settings.mail_domains, domain) != settings.mail_domains.end();
}

Result<void> check_address(const Context& context, const JobSpec& spec) {
  const notices::Settings& settings = context.office.settings();
  if (!notices::is_mail_address(spec.mail_to)) {
    return invalid("bad_address",
                   fmt::format("{} is not a mail address; write a single NAME@HOST",
                               spec.mail_to.substr(0, 64)),
                   "mail_to");
  }
  if (is_own(context.state(), spec) || is_allowed(settings, spec.mail_to)) return {};
  const std::string others =
      settings.mail_domains.empty()
          ? std::string()
          : fmt::format(", or to one of {}", fmt::join(settings.mail_domains, ", "));
  return Error{ErrorKind::kDenied, "mail_not_yours",
               fmt::format("mail of a job goes to an address of yours{0}: `dove notices add --mail "
                           "{1}` makes {1} yours; without mail_to (--mail-user) it goes to those "
                           "that you have",
                           others, spec.mail_to),
               "mail_to"};
}

}  // namespace

Result<std::vector<std::string>> take_mail(const Context& context, JobSpec& spec) {
  std::vector<std::string> warnings;
  if (spec.mail_about.empty() && spec.mail_to.empty()) return warnings;
  if (!context.office.settings().smtp.has_value()) {
    warnings.emplace_back(
        "nobody is mailed: this cluster sends no mail; `dove notices add --webhook URL` reaches "
        "you in another way");
    spec.mail_about.clear();
    spec.mail_to.clear();
    return warnings;
  }
  if (!spec.mail_to.empty()) TRY(check_address(context, spec));
  if (spec.mail_about.empty()) {
    warnings.emplace_back(
        "nobody is mailed: say about what with mail_about (--mail-type=END,FAIL)");
  } else if (notices::job_targets(context.state(), spec).empty()) {
    warnings.emplace_back(
        "nobody is mailed: you have no address; `dove notices add --mail ADDRESS` makes one yours");
  } else if (!spec.array.indices.empty()) {
    warnings.emplace_back(
        "each element of the array sends its own mail, within your limit of notices an hour");
  }
  return warnings;
}

}  // namespace dove::server
