#include "programs/service/authorities.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "files/kept_lines.h"
#include "files/text_file.h"
#include "telemetry/clock.h"
#include "telemetry/log.h"

namespace dove::programs {
namespace {

constexpr std::size_t kFileBytesMax = 256 << 10;
constexpr std::size_t kFollowedBytesMax = 8 << 20;

std::int64_t now_s() { return telemetry::now_us() / 1'000'000; }

std::string key_of(const std::string& data_dir, bool next) {
  return data_dir + (next ? "/ca.next.key" : "/ca.key");
}

std::string pem_of(const std::string& data_dir, bool next) {
  return data_dir + (next ? "/ca.next.pem" : "/ca.pem");
}

// The key first: a certificate without it would be of no use.
Result<void> write(const std::string& data_dir, bool next, const wire::Authority& made) {
  TRY(files::write_for_owner(key_of(data_dir, next), made.credentials().key_pem, 0600));
  return files::write_for_owner(pem_of(data_dir, next), made.credentials().chain_pem, 0644);
}

Result<void> rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return Error{ErrorKind::kInternal, "cannot_write",
               fmt::format("{} cannot become {}: {}", from, to, std::strerror(errno)), to};
}

// Both are there. An error names the one that is damaged, and the remedy.
Result<wire::Authority> open_pair(const std::string& data_dir, bool next,
                                  const std::string& certificate, const std::string& key) {
  Result<wire::Authority> opened = wire::Authority::open({certificate, key});
  if (opened.ok()) return opened;
  const Error& error = opened.error();
  const std::string files =
      fmt::format("{} and {}", pem_of(data_dir, next), key_of(data_dir, next));
  const std::string at_fault = error.code == "bad_key"     ? key_of(data_dir, next)
                               : error.code == "wrong_key" ? files
                                                           : pem_of(data_dir, next);
  return Error{ErrorKind::kCorrupt, error.code,
               fmt::format("{}: {}. Restore {} from a backup; without one, remove both{}", at_fault,
                           error.message, at_fault == files ? "them" : "it",
                           next ? ", and `dove ca rotate` makes another next authority"
                                : ": the next start makes another authority, and every node joins "
                                  "again"),
               at_fault == files ? pem_of(data_dir, next) : at_fault};
}

// A file that only another user may read stays: it is whole.
Error hidden(const std::string& data_dir, const Error& error) {
  if (error.code != "file_unreadable") return error;
  return Error{
      error.kind, error.code,
      fmt::format("{}; it must be the user's that the server runs as: chown --reference={} "
                  "{}",
                  error.message, data_dir, error.field),
      error.field};
}

bool missing(const Result<std::string>& read) {
  return !read.ok() && read.error().kind == ErrorKind::kNotFound;
}

Result<std::optional<wire::Authority>> open_next(const std::string& data_dir) {
  const Result<std::string> certificate = files::read_text(pem_of(data_dir, true), kFileBytesMax);
  const Result<std::string> key = files::read_text(key_of(data_dir, true), kFileBytesMax);
  if (missing(certificate) || missing(key)) return std::optional<wire::Authority>();
  if (!certificate.ok()) return hidden(data_dir, certificate.error());
  if (!key.ok()) return hidden(data_dir, key.error());
  TRY_ASSIGN(wire::Authority opened, open_pair(data_dir, true, *certificate, *key));
  return std::optional<wire::Authority>(std::move(opened));
}

// The certificate goes first and comes last: without it there is no next one.
Result<void> replace_next(const std::string& data_dir, const std::optional<wire::Authority>& next) {
  ::unlink(pem_of(data_dir, true).c_str());
  if (next) return write(data_dir, true, *next);
  ::unlink(key_of(data_dir, true).c_str());
  return {};
}

// Other controllers take it for the newer one by when it begins, whatever this machine's clock
// says.
Result<wire::Authority> make_newer(const std::string& data_dir, const std::string& name,
                                   std::int64_t at_s) {
  wire::Authority made = wire::Authority::make(name, at_s);
  const std::string present = files::text_or_empty(pem_of(data_dir, false), kFileBytesMax);
  const auto former = wire::read_certificate(present);
  if (!former.ok()) return made;  // a server that cannot read it says so
  TRY_ASSIGN(const auto facts, wire::read_certificate(made.credentials().chain_pem));
  const std::int64_t newer_by_s = facts.not_before_s - former->not_before_s;
  if (newer_by_s > 0) return made;
  return wire::Authority::make(name, at_s - newer_by_s + 1);
}

// For a rotation that ended between its two renames.
void finish_renaming(const std::string& data_dir) {
  const Result<std::string> certificate = files::read_text(pem_of(data_dir, true), kFileBytesMax);
  const Result<std::string> key = files::read_text(key_of(data_dir, false), kFileBytesMax);
  if (!certificate.ok() || !key.ok()) return;
  if (!wire::belong_together({*certificate, *key}).ok()) return;
  (void)rename(pem_of(data_dir, true), pem_of(data_dir, false));
}

}  // namespace

std::string Authorities::believed_pem() const {
  return shown.credentials().chain_pem + (next ? next->credentials().chain_pem : "");
}

