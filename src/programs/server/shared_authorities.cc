#include "programs/server/shared_authorities.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "codec/json.h"
#include "files/text_file.h"
#include "programs/service/authorities.h"
#include "telemetry/log.h"
#include "wire/secret.h"
#include "wire/tls/sealed_box.h"

namespace dove::programs {
namespace {

using Json = nlohmann::json;

constexpr char kAbout[] = "dove authorities";
constexpr std::size_t kSecretMax = 64 << 10;
constexpr std::size_t kTextMax = 1 << 20;

Json json_of(const wire::Authority& authority) {
  const wire::Credentials& own = authority.credentials();
  return Json{{"certificate", own.chain_pem}, {"key", own.key_pem}};
}

// "" where they are missing, or just being changed.
std::string text_of(const std::string& data_dir) {
  for (const char* name : {"/ca.pem", "/ca.key"}) {
    if (::access((data_dir + name).c_str(), F_OK) != 0) return "";
  }
  const Result<Authorities> here = open_authorities(data_dir, "dove");
  if (!here.ok()) return "";
  Json text{{"shown", json_of(here->shown)}};
  if (here->next) text["next"] = json_of(*here->next);
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

struct Both {
  wire::Authority shown;
  std::optional<wire::Authority> next;
};

Result<Both> both_in(const std::string& kept) {
  TRY_ASSIGN(const Json text, codec::parse_json(kept, kTextMax));
  if (!text.is_object()) return unreadable();
  TRY_ASSIGN(auto shown, authority_in(text, "shown"));
  TRY_ASSIGN(auto next, authority_in(text, "next"));
  if (!shown) return unreadable();
  return Both{std::move(*shown), std::move(next)};
}

Result<Progress> progress_of(const std::string& text) {
  TRY_ASSIGN(const Both both, both_in(text));
  std::int64_t newest_s = 0;
  for (const wire::Authority* one : {&both.shown, both.next ? &*both.next : nullptr}) {
    if (one == nullptr) continue;
    TRY_ASSIGN(const auto facts, wire::read_certificate(one->credentials().chain_pem));
    newest_s = std::max(newest_s, facts.not_before_s);
  }
  return Progress{newest_s, !both.next};
}

}  // namespace

SharedAuthorities::SharedAuthorities(Place place, std::string data_dir)
    : place_(std::move(place)), data_dir_(std::move(data_dir)) {}

Result<std::string> SharedAuthorities::key() const {
  TRY_ASSIGN(const std::string secret, files::read_text(data_dir_ + "/secret", kSecretMax));
  return wire::hmac_sha256(secret, kAbout);
}

void SharedAuthorities::look(bool leads) {
  const std::string here = text_of(data_dir_);
  if (!leads) agreed_.clear();
  if (here.empty() || (leads && here == agreed_)) return;
  const Result<void> done = agree(leads, here);
  const std::string why = done.ok() ? "" : done.error().message;
  if (!why.empty() && why != trouble_) {
    telemetry::log(telemetry::Level::kWarning, done.error().code.c_str(), {{"why", why}});
  }
  trouble_ = why;
}

Result<void> SharedAuthorities::agree(bool leads, const std::string& here) {
  TRY_ASSIGN(const std::string sealing, key());
  std::string kept;
  if (const Result<std::string> sealed = place_.read(); sealed.ok()) {
    TRY_ASSIGN(kept, wire::open_box(sealing, *sealed, kAbout));
  } else if (sealed.error().kind != ErrorKind::kNotFound) {
    return sealed.error();
  }
  if (kept == here) return remember(here);
  const std::string before = files::text_or_empty(data_dir_ + "/ca.shared", kSecretMax);
  const bool changed_here = !before.empty() && before != wire::sha256_hex(here);
  if (!kept.empty()) {
    // A database that went back to an earlier moment keeps what was: nodes that have followed a
    // rotation since would believe none of the controllers, and the new key be gone.
    TRY_ASSIGN(const Progress there, progress_of(kept));
    TRY_ASSIGN(const Progress own, progress_of(here));
    const bool changed_there = before != wire::sha256_hex(kept);
    if (there > own || (there == own && changed_there && !(leads && changed_here))) {
      return take(kept);
    }
  }
  if (leads) {
    TRY(place_.write(wire::seal_box(sealing, here, kAbout)));
    telemetry::log(telemetry::Level::kInfo, "authorities_shared", {});
    return remember(here);
  }
  if (!changed_here) return {};
  return Error{ErrorKind::kConflict, "authorities_changed_here",
               "ca.* in this controller's data directory is not the leader's: it counts once this "
               "controller leads, or when the leader has the same; `dove ca rotate` is for the "
               "leader's machine",
               data_dir_};
}

Result<void> SharedAuthorities::take(const std::string& kept) {
  TRY_ASSIGN(const Both both, both_in(kept));
  TRY(take_authorities(data_dir_, both.shown, both.next));
  telemetry::log(telemetry::Level::kInfo, "authorities_of_leader",
                 {{"shown", both.shown.digest()}, {"next", both.next ? both.next->digest() : ""}});
  return remember(kept);
}

Result<void> SharedAuthorities::remember(const std::string& text) {
  agreed_ = text;
  const std::string path = data_dir_ + "/ca.shared";
  const std::string digest = wire::sha256_hex(text);
  if (files::text_or_empty(path, kSecretMax) == digest) return {};
  return files::write_atomically(path, digest, 0644, files::Survives::kPowerCut);
}

}  // namespace dove::programs
