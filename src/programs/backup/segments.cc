#include "programs/backup/segments.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "codec/bytes.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

using nlohmann::json;

constexpr std::size_t kSegmentBytes = 16 << 20;      // of records; one batch may be more
constexpr std::size_t kSegmentBytesMax = 512 << 20;  // with what its jobs run
constexpr std::size_t kLastBytesMax = 4 << 10;
constexpr const char kLast[] = "segments/last.json";
constexpr std::string_view kMagic = "dove segment 1\n";
constexpr std::size_t kDigestChars = 64;

struct Segment {
  std::string page;
  std::map<std::string, std::string> blobs;  // by digest
};

std::string name_of(Seq after) { return fmt::format("segments/{:020}", after.value); }

std::string encode(const Segment& segment) {
  std::string body;
  codec::ByteWriter ar(body);
  ar(segment.page, segment.blobs);
  return fmt::format("{}{}\n{}", kMagic, wire::sha256_hex(body), body);
}

Error damaged(const BackupPlace& place, Seq after, const std::string& why) {
  const std::string path = place.path(name_of(after));
  return Error{ErrorKind::kCorrupt, "backup_damaged",
               fmt::format("{}: {}; --at {} restores what is before it", path, why, after.value),
               path};
}

Result<Segment> decode(const BackupPlace& place, Seq after, const std::string& text) {
  const std::size_t head = kMagic.size() + kDigestChars + 1;
  if (text.size() < head || !text.starts_with(kMagic)) {
    return damaged(place, after, "it is no segment");
  }
  const std::string body = text.substr(head);
  if (text.compare(kMagic.size(), kDigestChars, wire::sha256_hex(body)) != 0) {
    return damaged(place, after, "it is not what was written");
  }
  Segment segment;
  codec::ByteReader ar(body);
  ar(segment.page, segment.blobs);
  if (ar.failed()) return damaged(place, after, "it cannot be read");
  return segment;
}

// What the jobs of these batches run. What the log has dropped already is left out: no job of now
// needs it.
Result<std::map<std::string, std::string>> blobs_of(store::LogStore& log,
                                                    const std::vector<store::Batch>& batches) {
  std::set<std::string> named;
  for (const store::Batch& batch : batches) {
    for (const StampedEvent& event : batch.events) {
      const auto* submitted = std::get_if<JobSubmitted>(&event.event);
      if (submitted != nullptr) named.insert(submitted->spec->exec_digest);
    }
  }
  std::map<std::string, std::string> found;
  for (const std::string& digest : named) {
    TRY_ASSIGN(std::optional<std::string> blob, log.blob(digest));
    if (blob) found[digest] = std::move(*blob);
  }
  return found;
}

// The rows that follow, as they are stored.
Result<std::string> next_rows(store::LogSource& rows, const KeptTo& kept) {
  Result<std::string> bytes = rows.page(kept.head, kept.epoch, kSegmentBytes);
  if (!bytes.ok()) {
    Error error = bytes.error();
    if (error.code == "records_forgotten") {
      error.message = fmt::format(
          "the server has dropped records after {} that no segment holds: make another backup, and "
          "let --log-days and --log-records of the server cover the time in which segments cannot "
          "be "
          "written",
          kept.head.value);
    }
    return error;
  }
  return bytes;
}

Result<void> check_continues(const store::LogPage& page, const KeptTo& kept) {
  if (page.before.seq == kept.head && store::hex_of(page.before.chain) == kept.chain) return {};
  return Error{ErrorKind::kConflict, "log_differs",
               fmt::format("the log is not the one that this backup holds up to record {}: it was "
                           "restored, or is another cluster's; make another backup",
                           kept.head.value),
               fmt::format("record {}", kept.head.value)};
}

// What another one writes would end elsewhere, and the segments would no longer follow each other.
Result<void> check_alone(BackupPlace& place, const KeptTo& kept) {
  TRY_ASSIGN(const KeptTo last, kept_to(place, kept));
  if (last.head == kept.head && last.chain == kept.chain) return {};
  const std::string path = place.path(kLast);
  return Error{ErrorKind::kConflict, "backup_followed_twice",
               fmt::format("{}: another command writes segments here, up to record {} by now: let "
                           "one alone follow this backup",
                           path, last.head.value),
               path};
}

