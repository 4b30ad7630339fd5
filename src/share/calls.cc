#include "share/calls.h"

#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstring>

namespace dove::share {
namespace {

void sleep_on(int* word, int value) {
  ::syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

// What the loader knows of one library's symbols.
struct Symbols {
  const ElfW(Sym) * first = nullptr;
  const char* names = nullptr;
  std::size_t count = 0;
};

// The hash table of GNU's linkers does not say how many symbols there are: the last one is at the
// end of the longest chain.
std::size_t gnu_count(const std::uint32_t* table) {
  const std::uint32_t buckets = table[0];
  const std::uint32_t first = table[1];
  const std::uint32_t words = table[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* bucket = table + 4 + words;
  const std::uint32_t* chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i) last = bucket[i] > last ? bucket[i] : last;
  if (last < first) return first;
  while ((chain[last - first] & 1) == 0) ++last;
  return last + 1;
}

// glibc has made the addresses absolute, musl leaves them as they are in the file.
template <class T>
T* absolute(const dl_phdr_info& library, ElfW(Addr) address) {
  return reinterpret_cast<T*>(address >= library.dlpi_addr ? address : address + library.dlpi_addr);
}

Symbols symbols_of(const dl_phdr_info& library) {
  Symbols found;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry =
        reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const ElfW(Addr) value = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) found.first = absolute<const ElfW(Sym)>(library, value);
      if (entry->d_tag == DT_STRTAB) found.names = absolute<const char>(library, value);
      if (entry->d_tag == DT_HASH) found.count = absolute<const std::uint32_t>(library, value)[1];
      if (entry->d_tag == DT_GNU_HASH && found.count == 0) {
        found.count = gnu_count(absolute<const std::uint32_t>(library, value));
      }
    }
  }
  if (found.first == nullptr || found.names == nullptr) found.count = 0;
  return found;
}

struct Search {
  const char* library;
  const char* name;
  void* found;
};

bool holds(const dl_phdr_info& library, const void* address) {
  const auto at = reinterpret_cast<ElfW(Addr)>(address);
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library.dlpi_phdr[i];
    const ElfW(Addr) begin = library.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && at >= begin && at - begin < part.p_memsz) return true;
  }
  return false;
}

bool is_called(const dl_phdr_info& library, const char* wanted) {
  if (library.dlpi_name == nullptr) return false;
  const char* file = library.dlpi_name;
  for (const char* at = file; *at != '\0'; ++at) {
    if (*at == '/') file = at + 1;
  }
  return std::strncmp(file, wanted, std::strlen(wanted)) == 0;
}

int look(dl_phdr_info* library, std::size_t, void* data) {
  Search& search = *static_cast<Search*>(data);
  if (holds(*library, reinterpret_cast<const void*>(&look))) return 0;
  if (search.library != nullptr && !is_called(*library, search.library)) return 0;
  const Symbols symbols = symbols_of(*library);
  for (std::size_t i = 0; i < symbols.count; ++i) {
    const ElfW(Sym)& symbol = symbols.first[i];
    if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    if (std::strcmp(symbols.names + symbol.st_name, search.name) != 0) continue;
    search.found = reinterpret_cast<void*>(library->dlpi_addr + symbol.st_value);
    return 1;
  }
  return 0;
}

struct Owner {
  const void* address;
  bool ours;
};

int look_for_owner(dl_phdr_info* library, std::size_t, void* data) {
  Owner& owner = *static_cast<Owner*>(data);
  if (!holds(*library, owner.address)) return 0;
  owner.ours = holds(*library, reinterpret_cast<const void*>(&look));
  return 1;
}

}  // namespace

void Lock::lock() {
  int seen = 0;
  if (__atomic_compare_exchange_n(&state_, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
    return;
  }
  while (__atomic_exchange_n(&state_, 2, __ATOMIC_ACQUIRE) != 0) sleep_on(&state_, 2);
}

void Lock::unlock() {
  if (__atomic_exchange_n(&state_, 0, __ATOMIC_RELEASE) == 2) {
    ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

void Lock::forget() {
  __atomic_store_n(&state_, 0, __ATOMIC_RELEASE);
  ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::uint64_t read_number(const char*& text) {
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  }
  return value;
}

void* find_function(const char* library, const char* name) {
  Search search{library, name, nullptr};
  ::dl_iterate_phdr(&look, &search);
  return search.found;
}

bool is_ours(const void* address) {
  Owner owner{address, false};
  ::dl_iterate_phdr(&look_for_owner, &owner);
  return owner.ours;
}

}  // namespace dove::share
