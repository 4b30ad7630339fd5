#include "programs/backup/backup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "files/descriptor.h"
#include "files/owner.h"
#include "files/text_file.h"
#include "programs/backup/shared_backup.h"
#include "programs/backup/shared_restore.h"
#include "programs/commands.h"
#include "programs/follow/copy_mark.h"
#include "store/sqlite/copy.h"
#include "store/sqlite/sqlite_store.h"
#include "wire/secret.h"
#include "wire/tls/seal.h"

namespace dove::programs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kFileBytesMax = 256 << 20;
constexpr const char kManifest[] = "manifest.json";
constexpr const char kLog[] = "log.sqlite";
constexpr const char kSealed[] = "keys.cms";
constexpr const char kSegments[] = "segments";
// These belong to a running process, or to its machine; the log is copied separately, and the copy
// is its own head.
constexpr std::array<std::string_view, 9> kLeftOut{
    "log.sqlite", "log.sqlite-wal", "log.sqlite-shm",     "lock", "head", "url",
    "clock",      kCopyMark,        store::kSharedLogMark};

// That they are secrets needs no mode; with all files NAME.key they are the keys.
constexpr std::array<std::string_view, 5> kKeys{"token", "secret", "identity.pem",
                                                "ssh_gateway_token", "keys.sha256"};
constexpr const char kNotices[] = "notices.json";  // has passwords
constexpr const char kKeysChanged[] = "keys_changed";
constexpr int kTries = 3;

Error error_at(ErrorKind kind, const char* code, const std::string& path, std::string why) {
  return Error{kind, code, fmt::format("{}: {}", path, why), path};
}

Error damaged(const std::string& path, const char* why) {
  return error_at(ErrorKind::kCorrupt, "backup_damaged", path,
                  fmt::format("{}; take another backup", why));
}

struct Kept {
  std::map<std::string, std::string> open;     // text by name
  std::map<std::string, std::string> secrets;  // that their owner alone may read
};

bool is_key(const std::string& name) {
  return name.ends_with(".key") || std::find(kKeys.begin(), kKeys.end(), name) != kKeys.end();
}

bool is_left_out(std::string_view name) {
  return std::find(kLeftOut.begin(), kLeftOut.end(), name) != kLeftOut.end();
}

Result<Kept> read_files(const std::string& data) {
  Kept kept;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(data, failed)) {
    const std::string name = entry.path().filename();
    if (is_left_out(name) || name.ends_with(".new")) continue;
    std::error_code gone;
    const fs::file_type type = entry.symlink_status(gone).type();
    // It is not followed: root makes backups of what another user may link to anything.
    if (type == fs::file_type::symlink && !entry.is_directory(gone)) {
      return error_at(ErrorKind::kInvalid, "backup_of_link", entry.path(),
                      "it is a link, which a backup would be without; put the file itself there, "
                      "or move the link out of the data");
    }
    if (type != fs::file_type::regular) continue;
    Result<std::string> text = files::read_text(entry.path(), kFileBytesMax);
    if (!text.ok() && text.error().kind == ErrorKind::kNotFound) continue;  // gone meanwhile
    if (!text.ok()) return text.error();
    const bool is_private = (entry.status().permissions() &
                             (fs::perms::group_all | fs::perms::others_all)) == fs::perms::none;
    // One that others may read by mistake is a secret all the same.
    const bool is_secret = is_private || is_key(name) || name == kNotices;
    (is_secret ? kept.secrets : kept.open)[name] = std::move(text).value();
  }
  if (failed == std::errc::no_such_file_or_directory) {
    return error_at(ErrorKind::kNotFound, "no_data", data,
                    "it does not exist; name the data directory of a server (--data)");
  }
  if (failed) return error_at(ErrorKind::kDenied, "data_not_accessible", data, failed.message());
  return kept;
}

std::map<std::string, std::string> keys_of(const Kept& kept) {
  std::map<std::string, std::string> keys = kept.secrets;
  std::erase_if(keys, [](const auto& file) { return !is_key(file.first); });
  return keys;
}

// JSON takes no bytes that are no UTF-8; keys and tokens are text.
std::string packed(const std::map<std::string, std::string>& files) {
  return json(files).dump(-1, ' ', false, json::error_handler_t::strict);
}