bool reaches(const store::Head& head, const store::CutPoint& until) {
  if (until.seq) return head.seq >= *until.seq;
  return until.at && *until.at < head.at;
}

// REQUIRES: no segment follows `head`.
Result<void> check_ends(BackupPlace& place, const store::Head& head) {
  TRY_ASSIGN(const KeptTo last, kept_to(place, {head.seq, head.epoch, head.chain_sha256}));
  if (last.head <= head.seq) return {};
  return damaged(place, head.seq,
                 fmt::format("it is missing, and segments go on to record {}", last.head.value));
}

}  // namespace

Result<KeptTo> kept_to(BackupPlace& place, const KeptTo& base) {
  TRY_ASSIGN(const std::optional<std::string> text, place.get(kLast, kLastBytesMax));
  if (!text) return base;
  const json last = json::parse(*text, nullptr, false);
  const bool is_whole = last.is_object() && last.contains("head") &&
                        last["head"].is_number_unsigned() && last.contains("term") &&
                        last["term"].is_number_unsigned() && last.contains("chain") &&
                        last["chain"].is_string();
  if (!is_whole) {
    return Error{ErrorKind::kCorrupt, "backup_damaged",
                 place.path(kLast) + " cannot be read; make another backup", place.path(kLast)};
  }
  return KeptTo{Seq{last["head"].get<std::uint64_t>()}, Epoch{last["term"].get<std::uint64_t>()},
                last["chain"].get<std::string>()};
}

Result<bool> keep_segment(store::LogStore& log, store::LogSource& rows, BackupPlace& place,
                          KeptTo& kept) {
  Segment segment;
  TRY_ASSIGN(segment.page, next_rows(rows, kept));
  TRY_ASSIGN(const store::LogPage page, store::decode_page(segment.page));
  TRY(check_continues(page, kept));
  if (page.batches.empty()) return false;
  TRY_ASSIGN(const std::vector<store::Batch> batches, store::verified_batches(page));
  TRY_ASSIGN(segment.blobs, blobs_of(log, batches));
  TRY(check_alone(place, kept));
  TRY(place.put(name_of(kept.head), encode(segment)));
  kept.head = store::last_seq(page.batches.back().header);
  kept.chain = store::hex_of(store::sha256_from(page.batches.back().chain));
  if (!page.terms.empty()) kept.epoch = page.terms.back().epoch;
  const json last{{"head", kept.head.value}, {"term", kept.epoch.value}, {"chain", kept.chain}};
  TRY(place.put(kLast, last.dump() + "\n"));
  return true;
}

Result<void> add_segments(BackupPlace& place, const std::string& directory,
                          const store::CutPoint& until) {
  TRY_ASSIGN(const auto log, store::SqliteStore::open(directory, store::OpenMode::kWrite));
  while (!reaches(log->head(), until)) {
    const Seq after = log->head().seq;
    TRY_ASSIGN(const std::optional<std::string> text, place.get(name_of(after), kSegmentBytesMax));
    if (!text) return check_ends(place, log->head());
    TRY_ASSIGN(Segment segment, decode(place, after, *text));
    TRY_ASSIGN(const store::LogPage page, store::decode_page(segment.page));
    TRY_ASSIGN(std::vector<store::Batch> batches, store::verified_batches(page));
    if (batches.empty()) return damaged(place, after, "it holds no records");
    for (auto& [digest, bytes] : segment.blobs) {
      if (wire::sha256_hex(bytes) != digest) return damaged(place, after, "a script is damaged");
      // With the last of the batches, so that retention drops it no earlier than it may.
      batches.back().blobs.emplace_back(digest, std::move(bytes));
    }
    const Result<void> added = log->take(page, batches);
    if (!added.ok()) return damaged(place, after, added.error().message);
  }
  return {};
}

}  // namespace dove::programs
