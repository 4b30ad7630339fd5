#include "server/record_json.h"

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "codec/record.h"
#include "notices/target.h"

namespace dove::server {
namespace {

using Json = nlohmann::json;

template <class T>
concept NamesJob = requires(const T& value) {
  { value.job } -> std::convertible_to<JobId>;
};

Json with_head(const RecordHead& head, const char* type, std::string_view kind, Json data) {
  hide_digests(data);
  data.erase("kind");
  Json out{{"seq", head.seq.value},
           {"at_us", head.at.us},
           {"type", type},
           {"kind", std::string(kind)},
           {"data", std::move(data)}};
  if (head.job) out["job"] = head.job.value;
  return out;
}

template <class Variant>
JobId named_job(const Variant& record) {
  return std::visit(
      [](const auto& payload) {
        if constexpr (NamesJob<decltype(payload)>) {
          return payload.job;
        } else {
          return JobId();
        }
      },
      record);
}

// Whoever knows the URL of a webhook may post there.
void hide_urls(Json& targets) {
  if (!targets.is_array()) return;
  for (Json& target : targets) {
    const bool is_target = target.is_object() && target.value("by", Json()).is_string() &&
                           target.value("to", Json()).is_string();
    if (!is_target || target["by"] == "mail") continue;
    target["to"] = notices::shown({NoticeBy::kWebhook, target["to"].get<std::string>(), {}});
  }
}

}  // namespace

JobId job_of(const Event& event) { return named_job(event); }
JobId job_of(const Decision& decision) { return named_job(decision); }

void hide_digests(Json& value) {
  if (value.is_array()) {
    for (Json& item : value) hide_digests(item);
    return;
  }
  if (!value.is_object()) return;
  for (const char* name :
       {"agent_token_sha256", "token_sha256", "sha256", "sealed", "password_hash"})
    value.erase(name);
  if (const auto targets = value.find("notices"); targets != value.end()) hide_urls(*targets);
  for (auto& [name, member] : value.items()) hide_digests(member);
}

Json record_json(const RecordHead& head, const StampedEvent& event) {
  Json out =
      with_head(head, "event", codec::kind_name(event.event), codec::event_json(event.event));
  if (!event.cause.principal.empty()) out["principal"] = event.cause.principal;
  if (!event.cause.request_id.empty()) out["request_id"] = event.cause.request_id;
  return out;
}

Json record_json(const RecordHead& head, const Decision& decision) {
  return with_head(head, "decision", codec::kind_name(decision), codec::decision_json(decision));
}

}  // namespace dove::server