Result<wire::Authority> open_authority(const std::string& data_dir, const std::string& name) {
  const std::string certificate_path = pem_of(data_dir, false);
  const std::string key_path = key_of(data_dir, false);
  finish_renaming(data_dir);
  const Result<std::string> certificate = files::read_text(certificate_path, kFileBytesMax);
  Result<std::string> key = files::read_text(key_path, kFileBytesMax);
  if (missing(certificate) && missing(key)) {
    wire::Authority made = wire::Authority::make(name, now_s());
    TRY(write(data_dir, false, made));
    telemetry::log(telemetry::Level::kInfo, "authority_made",
                   {{"file", certificate_path}, {"digest", made.digest()}});
    return made;
  }
  if (missing(certificate)) {
    return Error{ErrorKind::kInvalid, "no_authority",
                 fmt::format("{} is there and {} is not: put it back, or remove both, and every "
                             "node joins again",
                             key_path, certificate_path),
                 certificate_path};
  }
  if (missing(key)) {
    return Error{ErrorKind::kInvalid, "no_authority",
                 fmt::format("{} is there and {} is not: put it back, or remove both, and every "
                             "node joins again",
                             certificate_path, key_path),
                 key_path};
  }
  if (!certificate.ok()) return hidden(data_dir, certificate.error());
  if (!key.ok()) return hidden(data_dir, key.error());
  return open_pair(data_dir, false, *certificate, *key);
}

std::vector<Error> damages_of_authorities(const std::string& data_dir) {
  std::vector<Error> found;
  for (const bool next : {false, true}) {
    const Result<std::string> certificate = files::read_text(pem_of(data_dir, next), kFileBytesMax);
    const Result<std::string> key = files::read_text(key_of(data_dir, next), kFileBytesMax);
    if (!certificate.ok() || !key.ok()) continue;
    const auto opened = open_pair(data_dir, next, *certificate, *key);
    if (!opened.ok()) found.push_back(opened.error());
  }
  return found;
}

Result<Authorities> open_authorities(const std::string& data_dir, const std::string& name) {
  TRY_ASSIGN(wire::Authority shown, open_authority(data_dir, name));
  TRY_ASSIGN(std::optional<wire::Authority> next, open_next(data_dir));
  return Authorities{std::move(shown), std::move(next)};
}

Result<wire::Authority> begin_rotation(const std::string& data_dir, const std::string& name,
                                       std::int64_t at_s) {
  TRY_ASSIGN(const std::optional<wire::Authority> there, open_next(data_dir));
  if (there) {
    return Error{ErrorKind::kConflict, "rotation_under_way",
                 pem_of(data_dir, true) + " is there already", pem_of(data_dir, true)};
  }
  TRY_ASSIGN(wire::Authority made, make_newer(data_dir, name, at_s));
  TRY(write(data_dir, true, made));
  return made;
}

Result<void> finish_rotation(const std::string& data_dir) {
  TRY_ASSIGN(const std::optional<wire::Authority> next, open_next(data_dir));
  if (!next) {
    return Error{ErrorKind::kNotFound, "no_rotation",
                 "no authority is to follow; `dove ca rotate` makes one", data_dir};
  }
  TRY(rename(key_of(data_dir, true), key_of(data_dir, false)));
  TRY(rename(pem_of(data_dir, true), pem_of(data_dir, false)));
  ::unlink((data_dir + "/ca.followed").c_str());
  return {};
}

Result<void> take_authorities(const std::string& data_dir, const wire::Authority& shown,
                              const std::optional<wire::Authority>& next) {
  const auto is_next = [&](const std::optional<wire::Authority>& there, const auto& wanted) {
    return there.has_value() && there->digest() == wanted.digest();
  };
  TRY_ASSIGN(Authorities here, open_authorities(data_dir, "dove"));
  if (here.shown.digest() != shown.digest()) {
    if (!is_next(here.next, shown)) {
      TRY_ASSIGN(wire::Authority same, wire::Authority::open(shown.credentials()));
      TRY(replace_next(data_dir, std::move(same)));
    }
    TRY(finish_rotation(data_dir));
    here.next.reset();
  }
  if (next ? is_next(here.next, *next) : !here.next.has_value()) return {};
  return replace_next(data_dir, next);
}

std::vector<std::string> authority_files(const std::string& data_dir) {
  return {pem_of(data_dir, false), key_of(data_dir, false), pem_of(data_dir, true),
          key_of(data_dir, true)};
}

std::set<std::string> followers(const std::string& data_dir, const std::string& digest) {
  const files::KeptLines lines =
      files::read_kept_lines(data_dir + "/ca.followed", kFollowedBytesMax);
  if (lines.whole.empty() || lines.whole.front() != digest) return {};  // of another rotation
  return {lines.whole.begin() + 1, lines.whole.end()};
}

void add_follower(const std::string& data_dir, const std::string& digest, const std::string& node) {
  std::set<std::string> all = followers(data_dir, digest);
  if (!all.insert(node).second) return;
  std::string text = files::kept_line(digest);
  for (const std::string& one : all) text += files::kept_line(one);
  const auto kept = files::write_atomically(data_dir + "/ca.followed", text, 0644);
  if (kept.ok()) return;
  telemetry::log(telemetry::Level::kWarning, "follower_not_kept", {{"why", kept.error().message}});
}

}  // namespace dove::programs
