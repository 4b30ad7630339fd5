#include "programs/server/shared_authorities.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "codec/json.h"
#include "files/text_file.h"
#include "telemetry/log.h"
#include "wire/secret.h"
#include "wire/tls/sealed_box.h"

namespace dove::programs {
namespace {

using Json = nlohmann::json;

constexpr char kAbout[] = "dove authorities";
constexpr std::size_t kSecretMax = 64 << 10;
constexpr std::size_t kTextMax = 1 << 20;
constexpr std::chrono::seconds kLook{2};

Json json_of(const wire::Authority& authority) {
  const wire::Credentials& own = authority.credentials();
  return Json{{"certificate", own.chain_pem}, {"key", own.key_pem}};
}

std::string text_of(const Authorities& all) {
  Json text{{"shown", json_of(all.shown)}};
  if (all.next) text["next"] = json_of(*all.next);
  return codec::dump_json(text);
}

// How far rotations have got: the newest authority, and whether it is the only one.
using Progress = std::pair<std::int64_t, bool>;

Error unreadable() {
  return {ErrorKind::kInvalid, "authorities_unreadable",
          "what the leader keeps of the cluster's authorities cannot be read", ""};
}

Result<std::optional<wire::Authority>> authority_in(const Json& text, const char* name) {
  const Json one = text.value(name, Json());
  if (one.is_null()) return std::optional<wire::Authority>();
  const Json certificate = one.is_object() ? one.value("certificate", Json()) : Json();
  const Json key = one.is_object() ? one.value("key", Json()) : Json();
  if (!certificate.is_string() || !key.is_string()) return unreadable();
  TRY_ASSIGN(wire::Authority opened,
             wire::Authority::open({certificate.get<std::string>(), key.get<std::string>()}));
  return std::optional<wire::Authority>(std::move(opened));
}

Result<Authorities> authorities_in(const std::string& kept) {
  TRY_ASSIGN(const Json text, codec::parse_json(kept, kTextMax));
  if (!text.is_object()) return unreadable();
  TRY_ASSIGN(auto shown, authority_in(text, "shown"));
  TRY_ASSIGN(auto next, authority_in(text, "next"));
  if (!shown) return unreadable();
  return Authorities{std::move(*shown), std::move(next)};
}

Result<Progress> progress_of(const Authorities& all) {
  std::int64_t newest_s = 0;
  for (const wire::Authority* one : {&all.shown, all.next ? &*all.next : nullptr}) {
    if (one == nullptr) continue;
    TRY_ASSIGN(const auto facts, wire::read_certificate(one->credentials().chain_pem));
    newest_s = std::max(newest_s, facts.not_before_s);
  }
  return Progress{newest_s, !all.next};
}

}  // namespace

SharedAuthorities::SharedAuthorities(Place place, std::string data_dir)
    : place_(std::move(place)), data_dir_(std::move(data_dir)), marks_(authority_files(data_dir_)) {
  thread_ = std::thread([this] { run(); });
}

SharedAuthorities::~SharedAuthorities() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void SharedAuthorities::stands_by() {
  const std::lock_guard lock(mutex_);
  leads_ = false;
}

void SharedAuthorities::leads(std::function<void()> ready) {
  {
    const std::lock_guard lock(mutex_);
    leads_ = true;
    ready_ = std::move(ready);
  }
  wake_.notify_one();
}

void SharedAuthorities::run() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    const bool leads = leads_;
    const std::function<void()> ready = std::exchange(ready_, nullptr);
    lock.unlock();
    if (ready) agreed_.clear();  // the former leader may have kept others
    look(leads);
    if (ready) ready();
    lock.lock();
    wake_.wait_for(lock, kLook, [this] { return is_over_ || ready_ != nullptr; });
  }
}

Result<std::string> SharedAuthorities::key() const {
  TRY_ASSIGN(const std::string secret, files::read_text(data_dir_ + "/secret", kSecretMax));
  return wire::hmac_sha256(secret, kAbout);
}

// None where they are missing, or just being changed.
void SharedAuthorities::read_files() {
  if (!marks_.changed()) return;
  own_.reset();
  here_.clear();
  for (const char* name : {"/ca.pem", "/ca.key"}) {
    if (::access((data_dir_ + name).c_str(), F_OK) != 0) return marks_.forget();
  }
  Result<Authorities> read = open_authorities(data_dir_, "dove");
  if (!read.ok()) return marks_.forget();
  own_ = std::move(read).value();
  here_ = text_of(*own_);
}

void SharedAuthorities::look(bool leads) {
  read_files();
  if (!own_ || (leads && here_ == agreed_)) return;
  const Result<void> done = agree(leads);
  const std::string why = done.ok() ? "" : done.error().message;
  if (!why.empty() && why != trouble_) {
    telemetry::log(telemetry::Level::kWarning, done.error().code.c_str(), {{"why", why}});
  }
  trouble_ = why;
}

Result<void> SharedAuthorities::agree(bool leads) {
  Result<std::string> sealed = place_.read();
  if (!sealed.ok() && sealed.error().kind != ErrorKind::kNotFound) return sealed.error();
  if (sealed.ok() && here_ == agreed_ && *sealed == sealed_) return {};
  TRY_ASSIGN(const std::string sealing, key());
  std::string kept;
  if (sealed.ok()) {
    TRY_ASSIGN(kept, wire::open_box(sealing, *sealed, kAbout));
  }
  if (kept == here_) return remember(here_, *sealed);
  const std::string before = files::text_or_empty(data_dir_ + "/ca.shared", kSecretMax);
  const bool changed_here = !before.empty() && before != wire::sha256_hex(here_);
  if (!kept.empty()) {
    // A database that went back to an earlier moment keeps what was: nodes that have followed a
    // rotation since would believe none of the controllers, and the new key be gone.
    TRY_ASSIGN(const Authorities theirs, authorities_in(kept));
    TRY_ASSIGN(const Progress there, progress_of(theirs));
    TRY_ASSIGN(const Progress own, progress_of(*own_));
    const bool changed_there = before != wire::sha256_hex(kept);
    if (there > own || (there == own && changed_there && !(leads && changed_here))) {
      TRY(take_authorities(data_dir_, theirs.shown, theirs.next));
      telemetry::log(
          telemetry::Level::kInfo, "authorities_of_leader",
          {{"shown", theirs.shown.digest()}, {"next", theirs.next ? theirs.next->digest() : ""}});
      return remember(kept, *sealed);
    }
  }
  if (leads) {
    const std::string box = wire::seal_box(sealing, here_, kAbout);
    TRY(place_.write(box));
    telemetry::log(telemetry::Level::kInfo, "authorities_shared", {});
    return remember(here_, box);
  }
  if (!changed_here) return {};
  return Error{ErrorKind::kConflict, "authorities_changed_here",
               "ca.* in this controller's data directory is not the leader's: it counts once this "
               "controller leads, or when the leader has the same; `dove ca rotate` is for the "
               "leader's machine",
               data_dir_};
}

Result<void> SharedAuthorities::remember(const std::string& text, const std::string& sealed) {
  const std::string path = data_dir_ + "/ca.shared";
  const std::string digest = wire::sha256_hex(text);
  if (files::text_or_empty(path, kSecretMax) != digest) {
    TRY(files::write_atomically(path, digest, 0644, files::Survives::kPowerCut));
  }
  // Not before: where it could not be written, the next look tries again.
  agreed_ = text;
  sealed_ = sealed;
  return {};
}

}  // namespace dove::programs
