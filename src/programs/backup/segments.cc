#include "programs/backup/segments.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "codec/bytes.h"
#include "wire/secret.h"

namespace dove::programs {
namespace {

using nlohmann::json;

// A segment ends with the batch that reaches one of these: of records, of what their jobs run.
constexpr std::size_t kRecordBytes = 16 << 20;
constexpr std::size_t kBlobBytes = 64 << 20;
// One batch may have more: what the controller lets wait (512 MiB of what jobs run).
constexpr std::size_t kSegmentBytesMax = std::size_t{2} << 30;
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

Result<std::optional<std::string>> read_segment(BackupPlace& place, Seq after) {
  Result<std::optional<std::string>> text = place.get(name_of(after), kSegmentBytesMax);
  if (text.ok() || text.error().kind != ErrorKind::kTooLarge) return text;
  return damaged(place, after, "it is larger than any that was written");
}

// Adds what the jobs of these batches run, up to the batch with which it is enough: how many those
// are. What the log has dropped already is left out: no job of now needs it.
Result<std::size_t> add_blobs(store::LogStore& log, const std::vector<store::Batch>& batches,
                              std::map<std::string, std::string>& blobs) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    for (const StampedEvent& event : batches[i].events) {
      const auto* submitted = std::get_if<JobSubmitted>(&event.event);
      if (submitted == nullptr || blobs.contains(submitted->spec->exec_digest)) continue;
      TRY_ASSIGN(std::optional<std::string> blob, log.blob(submitted->spec->exec_digest));
      if (!blob) continue;
      bytes += blob->size();
      blobs[submitted->spec->exec_digest] = std::move(*blob);
    }
    if (bytes >= kBlobBytes) return i + 1;
  }
  return batches.size();
}

// The rows that follow, as they are stored.
Result<std::string> next_rows(store::LogSource& rows, const KeptTo& kept) {
  Result<std::string> bytes = rows.page(kept.head, kept.epoch, kRecordBytes);
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
  TRY_ASSIGN(store::LogPage page, store::decode_page(segment.page));
  TRY(check_continues(page, kept));
  if (page.batches.empty()) return false;
  TRY_ASSIGN(const std::vector<store::Batch> batches, store::verified_batches(page));
  TRY_ASSIGN(const std::size_t count, add_blobs(log, batches, segment.blobs));
  if (count < batches.size()) {
    page.batches.resize(count);
    segment.page = store::encode(page);
  }
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
    TRY_ASSIGN(const std::optional<std::string> text, read_segment(place, after));
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
