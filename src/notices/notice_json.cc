// What is kept of notices that wait, and what a webhook is told.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/words.h"
#include "notices/notice.h"

namespace dove::notices {

using Json = nlohmann::json;

Json notice_json(const Notice& notice) {
  return Json{{"about", codec::word(notice.about)},
              {"key", notice.key},
              {"user", notice.user},
              {"at_us", notice.at.us},
              {"job", notice.job.value},
              {"attempt", notice.attempt},
              {"job_name", notice.job_name},
              {"node", notice.node},
              {"what", notice.what},
              {"why", notice.why},
              {"exit_code", notice.exit_code},
              {"then_us", notice.then.us}};
}

Result<Notice> read_notice(const Json& json) {
  const Error wrong{ErrorKind::kCorrupt, "bad_notice", "that is no notice that was kept", ""};
  if (!json.is_object()) return wrong;
  try {
    Notice out;
    const auto words = codec::notice_subjects();
    const auto about = std::ranges::find(words, json.at("about").get<std::string>());
    if (about == words.end()) return wrong;
    out.about = static_cast<NoticeAbout>(about - words.begin());
    out.key = json.at("key").get<std::string>();
    out.user = json.at("user").get<std::string>();
    out.at = Instant{json.at("at_us").get<std::int64_t>()};
    out.job = JobId(json.at("job").get<std::uint64_t>());
    out.attempt = json.at("attempt").get<AttemptNumber>();
    out.job_name = json.at("job_name").get<std::string>();
    out.node = json.at("node").get<std::string>();
    out.what = json.at("what").get<std::string>();
    out.why = json.at("why").get<std::string>();
    out.exit_code = json.at("exit_code").get<std::int32_t>();
    out.then = Instant{json.at("then_us").get<std::int64_t>()};
    return out;
  } catch (const Json::exception&) {
    return wrong;
  }
}

}  // namespace dove::notices
