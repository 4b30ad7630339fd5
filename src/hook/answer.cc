#include "hook/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/json_fields.h"
#include "wire/tls/sealed_box.h"

namespace dove::hook {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kSaidMax = 300;
constexpr std::size_t kGroupsMax = 1024;
constexpr std::size_t kTrace = 8;  // bytes of a password that give it away

Error failed(std::string why) {
  return {ErrorKind::kUnavailable, "hook_failed", std::move(why), ""};
}

Result<Person> person_in(const Json& json) {
  Person person;
  std::string refused;
  codec::Failure failure;
  codec::JsonFields fields(json, "", failure);
  fields.text("refused", refused, {1024, TextRule::Kind::kAny});
  fields.text("user", person.user, kNameRule);
  fields.text("id", person.id, kNameRule);
  fields.text("linux_user", person.linux_user, kNameRule);
  if (fields.has("groups")) {
    fields.texts("groups", person.groups.emplace(), kLineRule, kGroupsMax);
  }
  fields.done();
  if (failure.any()) {
    // No more of it: the rest may quote what a hook has echoed.
    const Error& error = failure.error();
    const bool is_unknown = error.code == "unknown_field";
    return failed(fmt::format("its answer is not as it should be: {}",
                              is_unknown ? "a field is unknown here"
                                         : fmt::format("{} at `{}`", error.code, error.field)));
  }
  if (json.contains("refused")) {
    if (json.size() != 1) return failed("its answer says both `refused` and something else");
    return Error{ErrorKind::kUnauthenticated, "refused", refused, ""};
  }
  if (person.user.empty()) return failed("its answer has neither `user` nor `refused`");
  return person;
}

}  // namespace

std::string question_text(const Question& question) {
  Json json{{"version", 1}, {"user", question.user}, {"address", question.address}};
  Json& password = json["password"] = question.password;
  std::string text = codec::dump_json(json);
  wire::wipe(password.get_ref<std::string&>());
  return text;
}

Result<Person> read_answer(std::string_view text) {
  if (text.size() > kAnswerBytesMax) return failed("its answer is longer than 64 KiB");
  const Result<Json> json = codec::parse_json(text, kAnswerBytesMax);
  if (!json.ok() || !json->is_object()) return failed("its answer is no JSON object");
  return person_in(*json);
}

std::string quiet(std::string_view said, const std::string& password) {
  const Json json = password;
  for (const std::string& form : {password, codec::dump_json(json),
                                  json.dump(-1, ' ', true, Json::error_handler_t::replace)}) {
    std::string_view trace = form;
    if (trace.starts_with('"') && trace.size() > 2) trace.remove_prefix(1);
    trace = trace.substr(0, kTrace);
    if (!trace.empty() && said.find(trace) != std::string_view::npos) return "";
  }
  return std::string(said.substr(0, std::min(said.find('\n'), kSaidMax)));
}

}  // namespace dove::hook