Result<std::string> digest_of_file(const std::string& path) {
  TRY_ASSIGN(const std::string text, files::read_text(path, kFileBytesMax));
  return wire::sha256_hex(text);
}

Result<void> sync_directory(const std::string& path) {
  const files::Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.is_open() && ::fsync(directory.get()) == 0) return {};
  return error_at(ErrorKind::kInternal, "file_unwritable", path, std::strerror(errno));
}

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  return error_at(errno == EEXIST ? ErrorKind::kConflict : ErrorKind::kInternal,
                  errno == EEXIST ? "backup_exists" : "file_unwritable", path,
                  std::strerror(errno));
}

Result<KeptTo> verified_head(const std::string& directory) {
  TRY_ASSIGN(const auto store, store::SqliteStore::open(directory, store::OpenMode::kReadOnly));
  TRY(store->verify());
  TRY_ASSIGN(const std::vector<Error> damages, store->damages());
  if (!damages.empty()) return damages.front();
  const store::Head head = store->head();
  return KeptTo{head.seq, head.epoch, head.chain_sha256};
}

Result<void> write_files(const std::string& directory,
                         const std::map<std::string, std::string>& files, unsigned mode) {
  for (const auto& [name, text] : files) {
    TRY(files::write_atomically(directory + "/" + name, text, mode, files::Survives::kPowerCut));
  }
  return {};
}

// Names and digests of all files below the directory, in `manifest`, but of the log: its chain is
// verified instead.
Result<std::int64_t> list_files(const std::string& directory, json& manifest) {
  std::int64_t bytes = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    bytes += static_cast<std::int64_t>(entry.file_size());
    if (entry.path().filename() == kLog) continue;
    // They come later, and are verified by the chain, too.
    if (entry.path().parent_path().filename() == kSegments) continue;
    TRY_ASSIGN(manifest["files"][fs::relative(entry.path(), directory)],
               digest_of_file(entry.path()));
  }
  return bytes;
}

Result<void> copy_log_of(const BackupSource& from, const std::string& to) {
  if (from.store.empty()) return store::copy_log(from.data, to);
  return copy_shared_log(from, to);
}

// What was sent is remembered with the log.
Result<void> add_notices(const BackupSource& from, Kept& kept) {
  if (from.store.empty()) return {};
  TRY_ASSIGN(const std::string notices, shared_notices_of(from));
  if (!notices.empty()) kept.secrets[kNotices] = notices;
  return {};
}

Result<BackupFacts> write_backup(const BackupSource& from, const std::string& to,
                                 const std::string& certificate_pem, std::int64_t now_s) {
  BackupFacts facts{
      .to = {}, .dropped = 0, .made_s = now_s, .bytes = 0, .sealed = !certificate_pem.empty()};
  TRY_ASSIGN(const Kept before, read_files(from.data));
  const Result<void> copied = copy_log_of(from, to);
  TRY_ASSIGN(Kept kept, read_files(from.data));
  // The log may hold what was sealed with a key that is gone, or that is not there yet: then the
  // copy may have failed for that alone.
  if (keys_of(before) != keys_of(kept)) {
    return error_at(ErrorKind::kUnavailable, kKeysChanged, from.data,
                    "its keys changed while the log was copied, time and again; take the backup "
                    "when nobody rotates keys");
  }
  TRY(copied);
  TRY(add_notices(from, kept));
  TRY_ASSIGN(facts.to, verified_head(to));
  TRY(make_directory(to + "/files"));
  TRY(write_files(to + "/files", kept.open, 0644));
  if (facts.sealed) {
    TRY_ASSIGN(const std::string sealed, wire::seal(packed(kept.secrets), certificate_pem));
    TRY(files::write_atomically(to + "/" + kSealed, sealed, 0600, files::Survives::kPowerCut));
  } else {
    TRY(write_files(to + "/files", kept.secrets, 0600));
  }
  json manifest{{"format", 1},
                {"head", facts.to.head.value},
                {"chain", facts.to.chain},
                {"term", facts.to.epoch.value},
                {"made_s", now_s},
                {"program", version()},
                {"sealed", facts.sealed},
                {"files", json::object()}};
  TRY_ASSIGN(facts.bytes, list_files(to, manifest));
  TRY(files::write_atomically(to + "/" + kManifest, manifest.dump(2) + "\n", 0644,
                              files::Survives::kPowerCut));
  TRY(sync_directory(to));
  return facts;
}

