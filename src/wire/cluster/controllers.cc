#include "wire/cluster/controllers.h"

#include <fmt/format.h>

#include <sstream>
#include <string_view>
#include <utility>

#include "wire/tls/tls.h"

namespace dove::wire {
namespace {

constexpr std::size_t kControllersMax = 16;
constexpr std::int64_t kSilent_us = 10'000'000;
constexpr std::int64_t kLate_us = 2'000'000;

bool says(const Response& answer, std::string_view code) {
  return answer.body.find(fmt::format("\"{}\"", code)) != std::string::npos;
}

}  // namespace

std::vector<std::string> split_urls(const std::string& text) {
  std::vector<std::string> all;
  std::stringstream in(text);
  for (std::string url; std::getline(in, url, ',');) {
    while (url.ends_with('/')) url.pop_back();
    all.push_back(std::move(url));
  }
  if (all.empty()) all.emplace_back();
  return all;
}

Result<std::vector<ServerUrl>> parse_server_urls(const std::string& text) {
  std::vector<ServerUrl> all;
  for (const std::string& url : split_urls(text)) {
    TRY_ASSIGN(ServerUrl one, parse_server_url(url));
    all.push_back(std::move(one));
  }
  if (all.size() <= kControllersMax) return all;
  return Error{ErrorKind::kInvalid, "bad_url",
               fmt::format("{} URLs are given: write at most {}, one for each controller",
                           all.size(), kControllersMax),
               ""};
}

bool may_repeat(const Request& request) {
  return request.method == "GET" || request.has_header("idempotency-key");
}

bool is_silent(const Error& failure) {
  const std::string& code = failure.code;
  return code == "connect_timeout" || code == "handshake_timeout" || code == "unreachable";
}

bool is_elsewhere(const Error& failure, bool repeats) {
  const std::string& code = failure.code;
  if (code == "http_503") return is_elsewhere(Response{503, {}, failure.message}, repeats);
  return code == "connection_refused" || code == "host_unknown" || is_silent(failure) ||
         (repeats && code == "connection_broken");
}

bool is_elsewhere(const Response& answer, bool repeats) {
  if (answer.status != 503) return false;
  return (repeats && says(answer, "commit_unknown")) || says(answer, "not_leader") ||
         says(answer, "standby_behind") || says(answer, "lease_over");
}

Result<Controllers> Controllers::read(const std::string& urls, const std::string& authorities_pem) {
  Controllers made;
  TRY_ASSIGN(const std::vector<ServerUrl> parsed, parse_server_urls(urls));
  const std::vector<std::string> given = split_urls(urls);
  std::shared_ptr<const Tls> tls;
  for (std::size_t i = 0; i < parsed.size(); ++i) {
    const ServerUrl& one = parsed[i];
    if (one.secure && tls == nullptr) {
      TlsClientOptions options;
      options.authorities_pem = authorities_pem;
      TRY_ASSIGN(tls, Tls::for_client(options));
    }
    made.all_.push_back({given[i], {one.host, one.port, one.secure ? tls : nullptr}, one.prefix});
  }
  made.silent_until_us_.resize(made.all_.size());
  return made;
}

void Controllers::pass(std::size_t place, Gave gave, std::int64_t now_us) {
  if (gave == Gave::kNothingInTime) silent_until_us_[place] = now_us + kLate_us;
  if (gave == Gave::kNothing) silent_until_us_[place] = now_us + kSilent_us;
  if (place != at_) return;
  at_ = (place + 1) % all_.size();
  // Itself last: one that refuses may come to lead sooner than one that is silent.
  for (std::size_t i = 1; i <= all_.size(); ++i) {
    const std::size_t next = (place + i) % all_.size();
    if (silent_until_us_[next] > now_us) continue;
    at_ = next;
    return;
  }
}

}  // namespace dove::wire
