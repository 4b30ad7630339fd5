#include "server/streams/log_copies.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>
#include <vector>

#include "codec/bytes.h"
#include "server/job_select.h"

namespace dove::server {
namespace {

constexpr std::size_t kPieceBytes = 2 << 20;
constexpr std::size_t kBlobsMax = 50;
constexpr std::int64_t kWaitUsual_s = 60;
constexpr std::int64_t kWaitMost_s = 300;
// From a record to the answer, so that records that come together go together.
constexpr std::chrono::milliseconds kTogether{50};

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// As many as go into a piece, one at least. One that is not kept, or is damaged, is empty.
Result<std::string> read_blobs(store::LogStore& log, const std::vector<std::string>& digests) {
  std::map<std::string, std::string> found;
  std::size_t bytes = 0;
  for (const std::string& digest : digests) {
    if (bytes > kPieceBytes) break;
    Result<std::optional<std::string>> blob = log.blob(digest);
    if (!blob.ok() && blob.error().kind != ErrorKind::kCorrupt) return blob.error();
    std::string& text = found[digest];
    if (blob.ok()) text = std::move(*blob).value_or("");
    bytes += text.size();
  }
  std::string encoded;
  codec::ByteWriter ar(encoded);
  ar(found);
  return encoded;
}

}  // namespace

struct LogCopies::Held {
  listener::CallPtr call;
  Read read;
  std::shared_ptr<const listener::OpenAccess::Held> access;
  wire::Timer timer;
};

// A store that can be followed is both kinds.
LogCopies::LogCopies(listener::Desk& desk)
    : desk_(desk),
      source_(dynamic_cast<store::LogSource*>(&desk.log)),
      log_(desk.loop, desk.log, /*aside=*/source_ != nullptr) {
  desk_.on_batch([this](const listener::RecentBatch&) {
    if (!held_.empty() && !due_.pending())
      due_ = desk_.loop.after(kTogether, [this] { close_all(); });
  });
}

LogCopies::~LogCopies() = default;

bool LogCopies::admits(listener::Call& call) const {
  if (source_ == nullptr) {
    call.fail(Error{ErrorKind::kConflict, "shared_log",
                    "the log of this cluster lies where it cannot be read as it is stored", ""});
    return false;
  }
  if (calls_.use_count() > kCallsMax) {
    call.fail(Error{ErrorKind::kUnavailable, "too_many_followers",
                    "as many followers as may do so read the log already; try again later", ""});
    return false;
  }
  call.turn = calls_;
  return true;
}

void LogCopies::answer(listener::CallPtr call, Read read) {
  const auto bytes = std::make_shared<Result<std::string>>(Error{});
  log_.ask([bytes, read = std::move(read),
            source = source_](store::LogStore& log) { *bytes = read(log, *source); },
           [this, bytes, call = std::move(call)] {
             if (!bytes->ok()) return call->fail(bytes->error());
             call->responder->send({200,
                                    {{"Content-Type", "application/octet-stream"},
                                     {"Cache-Control", "no-store"},
                                     {"Dove-Cluster", desk_.identity.cluster_id()}},
                                    std::move(*bytes).value()});
           });
}

void LogCopies::hold(listener::CallPtr call, std::int64_t wait_s, Read read) {
  const auto held = std::make_shared<Held>();
  const std::weak_ptr<Held> weak = held;
  held->access = desk_.open_access->hold(call->caller, [this, weak] {
    const auto own = weak.lock();
    if (own == nullptr || held_.erase(own) == 0) return;
    own->call->fail(Error{ErrorKind::kUnauthenticated, "access_ended",
                          "the key has ended, or its user may no longer call", ""});
  });
  held->call = std::move(call);
  held->read = std::move(read);
  held->timer = desk_.loop.after(std::chrono::seconds(wait_s), [this, weak] {
    if (const auto own = weak.lock()) let_go(own);
  });
  held_.insert(held);
}

void LogCopies::let_go(const std::shared_ptr<Held>& held) {
  if (held_.erase(held) == 0 || !held->call->responder->peer_alive()) return;
  answer(std::move(held->call), std::move(held->read));
}

void LogCopies::close_all() {
  for (const auto& held : std::set(held_)) let_go(held);
}

void LogCopies::page(listener::CallPtr call) {
  if (!admits(*call)) return;
  const auto after = call->query_number("after", 0, 0, INT64_MAX);
  if (!after.ok()) return call->fail(after.error());
  const auto term = call->query_number("term", 0, 0, INT64_MAX);
  if (!term.ok()) return call->fail(term.error());
  const auto since = call->query_number("since", -1, 0, INT64_MAX);
  if (!since.ok()) return call->fail(since.error());
  const auto wait_s = call->query_number("wait_s", kWaitUsual_s, 1, kWaitMost_s);
  if (!wait_s.ok()) return call->fail(wait_s.error());
  Read read = [from = Seq(static_cast<std::uint64_t>(*after)),
               of = Epoch(static_cast<std::uint64_t>(*term))](store::LogStore&,
                                                              store::LogSource& source) {
    return source.page(from, of, kPieceBytes);
  };
  // A page may hold what is not folded here yet.
  const bool is_all = *since >= static_cast<std::int64_t>(desk_.state().head.value);
  if (is_all) return hold(std::move(call), *wait_s, std::move(read));
  answer(std::move(call), std::move(read));
}

void LogCopies::snapshot(listener::CallPtr call) {
  if (!admits(*call)) return;
  const auto of = call->query_number("seq", 0, 0, INT64_MAX);
  if (!of.ok()) return call->fail(of.error());
  const auto offset = call->query_number("offset", 0, 0, INT64_MAX - 1);
  if (!offset.ok()) return call->fail(offset.error());
  answer(std::move(call), [of = Seq(static_cast<std::uint64_t>(*of)), offset = *offset](
                              store::LogStore&, store::LogSource& source) {
    return source.snapshot_piece(of, static_cast<std::uint64_t>(offset), kPieceBytes);
  });
}

void LogCopies::blobs(listener::CallPtr call) {
  if (!admits(*call)) return;
  const std::vector<std::string> digests = split_list(call->query_text("sha256"));
  const bool are_named = !digests.empty() && digests.size() <= kBlobsMax &&
                         std::all_of(digests.begin(), digests.end(), is_digest);
  if (!are_named) {
    return call->fail(listener::invalid(
        "bad_parameter", "sha256 takes 1 to 50 digests, separated by commas", "sha256"));
  }
  answer(std::move(call),
         [digests](store::LogStore& log, store::LogSource&) { return read_blobs(log, digests); });
}

namespace {

template <void (LogCopies::*handle)(listener::CallPtr)>
void call_of(LogCopies& copies, listener::CallPtr call) {
  (copies.*handle)(std::move(call));
}

using Row = listener::RouteOf<LogCopies>;
constexpr std::array kRoutes = {
    Row{{"GET", "/v1/log", "readLog"}, call_of<&LogCopies::page>},
    Row{{"GET", "/v1/log/snapshot", "readLogSnapshot"}, call_of<&LogCopies::snapshot>},
    Row{{"GET", "/v1/log/blobs", "readLogBlobs"}, call_of<&LogCopies::blobs>},
};

}  // namespace

std::span<const Row> log_routes() { return kRoutes; }

}  // namespace dove::server