// 0 where a manifest says something else: then the log, which is verified, does not end there.
std::uint64_t number_of(const json& manifest, const char* name) {
  const auto at = manifest.find(name);
  return at != manifest.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

KeptTo kept_to_of(const json& manifest) {
  const auto chain = manifest.find("chain");
  return {Seq(number_of(manifest, "head")), Epoch(number_of(manifest, "term")),
          chain != manifest.end() && chain->is_string() ? chain->get<std::string>() : ""};
}

Result<BackupFacts> read_manifest(const std::string& from) {
  const std::string path = from + "/" + kManifest;
  TRY_ASSIGN(const std::string text, files::read_text(path, kFileBytesMax));
  const json manifest = json::parse(text, nullptr, false);
  if (!manifest.is_object() || !manifest.contains("files") || !manifest["files"].is_object()) {
    return damaged(path, "it is no manifest");
  }
  json now{{"files", json::object()}};
  BackupFacts facts;
  TRY_ASSIGN(facts.bytes, list_files(from, now));
  now["files"].erase(kManifest);
  for (const auto& [name, digest] : manifest.at("files").items()) {
    if (!digest.is_string() || now["files"].value(name, "") != digest.get<std::string>()) {
      return damaged(from + "/" + name, "it is not what was written");
    }
  }
  for (const auto& [name, digest] : now["files"].items()) {
    if (!manifest.at("files").contains(name)) {
      return damaged(from + "/" + name, "the backup had no such file");
    }
  }
  facts.to = kept_to_of(manifest);
  facts.made_s = static_cast<std::int64_t>(number_of(manifest, "made_s"));
  const auto sealed = manifest.find("sealed");
  facts.sealed = sealed != manifest.end() && sealed->is_boolean() && sealed->get<bool>();
  return facts;
}

Result<void> unpack_keys(const std::string& from, const std::string& to,
                         const std::string& key_pem) {
  if (key_pem.empty()) {
    return Error{ErrorKind::kInvalid, "key_needed",
                 "keys and secrets of this backup are sealed: give the key of the certificate that "
                 "they were sealed for with --key FILE",
                 "--key"};
  }
  TRY_ASSIGN(const std::string sealed, files::read_text(from + "/" + kSealed, kFileBytesMax));
  TRY_ASSIGN(const std::string text, wire::unseal(sealed, key_pem));
  const json keys = json::parse(text, nullptr, false);
  if (!keys.is_object()) return damaged(from + "/" + kSealed, "it holds no keys");
  for (const auto& [name, key] : keys.items()) {
    if (name.empty() || name.find('/') != std::string::npos || !key.is_string()) {
      return damaged(from + "/" + kSealed, "it names a file that is none");
    }
    TRY(files::write_atomically(to + "/" + name, key.get<std::string>(), 0600,
                                files::Survives::kPowerCut));
  }
  return {};
}

Result<void> put_back(const std::string& from, const std::string& to, const BackupFacts& facts,
                      const std::string& key_pem) {
  if (facts.sealed) TRY(unpack_keys(from, to, key_pem));
  TRY(store::copy_log(from, to));
  TRY_ASSIGN(const KeptTo kept, verified_head(to));
  if (kept.head != facts.to.head) {
    return damaged(from, "its log does not end where its manifest says");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(from + "/files")) {
    if (is_left_out(entry.path().filename().native())) continue;  // a former version took more
    TRY_ASSIGN(const std::string text, files::read_text(entry.path(), kFileBytesMax));
    const unsigned mode = static_cast<unsigned>(entry.status().permissions()) & 0777U;
    TRY(files::write_atomically(to + "/" + entry.path().filename().string(), text, mode,
                                files::Survives::kPowerCut));
  }
  return sync_directory(to);
}

// What was begun and is not whole is not left behind.
class Begun {
 public:
  explicit Begun(std::string path) : path_(std::move(path)) {}
  Begun(const Begun&) = delete;
  Begun& operator=(const Begun&) = delete;
  ~Begun() {
    std::error_code ignored;
    if (!done_) fs::remove_all(path_, ignored);
  }
  Result<void> becomes(const std::string& name) {
    if (::rename(path_.c_str(), name.c_str()) != 0) {
      return error_at(ErrorKind::kInternal, "file_unwritable", name, std::strerror(errno));
    }
    done_ = true;
    return sync_directory(fs::path(name).parent_path());
  }

 private:
  const std::string path_;
  bool done_ = false;
};

}  // namespace

