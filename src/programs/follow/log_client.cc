#include "programs/follow/log_client.h"

#include <fmt/format.h>

#include <utility>

#include "cli/client/api.h"
#include "codec/bytes.h"
#include "wire/cluster/controllers.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

constexpr int kConnect_ms = 3'000;
constexpr int kCall_ms = 15'000;
constexpr int kWait_s = 2;  // a stop waits for it
constexpr std::size_t kBlobsAtATime = 50;

wire::ClientOptions client_options(const FollowSettings& settings, const std::string& token) {
  wire::ClientOptions options;
  options.connect_timeout_ms = kConnect_ms;
  options.timeout_ms = kCall_ms;
  options.bearer_token = token;
  options.ca_file = settings.ca_file;
  return options;
}

Error try_again(Error error) {
  error.kind = ErrorKind::kUnavailable;
  return error;
}

}  // namespace

bool may_pass(const Error& error) {
  return error.kind == ErrorKind::kUnavailable || error.kind == ErrorKind::kTimeout ||
         error.kind == ErrorKind::kExhausted;
}

LogClient::LogClient(FollowSettings settings, const std::string& token)
    : settings_(std::move(settings)) {
  for (std::string& url : wire::split_urls(settings_.urls)) {
    sources_.emplace_back(std::move(url), client_options(settings_, token));
  }
}

Result<std::string> LogClient::get(const std::string& target) {
  Result<std::string> answer = ask(target);
  if (!answer.ok() && may_pass(answer.error())) turn();
  return answer;
}

Result<std::string> LogClient::ask(const std::string& target) {
  Result<wire::Response> answer = sources_[at_].call("GET", "/v1/log" + target);
  if (!answer.ok() && answer.error().kind == ErrorKind::kInternal) return try_again(answer.error());
  if (!answer.ok()) return answer.error();
  if (answer->status == 200) {
    cluster_ = answer->header("Dove-Cluster");
    return std::move(answer->body);
  }
  Error error = cli::error_of_problem(answer->status, answer->body);
  if (answer->status == 429 || answer->status >= 500) return try_again(error);
  if (answer->status == 401 || answer->status == 403) {
    error.message = fmt::format(
        "{} does not let the follower read its log with the token in {}: "
        "{}. It takes a key of an administrator (docs/operate/follow.md)",
        url(), settings_.token_file, error.message);
  } else if (error.code == "no_such_path") {
    error.message = url() + " runs a version of dove that cannot be followed: upgrade it";
  }
  return error;
}

Result<store::LogPage> LogClient::page(const store::Head& head, bool waits) {
  std::string target = fmt::format("?after={}&term={}", head.seq.value, head.epoch.value);
  if (waits) target += fmt::format("&since={}&wait_s={}", head.seq.value, kWait_s);
  TRY_ASSIGN(const std::string bytes, get(target));
  return store::decode_page(bytes);
}

Result<store::Snapshot> LogClient::newest_snapshot() {
  store::Snapshot made;
  store::SnapshotPiece piece;
  do {
    const auto bytes =
        get(fmt::format("/snapshot?seq={}&offset={}", made.head.seq.value, made.bytes.size()));
    if (!bytes.ok() && bytes.error().code == "snapshot_gone") return try_again(bytes.error());
    if (!bytes.ok()) return bytes.error();
    TRY_ASSIGN(piece, store::decode_snapshot_piece(*bytes));
    made.head = piece.head;
    made.state_hash = piece.state_hash;
    made.bytes += piece.bytes;
  } while (!piece.bytes.empty() && made.bytes.size() < piece.bytes_total);
  if (wire::sha256_hex(made.bytes) == store::hex_of(store::sha256_from(piece.sha256))) return made;
  return Error{ErrorKind::kCorrupt, "snapshot_damaged",
               fmt::format("the newest snapshot of {} is not what was written there: look at it "
                           "with `dove doctor server`",
                           url()),
               ""};
}

Result<std::map<std::string, std::string>> LogClient::blobs(std::set<std::string> digests) {
  std::map<std::string, std::string> all;
  while (!digests.empty()) {
    std::string names;
    std::size_t count = 0;
    for (const std::string& digest : digests) {
      if (count == kBlobsAtATime) break;
      names += (count++ == 0 ? "" : ",") + digest;
    }
    TRY_ASSIGN(const std::string bytes, get("/blobs?sha256=" + names));
    std::map<std::string, std::string> found;
    codec::ByteReader ar(bytes);
    ar(found);
    const std::size_t before = digests.size();
    for (auto& [digest, blob] : found) {
      if (digests.erase(digest) == 0) continue;
      const bool is_whole = !blob.empty() && wire::sha256_hex(blob) == digest;
      all[digest] = is_whole ? std::move(blob) : "";
    }
    if (ar.failed() || digests.size() == before) {
      return Error{ErrorKind::kCorrupt, "page_unreadable",
                   url() + " does not give what jobs run as it was asked for", ""};
    }
  }
  return all;
}

}  // namespace dove::programs
