#include "share/keeper.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "share/names.h"

namespace dove::share {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// As NVML writes UUIDs.
void write_uuid(const unsigned char* bytes, char* text) {
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *text++ = '-';
    *text++ = kHex[bytes[i] >> 4];
    *text++ = kHex[bytes[i] & 15];
  }
  *text = '\0';
}

bool is_uuid(const char* text, std::size_t count) {
  if (count != 36) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : text[i] == '\0' || std::strchr(kHex, text[i]) == nullptr) {
      return false;
    }
  }
  return true;
}

}  // namespace

static constinit Keeper the_keeper;

Keeper& Keeper::get() {
  the_keeper.begin();
  return the_keeper;
}

void Keeper::begin() {
  const int pid = ::getpid();
  if (__atomic_load_n(&pid_, __ATOMIC_ACQUIRE) == pid) return;
  // A child begins with one thread, and what its parent held is not its own.
  int seen = __atomic_load_n(&seen_pid_, __ATOMIC_ACQUIRE);
  if (seen != pid && __atomic_compare_exchange_n(&seen_pid_, &seen, pid, false, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_RELAXED)) {
    lock_.forget();
  }
  const Locked locked(lock_);
  if (pid_ == pid) return;
  if (!read_) {
    read_ = true;
    if (const char* caps = std::getenv("DOVE_SHARE_CAPS"); caps != nullptr) read_caps(caps);
    const char* task = std::getenv("DOVE_SHARE_TASK");
    const std::uint64_t number = task == nullptr ? 0 : read_number(task);
    if (cap_count_ > 0) {
      ledger_.open(std::getenv("DOVE_SHARE_FILE"), static_cast<std::uint32_t>(number));
    }
  } else {
    ledger_.forget();
    holdings_.forget();
  }
  __atomic_store_n(&pid_, pid, __ATOMIC_RELEASE);
}

void Keeper::read_caps(const char* text) {
  while (*text != '\0' && cap_count_ < kDevices) {
    Cap& cap = caps_[cap_count_];
    const char* equals = std::strchr(text, '=');
    if (equals == nullptr) return;
    const char* name = std::strncmp(text, "GPU-", 4) == 0 ? text + 4 : text;
    const auto count = static_cast<std::size_t>(equals - name);
    if (is_uuid(name, count)) std::memcpy(cap.uuid, name, count);
    text = equals + 1;
    cap.bytes.own_bytes = cap.bytes.all_bytes = read_number(text);
    if (*text == ':') cap.bytes.all_bytes = read_number(++text);
    ++cap_count_;
    if (*text != ',') return;
    ++text;
  }
}

int Keeper::find_cap(CuDevice device) {
  unsigned char bytes[16] = {};
  char uuid[40] = {};
  const bool told = driver(Fn::kDeviceGetUuid, bytes, device) == kCuSuccess;
  if (told) write_uuid(bytes, uuid);
  for (std::size_t i = 0; i < cap_count_; ++i) {
    const Cap& cap = caps_[i];
    const bool is_it = cap.uuid[0] == '\0' ? i == static_cast<std::size_t>(device)
                                           : std::strcmp(cap.uuid, uuid) == 0;
    if (is_it) return static_cast<int>(i) + 1;
  }
  return told ? -1 : 0;  // the driver has not begun
}

int Keeper::capped(CuDevice device) {
  if (cap_count_ == 0 || device < 0 || device >= static_cast<int>(sizeof known_)) return -1;
  signed char& known = known_[device];
  if (known == 0) known = static_cast<signed char>(find_cap(device));
  return known <= 0 ? -1 : known - 1;
}

int Keeper::capped_current() {
  CuDevice device = -1;
  if (cap_count_ == 0 || driver(Fn::kCtxGetDevice, &device) != kCuSuccess) {
    return -1;
  }
  return capped(device);
}

bool Keeper::take(int device, std::uint64_t bytes) {
  const Locked locked(lock_);
  const auto at = static_cast<std::size_t>(device);
  return ledger_.take(at, bytes, caps_[at].bytes);
}

void Keeper::keep(const Holding& holding) {
  const Locked locked(lock_);
  if (holdings_.add(holding)) return;
  // Not to be known when it is freed, so it counts to the end: not less than it should.
}

void Keeper::give_back(int device, std::uint64_t bytes) {
  const Locked locked(lock_);
  ledger_.give_back(static_cast<std::size_t>(device), bytes);
}

Holding Keeper::part_with(Kind kind, std::uint64_t key) {
  const Locked locked(lock_);
  Holding* found = holdings_.find(kind, key);
  if (found == nullptr) return {};
  const Holding was = *found;
  holdings_.remove(found);
  return was;
}

void Keeper::mapped(std::uint64_t address, std::uint64_t handle) {
  const Locked locked(lock_);
  Holding* found = holdings_.find(Kind::kHandle, handle);
  if (found == nullptr) return;
  ++found->uses;
  Holding mapping;
  mapping.kind = Kind::kMapping;
  mapping.key = address;
  mapping.handle = handle;
  holdings_.add(mapping);
}

void Keeper::handle_used(std::uint64_t handle) {
  const Locked locked(lock_);
  if (Holding* found = holdings_.find(Kind::kHandle, handle); found != nullptr) ++found->uses;
}

void Keeper::handle_released(std::uint64_t handle) {
  const Locked locked(lock_);
  Holding* found = holdings_.find(Kind::kHandle, handle);
  if (found == nullptr || --found->uses > 0) return;
  const Holding was = *found;
  holdings_.remove(found);
  ledger_.give_back(static_cast<std::size_t>(was.device), was.bytes);
}

void Keeper::unmapped(std::uint64_t address, std::uint64_t bytes) {
  for (;;) {
    std::uint64_t handle = 0;
    {
      const Locked locked(lock_);
      std::size_t from = 0;
      Holding* found = holdings_.next(from, [&](const Holding& one) {
        return one.kind == Kind::kMapping && one.key - address < bytes;
      });
      if (found == nullptr) return;
      handle = found->handle;
      holdings_.remove(found);
    }
    handle_released(handle);
  }
}

void Keeper::context_ended(CuContext context) {
  const Locked locked(lock_);
  const auto is_of_it = [&](const Holding& one) {
    return one.kind == Kind::kPointer && one.context == context;
  };
  for (std::size_t from = 0; Holding* found = holdings_.next(from, is_of_it); from = 0) {
    ledger_.give_back(static_cast<std::size_t>(found->device), found->bytes);
    holdings_.remove(found);
  }
}

Keeper::Memory Keeper::memory(int device) {
  const Locked locked(lock_);
  const Caps& caps = caps_[static_cast<std::size_t>(device)].bytes;
  return {ledger_.room(static_cast<std::size_t>(device), caps), caps.own_bytes};
}

void Keeper::leave() {
  const Locked locked(lock_);
  ledger_.leave();
}

}  // namespace dove::share
