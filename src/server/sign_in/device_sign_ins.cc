#include "server/sign_in/device_sign_ins.h"

#include <algorithm>
#include <utility>

#include "wire/address.h"
#include "wire/secret.h"
#include "wire/server_limits.h"

namespace dove::server {
namespace {

constexpr std::int64_t kLasts_us = 600'000'000;
constexpr std::size_t kMost = 1'000;
constexpr std::size_t kMostOfAddress = 20;
// No vowels, so that no words come out (RFC 8628 6.1).
constexpr std::string_view kLetters = "BCDFGHJKLMNPQRSTVWXZ";
constexpr std::size_t kCodeLetters = 8;

std::string new_user_code() {
  std::string code;
  while (code.size() < kCodeLetters) {
    for (const unsigned char byte : wire::random_token(32)) {
      // The first forty letters of base64 are ours twice; the others would favour some of ours.
      const std::size_t value = byte >= 'a' ? byte - 'a' + 26U : byte >= 'A' ? byte - 'A' : 63U;
      if (value >= 40 || code.size() == kCodeLetters) continue;
      code += kLetters[value % kLetters.size()];
    }
  }
  return code.insert(kCodeLetters / 2, "-");
}

std::string as_typed(std::string code) {
  std::erase_if(code, [](char c) { return c == '-' || c == ' '; });
  for (char& c : code) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (code.size() == kCodeLetters) code.insert(kCodeLetters / 2, "-");
  return code;
}

}  // namespace

Result<DeviceSignIns::Begun> DeviceSignIns::begin(const std::string& name,
                                                  const std::string& address) {
  forget_old();
  const auto of_address = std::ranges::count_if(entries_, [&](const auto& entry) {
    return wire::network_of(entry.second.sign_in.address) == wire::network_of(address);
  });
  if (entries_.size() >= kMost || static_cast<std::size_t>(of_address) >= kMostOfAddress) {
    return Error{ErrorKind::kUnavailable, wire::kRateLimited,
                 "many programs already ask to be let in; answer them, or wait ten minutes", ""};
  }
  Begun begun;
  begun.device_code = wire::random_token(32);
  begun.sign_in = {new_user_code(), name, address, loop_.wall_us(),
                   loop_.monotonic_us() + kLasts_us};
  entries_[wire::sha256_hex(begun.device_code)].sign_in = begun.sign_in;
  return begun;
}

const DeviceSignIn* DeviceSignIns::find(const std::string& user_code) {
  forget_old();
  const auto entry = entry_of(user_code);
  return entry == entries_.end() ? nullptr : &entry->second.sign_in;
}

bool DeviceSignIns::answer(const std::string& user_code, DeviceAnswer answer) {
  forget_old();
  const auto found = entry_of(user_code);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  entry.is_answered = true;
  if (entry.told == nullptr) {
    entry.answer = std::move(answer);
    return true;
  }
  Entry last = std::move(entry);
  entries_.erase(found);
  tell(last, &answer);
  return true;
}

Result<void> DeviceSignIns::wait(const std::string& device_code, std::chrono::microseconds wait,
                                 Told told) {
  forget_old();
  const std::string digest = wire::sha256_hex(device_code);
  const auto found = entries_.find(digest);
  if (found == entries_.end()) {
    return Error{
        ErrorKind::kNotFound, "device_code_unknown",
        "nobody let this program in within ten minutes, or the server was restarted; begin "
        "again",
        "device_code"};
  }
  Entry& entry = found->second;
  tell(entry, nullptr);
  entry.told = std::move(told);
  if (entry.is_answered) {
    Entry last = std::move(entry);
    entries_.erase(found);
    const DeviceAnswer answer = std::move(last.answer);
    tell(last, &answer);
    return {};
  }
  entry.timer = loop_.after(wait, [this, digest] {
    const auto late = entries_.find(digest);
    if (late != entries_.end()) tell(late->second, nullptr);
  });
  return {};
}

void DeviceSignIns::close_all() {
  for (auto& [digest, entry] : entries_) tell(entry, nullptr);
}

void DeviceSignIns::forget_old() {
  const std::int64_t now_us = loop_.monotonic_us();
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    if (entry->second.sign_in.ends_us > now_us) {
      ++entry;
      continue;
    }
    Entry last = std::move(entry->second);
    entry = entries_.erase(entry);
    tell(last, nullptr);
  }
}

std::map<std::string, DeviceSignIns::Entry>::iterator DeviceSignIns::entry_of(
    const std::string& user_code) {
  const std::string code = as_typed(user_code);
  return std::ranges::find_if(entries_, [&](const auto& entry) {
    return !entry.second.is_answered &&
           wire::equal_constant_time(entry.second.sign_in.user_code, code);
  });
}

void DeviceSignIns::tell(Entry& entry, const DeviceAnswer* answer) {
  entry.timer.cancel();
  const Told told = std::exchange(entry.told, nullptr);
  if (told != nullptr) told(answer);
}

}  // namespace dove::server
