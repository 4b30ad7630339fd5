#include "slurm/rest/rest_api.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "slurm/json_values.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

// `squeue --json` of 22.05 prints this version, too.
constexpr const char kVersion[] = "v0.0.38";
constexpr std::size_t kExcerptBytes = 200;
constexpr std::size_t kAnswerMax = 1 << 20;  // of a change
constexpr const char kNo_such_job[] = "Invalid job id specified";

Error unavailable(std::string what) {
  return Error{ErrorKind::kUnavailable, "slurmrestd", std::move(what), ""};
}

// What an answer to a change says went wrong; "": nothing. Its status may be 200 all the same.
std::string trouble_of(const RestAnswer& answer) {
  const Result<json> document = codec::parse_json(answer.body, kAnswerMax);
  if (!document.ok() || !document->is_object()) {
    return fmt::format("{}: {}", answer.status, answer.body.substr(0, kExcerptBytes));
  }
  const auto errors = document->find("errors");
  const bool has_errors = errors != document->end() && errors->is_array() && !errors->empty();
  if (!has_errors) return answer.status == 200 ? "" : fmt::format("{}", answer.status);
  const json& first = errors->front();
  if (!first.is_object()) return first.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string said = text_of(first, "error");
  return said.empty() ? text_of(first, "description") : said;
}

}  // namespace

Result<RestPlace> read_rest_place(const std::string& text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix) && text.size() > kUnix.size() && text[kUnix.size()] == '/') {
    return RestPlace{"http://localhost", text.substr(kUnix.size())};
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (text.starts_with(scheme) && text.size() > scheme.size()) return RestPlace{text, ""};
  }
  return Error{ErrorKind::kInvalid, "bad_rest_place",
               fmt::format("\"{}\" names no slurmrestd: give unix:/PATH, http://HOST:PORT or "
                           "https://HOST:PORT",
                           text),
               "rest"};
}

RestApi::RestApi(Call call) : call_(std::move(call)) {}

Result<RestAnswer> RestApi::ask(RestRequest request) const {
  request.target = fmt::format("/slurm/{}/{}", kVersion, request.target);
  TRY_ASSIGN(RestAnswer answer, call_(request));
  if (answer.status == 401 || answer.status == 403) {
    return unavailable(
        fmt::format("slurmrestd refuses {} ({}): its token may be over; `scontrol token` makes one",
                    request.target, answer.status));
  }
  if (answer.status == 404) {
    return unavailable(fmt::format("slurmrestd has no {}: it is to speak {} (-s openapi/{})",
                                   request.target, kVersion, kVersion));
  }
  return answer;
}

Result<std::string> RestApi::get(const char* what) const {
  TRY_ASSIGN(RestAnswer answer, ask({.target = what}));
  if (answer.status == 200) return std::move(answer.body);
  return unavailable(fmt::format("slurmrestd answers {} with {}: {}", what, answer.status,
                                 answer.body.substr(0, kExcerptBytes)));
}

Result<void> RestApi::cancel(std::int64_t job) const {
  TRY_ASSIGN(const RestAnswer answer,
             ask({.method = "DELETE", .target = fmt::format("job/{}", job)}));
  const std::string trouble = trouble_of(answer);
  if (trouble.empty() || trouble == kNo_such_job) return {};
  return unavailable(fmt::format("slurmrestd does not cancel job {}: {}", job, trouble));
}

Result<void> RestApi::change(std::int64_t job, const char* field, const std::string& value) const {
  // 22.05 takes numbers and truth values as words, too.
  TRY_ASSIGN(const RestAnswer answer, ask({.method = "POST",
                                           .target = fmt::format("job/{}", job),
                                           .body = codec::dump_json({{field, value}})}));
  const std::string trouble = trouble_of(answer);
  if (trouble.empty()) return {};
  return unavailable(fmt::format(
      "slurmrestd does not change {} of job {}: {} (it takes a token of root or SlurmUser)", field,
      job, trouble));
}

Result<void> RestApi::set_limit(std::int64_t job, std::int64_t limit_minutes) const {
  return change(job, "time_limit",
                limit_minutes == 0 ? "UNLIMITED" : std::to_string(limit_minutes));
}

Result<void> RestApi::set_comment(std::int64_t job, const std::string& text) const {
  return change(job, "comment", text);
}

Result<void> RestApi::release(std::int64_t job, std::int64_t priority) const {
  TRY(change(job, "hold", "false"));
  return change(job, "priority", std::to_string(priority));
}

}  // namespace dove::slurm
