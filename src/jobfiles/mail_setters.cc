#include "jobfiles/mail_setters.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "jobfiles/words.h"

namespace dove::jobfiles {
namespace {

struct Type {
  std::string_view name;
  std::vector<NoticeAbout> about;
  std::string_view warning = {};
};

const std::vector<Type>& types() {
  static const std::vector<Type> kTypes = {
      {"none", {}},
      {"begin", {NoticeAbout::kJobStarted}},
      {"end", {NoticeAbout::kJobEnded}},
      {"fail", {NoticeAbout::kJobFailed}},
      {"all", {NoticeAbout::kJobStarted, NoticeAbout::kJobEnded, NoticeAbout::kJobFailed}},
      {"invalid_depend", {NoticeAbout::kJobFailed}},
      {"time_limit", {NoticeAbout::kJobFailed}},
      {"time_limit_90", {NoticeAbout::kJobStopsSoon}, "you are told 15 minutes before the limit"},
      {"time_limit_80", {NoticeAbout::kJobStopsSoon}, "you are told 15 minutes before the limit"},
      {"time_limit_50", {NoticeAbout::kJobStopsSoon}, "you are told 15 minutes before the limit"},
      {"requeue", {}, "nobody is mailed that a job is queued again"},
      {"stage_out", {}, "there are no burst buffers"},
      {"array_tasks", {}},  // each element has a notice of its own anyhow
  };
  return kTypes;
}

}  // namespace

Result<void> set_mail_type(Draft& draft, const Option& option) {
  std::vector<NoticeAbout> about;
  for (const std::string_view item : split(option.value, ',')) {
    const std::string word = lower(trimmed(item));
    if (word.empty()) continue;
    const auto found = std::ranges::find(types(), word, &Type::name);
    if (found == types().end()) {
      return invalid(
          fmt::format("\"{}\" is no event: write BEGIN, END, FAIL, ALL, TIME_LIMIT_90 or "
                      "NONE, joined by commas",
                      shown(item)));
    }
    if (word == "none") about.clear();
    about.insert(about.end(), found->about.begin(), found->about.end());
    if (!found->warning.empty()) {
      draft.warn(option.place, "mail_type",
                 fmt::format("--mail-type={}: {}", word, found->warning));
    }
  }
  std::ranges::sort(about);
  about.erase(std::unique(about.begin(), about.end()), about.end());
  draft.submission.spec.mail_about = std::move(about);
  return {};
}

// A user's name stands for the addresses that they have; the server knows those of its own.
Result<void> set_mail_user(Draft& draft, const Option& option) {
  const std::string_view to = trimmed(option.value);
  const bool is_self = draft.context != nullptr && to == draft.context->user;
  draft.submission.spec.mail_to = is_self ? std::string() : std::string(to);
  return {};
}

}  // namespace dove::jobfiles
