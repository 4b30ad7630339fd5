#include "share/ledger.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "share/calls.h"

namespace dove::share {
namespace {

constexpr std::size_t kSlots = 512;
constexpr int kThreadsField = 20;  // of /proc/PID/stat, counted from 1
constexpr int kStartField = 22;

// `pid` as text behind "/proc/".
struct ProcPath {
  char text[64];
  ProcPath(pid_t pid, const char* name) {
    char digits[24];
    std::size_t count = 0;
    for (auto left = static_cast<unsigned>(pid); left > 0 || count == 0; left /= 10) {
      digits[count++] = static_cast<char>('0' + left % 10);
    }
    std::memcpy(text, "/proc/", 6);
    std::size_t at = 6;
    while (count > 0) text[at++] = digits[--count];
    std::memcpy(text + at, name, std::strlen(name) + 1);
  }
};

// What the kernel says about a process.
struct Life {
  std::uint64_t started = 0;  // in the kernel's ticks; 0: that cannot be seen
  bool is_over = false;       // its parent has not asked for its end yet
};

Life life_of(pid_t pid) {
  const int fd = ::open(ProcPath(pid, "/stat").text, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[1024];
  const ssize_t count = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (count <= 0) return {};
  text[count] = '\0';
  const char* at = std::strrchr(text, ')');  // the name before it may hold anything
  const char state = at == nullptr || at[1] == '\0' ? '\0' : at[2];
  std::uint64_t threads = 0;
  for (int field = 2; at != nullptr && field < kStartField; ++field) {
    at = std::strchr(at + 1, ' ');
    if (at == nullptr || field + 1 != kThreadsField) continue;
    const char* digits = at + 1;
    threads = read_number(digits);
  }
  if (at == nullptr) return {};
  // The first thread may end before the others.
  return {read_number(++at), state == 'Z' && threads <= 1};
}

std::uint64_t own_space() {
  char text[64];
  const ssize_t count = ::readlink("/proc/self/ns/pid", text, sizeof text - 1);
  if (count <= 0) return 0;
  text[count] = '\0';
  const char* at = std::strchr(text, '[');
  return at == nullptr ? 0 : read_number(++at);
}

// The lock of the file, until the process closes any descriptor of it or ends.
void lock_file(int fd) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_start = kSlots;  // bytes before it are held by processes for as long as they live
  whole.l_len = 1;
  while (::fcntl(fd, F_SETLKW, &whole) != 0 && errno == EINTR) continue;
}

}  // namespace

struct Ledger::Slot {
  std::int32_t pid;  // 0: free
  std::uint32_t task;
  std::uint64_t started;
  std::uint64_t space;
  std::uint64_t held[kDevices];
};

struct Ledger::Book {
  Slot slots[kSlots];
};

// The file's lock, for as long as it lives. Nothing may close the file meanwhile.
class Ledger::Change {
 public:
  explicit Change(Ledger& ledger) : ledger_(ledger) {
    ledger.change_fd_ = ledger.has_file() ? ::open(ledger.path_, O_RDWR | O_CLOEXEC) : -1;
    if (ledger.change_fd_ >= 0) lock_file(ledger.change_fd_);
  }
  ~Change() {
    if (ledger_.change_fd_ >= 0) ::close(ledger_.change_fd_);
    ledger_.change_fd_ = -1;
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  Ledger& ledger_;
};

void Ledger::open(const char* path, std::uint32_t task) {
  task_ = task;
  const bool named = path != nullptr && std::strlen(path) < sizeof path_;
  const int fd = named ? ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  void* map = MAP_FAILED;
  if (fd >= 0) {
    lock_file(fd);
    const bool whole = ::lseek(fd, 0, SEEK_END) >= static_cast<off_t>(sizeof(Book)) ||
                       ::ftruncate(fd, sizeof(Book)) == 0;
    if (whole) {
      map = ::mmap(nullptr, sizeof(Book), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    ::close(fd);
  }
  if (map != MAP_FAILED) {
    std::memcpy(path_, path, std::strlen(path) + 1);
  } else {
    map = ::mmap(nullptr, sizeof(Book), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  book_ = map == MAP_FAILED ? nullptr : static_cast<Book*>(map);
  forget();
}

void Ledger::forget() {
  pid_ = ::getpid();
  started_ = life_of(pid_).started;
  space_ = own_space();
  slot_ = 0;
  if (byte_fd_ >= 0) ::close(byte_fd_);
  byte_fd_ = -1;
  std::memset(mine_, 0, sizeof mine_);
}

// Others see by this lock that we are alive.
void Ledger::hold_byte(std::size_t index) {
  if (!has_file()) return;
  if (byte_fd_ < 0) byte_fd_ = ::open(path_, O_RDWR | O_CLOEXEC);
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_start = static_cast<off_t>(index);
  byte.l_len = 1;
  ::fcntl(byte_fd_, F_OFD_SETLK, &byte);
}

bool Ledger::is_gone(const Slot& slot, std::size_t index) const {
  if (slot.space == space_ && space_ != 0) {
    if (::kill(slot.pid, 0) != 0 && errno == ESRCH) return true;
    const Life life = life_of(slot.pid);  // of whoever has that number now
    return life.is_over || (life.started != 0 && slot.started != 0 && life.started != slot.started);
  }
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_start = static_cast<off_t>(index);
  byte.l_len = 1;
  return ::fcntl(change_fd_, F_OFD_GETLK, &byte) == 0 && byte.l_type == F_UNLCK;
}

// Empties slots of processes that are gone; whether there was one.
bool Ledger::sweep() {
  bool found = false;
  for (std::size_t i = 0; has_file() && i < kSlots; ++i) {
    Slot& slot = book_->slots[i];
    if (slot.pid == 0 || i + 1 == slot_ || !is_gone(slot, i)) continue;
    std::memset(&slot, 0, sizeof slot);
    found = true;
  }
  return found;
}

// nullptr: 512 processes have one.
Ledger::Slot* Ledger::own_slot() {
  const auto is_mine = [&](const Slot& slot) {
    return slot.pid == pid_ && slot.started == started_ && slot.space == space_;
  };
  if (slot_ != 0 && is_mine(book_->slots[slot_ - 1])) return &book_->slots[slot_ - 1];
  const auto find = [&](auto is_wanted) {
    for (std::size_t i = 0; i < kSlots; ++i) {
      if (is_wanted(book_->slots[i])) return i + 1;
    }
    return std::size_t{0};
  };
  const auto is_free = [](const Slot& slot) { return slot.pid == 0; };
  slot_ = find(is_mine);  // of the program that this process ran before execve(2)
  if (slot_ == 0) slot_ = find(is_free);
  if (slot_ == 0 && sweep()) slot_ = find(is_free);
  if (slot_ == 0) return nullptr;
  Slot& slot = book_->slots[slot_ - 1];
  slot.pid = pid_;
  slot.task = task_;
  slot.started = started_;
  slot.space = space_;
  std::memcpy(slot.held, mine_, sizeof mine_);
  hold_byte(slot_ - 1);
  return &slot;
}

Ledger::Sums Ledger::sums(std::size_t device) const {
  Sums sums;
  for (const Slot& slot : book_->slots) {
    if (slot.pid == 0) continue;
    sums.all += slot.held[device];
    if (slot.task == task_) sums.own += slot.held[device];
  }
  return sums;
}

std::uint64_t Ledger::room(std::size_t device, const Caps& caps) {
  if (book_ == nullptr) return 0;
  const Change change(*this);
  own_slot();
  sweep();
  const Sums held = sums(device);
  const std::uint64_t own = held.own < caps.own_bytes ? caps.own_bytes - held.own : 0;
  const std::uint64_t all = held.all < caps.all_bytes ? caps.all_bytes - held.all : 0;
  return own < all ? own : all;
}

bool Ledger::take(std::size_t device, std::uint64_t bytes, const Caps& caps) {
  if (book_ == nullptr) return false;
  const Change change(*this);
  Slot* slot = own_slot();
  if (slot == nullptr) return false;
  const auto fits = [&] {
    const Sums held = sums(device);
    return held.own <= caps.own_bytes && bytes <= caps.own_bytes - held.own &&
           held.all <= caps.all_bytes && bytes <= caps.all_bytes - held.all;
  };
  if (!fits() && (!sweep() || !fits())) return false;
  slot->held[device] += bytes;
  mine_[device] += bytes;
  return true;
}

void Ledger::give_back(std::size_t device, std::uint64_t bytes) {
  if (book_ == nullptr) return;
  const Change change(*this);
  mine_[device] -= bytes < mine_[device] ? bytes : mine_[device];
  if (Slot* slot = own_slot(); slot != nullptr) slot->held[device] = mine_[device];
}

void Ledger::leave() {
  if (book_ == nullptr || slot_ == 0 || ::getpid() != pid_) return;
  const Change change(*this);
  Slot& slot = book_->slots[slot_ - 1];
  if (slot.pid == pid_ && slot.space == space_) std::memset(&slot, 0, sizeof slot);
}

}  // namespace dove::share
