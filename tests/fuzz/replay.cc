// Runs a fuzzer without libFuzzer: on its seeds, and on variants of them that are the same in every
// run.
//
//   PROGRAM [FILE|FOLDER]...    with FUZZ_VARIANTS=N (20000) variants in all; 0: the files alone
//
// An input that ends the process is written to PROGRAM.input; `PROGRAM PROGRAM.input` runs it
// again.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// The address sanitizer ends a process without a signal.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

constexpr std::size_t kInputBytesMax = 65'536;
constexpr std::size_t kPieceBytesMax = 64;
constexpr int kChangesMax = 4;  // of one variant
constexpr long kVariants = 20'000;

std::string input;       // that is running
std::string input_path;  // where it is kept if it ends the process

void keep_input() {
  const int fd = ::open(input_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const ssize_t written = ::write(fd, input.data(), input.size());
  ::close(fd);
  if (written < 0) return;
  (void)!::write(STDERR_FILENO, "input kept: ", 12);
  (void)!::write(STDERR_FILENO, input_path.data(), input_path.size());
  (void)!::write(STDERR_FILENO, "\n", 1);
}

void on_signal(int number) {
  keep_input();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

void run(std::string bytes) {
  input = std::move(bytes);
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

// The changes that libFuzzer makes, too. The generator gives the same numbers everywhere.
class Variants {
 public:
  explicit Variants(const std::vector<std::string>& seeds) : seeds_(seeds) {}

  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    for (std::size_t changes = 1 + below(kChangesMax); changes > 0; --changes) change(bytes);
    bytes.resize(std::min(bytes.size(), kInputBytesMax));
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  // A piece of some seed.
  std::string piece() {
    const std::string& seed = seeds_[below(seeds_.size())];
    return seed.empty() ? std::string()
                        : seed.substr(below(seed.size()), 1 + below(kPieceBytesMax));
  }

  void change(std::string& bytes) {
    static constexpr char kOdd[] = "\0\1\x7f\x80\xff\n\"'{}[]:,-/\\%$#0";
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t size = std::min(bytes.size() - at, 1 + below(kPieceBytesMax));
    const char odd = kOdd[below(sizeof kOdd - 1)];
    switch (below(6)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        return;
      case 1:
        if (at < bytes.size()) bytes[at] = odd;
        return;
      case 2:
        bytes.insert(at, 1 + below(8), odd);
        return;
      case 3:
        bytes.erase(at, size);
        return;
      case 4:
        bytes.insert(at, piece());
        return;
      default:
        bytes.replace(at, size, piece());
        return;
    }
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_{1};
};

// In the order of their names, so that each run is the same.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file()) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

int main(int count, char** arguments) {
  input_path = std::string(arguments[0]) + ".input";
  // What the sanitizer says of the other signals is worth more.
  const bool is_sanitized = __sanitizer_set_death_callback != nullptr;
  if (is_sanitized) __sanitizer_set_death_callback(keep_input);
  std::signal(SIGABRT, on_signal);
  for (const int number : {SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    if (!is_sanitized) std::signal(number, on_signal);
  }
  std::vector<std::string> seeds;
  for (int i = 1; i < count; ++i) {
    for (const std::filesystem::path& path : files_of(arguments[i])) {
      std::ifstream file(path, std::ios::binary);
      if (!file) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        return 2;
      }
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      seeds.back().resize(std::min(seeds.back().size(), kInputBytesMax));
    }
  }
  const std::size_t files = seeds.size();
  for (const std::string& seed : seeds) run(seed);
  seeds.emplace_back();  // variants of nothing, too
  run({});
  const char* wanted = std::getenv("FUZZ_VARIANTS");
  const bool is_one = count == 2 && std::filesystem::is_regular_file(arguments[1]);
  const long variants = wanted != nullptr ? std::atol(wanted) : is_one ? 0 : kVariants;
  Variants all(seeds);
  for (long i = 0; i < variants; ++i) run(all.next());
  std::printf("%zu files and %ld variants\n", files, variants);
  return 0;
}
