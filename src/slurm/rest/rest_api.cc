#include "slurm/rest/rest_api.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "slurm/json_values.h"

namespace dove::slurm {
namespace {

using nlohmann::json;

constexpr std::size_t kExcerptBytes = 200;
constexpr std::size_t kAnswerMax = 1 << 20;  // of a change
constexpr const char kNo_such_job[] = "Invalid job id specified";
constexpr const char kEnds_already[] = "Job/step already completing or completed";

Error unavailable(std::string what) {
  return Error{ErrorKind::kUnavailable, "slurmrestd", std::move(what), ""};
}

// Newer versions list jobs in their answers: "results" of an update (since v0.0.39), and "status"
// of a cancelled job (since 24.05). A job that was not changed may be there alone, and in no
// "errors".
std::string trouble_of_job(const json& one) {
  if (!one.is_object()) return "";
  const auto error = one.find("error");
  if (error != one.end() && error->is_object()) {
    return number_of(*error, "code").value_or(0) == 0 ? "" : text_of(*error, "string");
  }
  return number_of(one, "error_code").value_or(0) == 0 ? "" : text_of(one, "error");
}

std::string trouble_in_lists(const json& document) {
  for (const char* name : {"results", "status"}) {
    const auto list = document.find(name);
    if (list == document.end() || !list->is_array()) continue;
    for (const json& one : *list) {
      if (std::string trouble = trouble_of_job(one); !trouble.empty()) return trouble;
    }
  }
  return "";
}

// What an answer to a change says went wrong; "": nothing. Its status may be 200 all the same.
std::string trouble_of(const RestAnswer& answer) {
  const Result<json> document = codec::parse_json(answer.body, kAnswerMax);
  if (!document.ok() || !document->is_object()) {
    return fmt::format("{}: {}", answer.status, answer.body.substr(0, kExcerptBytes));
  }
  const auto errors = document->find("errors");
  const bool has_errors = errors != document->end() && errors->is_array() && !errors->empty();
  if (!has_errors && answer.status != 200) return fmt::format("{}", answer.status);
  if (!has_errors) return trouble_in_lists(*document);
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

Result<RestAnswer> RestApi::call(const RestRequest& request) const {
  TRY_ASSIGN(RestAnswer answer, call_(request));
  if (answer.status == 401 || answer.status == 403) {
    return unavailable(
        fmt::format("slurmrestd refuses {} ({}): its token may be over; `scontrol token` makes one",
                    request.target, answer.status));
  }
  return answer;
}

Result<const RestVersion*> RestApi::version() const {
  if (version_ != nullptr) return version_;
  constexpr const char kSpecification[] = "/openapi/v3";
  TRY_ASSIGN(const RestAnswer answer, call({.target = kSpecification}));
  if (answer.status != 200) {
    return unavailable(
        fmt::format("slurmrestd answers {}, which names its versions, with {}: {}; a proxy before "
                    "it has to let that path pass",
                    kSpecification, answer.status, answer.body.substr(0, kExcerptBytes)));
  }
  TRY_ASSIGN(version_, newest_version(answer.body));
  return version_;
}

Result<RestAnswer> RestApi::ask(RestRequest request) const {
  TRY_ASSIGN(const RestVersion* const version, this->version());
  request.target = fmt::format("/slurm/{}/{}", version->name, request.target);
  TRY_ASSIGN(RestAnswer answer, call(request));
  // Since 23.11 a job that has gone is a 404, too, and says so in JSON.
  if (answer.status == 404 && !answer.body.starts_with('{')) {
    // Another slurmrestd may have taken its place: the next call asks what it speaks.
    version_ = nullptr;
    return unavailable(fmt::format("slurmrestd has no {}: it is to load {} ({})", request.target,
                                   version->name, version->load));
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
  if (trouble.empty() || trouble == kNo_such_job || trouble == kEnds_already) return {};
  return unavailable(fmt::format("slurmrestd does not cancel job {}: {}", job, trouble));
}

Result<void> RestApi::change(std::int64_t job, const char* field, const json& value) const {
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
  TRY_ASSIGN(const RestVersion* const version, this->version());
  return change(job, "time_limit",
                limit_minutes == 0 ? version->no_limit() : version->number(limit_minutes));
}

Result<void> RestApi::set_comment(std::int64_t job, const std::string& text) const {
  return change(job, "comment", text);
}

Result<void> RestApi::release(std::int64_t job, std::int64_t priority) const {
  TRY_ASSIGN(const RestVersion* const version, this->version());
  TRY(change(job, "hold", version->no()));
  return change(job, "priority", version->number(priority));
}

}  // namespace dove::slurm