Result<BackupFacts> make_backup(const BackupSource& from, const std::string& to,
                                const std::string& certificate_pem, std::int64_t now_s) {
  if (fs::exists(to)) {
    return error_at(ErrorKind::kConflict, "backup_exists", to, "it is there already; name another");
  }
  const std::string partial = to + ".partial";
  for (int tries = 1;; ++tries) {
    TRY(make_directory(partial));
    Begun begun(partial);
    Result<BackupFacts> facts = write_backup(from, partial, certificate_pem, now_s);
    if (!facts.ok() && facts.error().code == kKeysChanged && tries < kTries) continue;
    if (facts.ok()) TRY(begun.becomes(to));
    return facts;
  }
}

Result<BackupFacts> restore_backup(const std::string& from, BackupPlace& place,
                                   const std::string& data, const std::string& key_pem,
                                   const RestoreTo& to) {
  std::error_code ignored;
  if (fs::exists(data) && !fs::is_empty(data, ignored)) {
    return error_at(ErrorKind::kConflict, "data_not_empty", data,
                    "a server's data are put into a new directory; move what is there away");
  }
  if (!to.store.empty()) TRY(check_empty_store(to.store));
  TRY_ASSIGN(BackupFacts facts, read_manifest(from));
  const std::string partial = data + ".partial";
  const std::optional<files::Owner> owner = files::owner_of(data);
  TRY(make_directory(partial));
  Begun begun(partial);
  TRY(put_back(from, partial, facts, key_pem));
  TRY(add_segments(place, partial, to.point));
  TRY_ASSIGN(facts.to, verified_head(partial));
  if (!to.is_moved) {
    TRY_ASSIGN(const store::CutFacts cut, store::cut_log(partial, to.point, to.now_s));
    facts.to.head = cut.head;
    facts.dropped = cut.dropped;
  }
  if (!to.store.empty()) TRY(move_to_store(partial, to.store));
  if (owner) TRY(files::give_tree(partial, *owner));
  // A directory takes the place of an empty one.
  if (Result<void> placed = begun.becomes(data); !placed.ok()) {
    Error failed = placed.error();
    if (!to.store.empty()) {
      failed.message += "; the database holds the log by now: drop it there before you try again";
    }
    return failed;
  }
  return facts;
}

Result<std::optional<KeptTo>> backed_up_to(BackupPlace& place) {
  TRY_ASSIGN(const std::optional<std::string> text, place.get(kManifest, kFileBytesMax));
  if (!text) return std::optional<KeptTo>();
  const json manifest = json::parse(*text, nullptr, false);
  const std::string path = place.path(kManifest);
  if (!manifest.is_object()) return damaged(path, "it is no manifest");
  const KeptTo kept = kept_to_of(manifest);
  if (!kept.chain.empty()) return std::optional(kept);
  return error_at(ErrorKind::kConflict, "backup_too_old", path,
                  "it was made by an earlier release, which did not write where its log's chain "
                  "ends; make another backup for segments to follow");
}

Result<store::CutFacts> restore_in_place(const std::string& data, std::int64_t now_s) {
  TRY(verified_head(data));
  TRY_ASSIGN(const store::CutFacts facts, store::cut_log(data, {}, now_s));
  if (const auto owner = files::owner_of(data)) TRY(files::give_tree(data, *owner));
  std::error_code failed;
  fs::remove(data + "/" + kCopyMark, failed);  // from now on the log is its own
  if (!failed) return facts;
  return error_at(ErrorKind::kInternal, "file_unwritable", data + "/" + kCopyMark,
                  failed.message() + "; mend that and say it again");
}

}  // namespace dove::programs
