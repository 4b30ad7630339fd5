// The ledger of libdove-share.so: how much device memory the processes of a job's tasks on this
// node hold together, in one file that they all map.
//
// Each process has a slot there. Two caps hold for each device: what the process's task may have,
// and what all tasks of the attempt on this node may have together. The file is changed under
// a record lock of the process (fcntl), which ends with it and which no child has; slots of
// processes that are gone are emptied when memory would be refused: of the same process namespace
// by process id and start, of others by a lock that each process keeps on its slot's byte. Where
// the file cannot be had (a task that cannot see its directory) each process counts for itself. Any
// thread; REQUIRES of every call: the process's lock is held.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace dove::share {

inline constexpr std::size_t kDevices = 16;

struct Caps {
  std::uint64_t own_bytes = 0;  // of the task
  std::uint64_t all_bytes = 0;  // of the attempt's tasks here
};

class Ledger {
 public:
  // `task` tells this task from the attempt's others.
  void open(const char* path, std::uint32_t task);
  // After a fork: this process holds nothing yet.
  void forget();

  // Whether there is room for this many bytes more; if so, they count.
  bool take(std::size_t device, std::uint64_t bytes, const Caps& caps);
  void give_back(std::size_t device, std::uint64_t bytes);
  // What could still be taken.
  std::uint64_t room(std::size_t device, const Caps& caps);
  // This process is ending.
  void leave();

 private:
  struct Slot;
  struct Book;
  class Change;
  struct Sums {
    std::uint64_t own = 0;
    std::uint64_t all = 0;
  };

  bool has_file() const { return path_[0] != '\0'; }
  Slot* own_slot();
  Sums sums(std::size_t device) const;
  bool sweep();
  bool is_gone(const Slot& slot, std::size_t index) const;
  void hold_byte(std::size_t index);

  // A copy: programs that change their title write over their environment.
  char path_[4096] = {};
  std::uint32_t task_ = 0;
  Book* book_ = nullptr;
  std::size_t slot_ = 0;  // one more than its index; 0: none yet
  pid_t pid_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t space_ = 0;  // the namespace that pid_ is of
  int byte_fd_ = -1;
  int change_fd_ = -1;  // the file, while it is locked
  std::uint64_t mine_[kDevices] = {};
};

}  // namespace dove::share
