// Damager: random damage to the files of a directory, as disks, power cuts and people do it. For
// tests only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace dove::files {

// The environment says it: DOVE_DAMAGES (make test-corruption: 2000), DOVE_SEED.
inline std::uint64_t damage_number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

inline std::uint64_t damage_seed() { return damage_number("DOVE_SEED", std::random_device()()); }

inline std::string damage_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// In its place: whoever has it locked has it locked still.
inline void put_damage(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

class Damager {
 public:
  using Path = std::filesystem::path;
  explicit Damager(std::uint64_t seed) : random_(seed) {}

  // Changes one file of the directory, and says how. `earlier` may have a former version of it.
  std::string damage(const Path& directory, const Path& earlier,
                     const std::function<bool(const Path&)>& spares = {}) {
    const Path file = one_of(directory, spares);
    const Path name = file.lexically_relative(directory);
    return change(file, earlier / name) + " " + name.string();
  }
  // Two files have each other's place.
  std::string exchange(const Path& directory) {
    const Path file = one_of(directory, {});
    const Path other = one_of(directory, {});
    std::filesystem::rename(file, directory / "aside");
    if (other != file) std::filesystem::rename(other, file);
    std::filesystem::rename(directory / "aside", other);
    return fmt::format("{} and {} exchanged", file.lexically_relative(directory).string(),
                       other.lexically_relative(directory).string());
  }
  std::size_t below(std::size_t most) { return random_() % most; }

 private:
  static constexpr std::size_t kPage = 4096;

  Path one_of(const Path& directory, const std::function<bool(const Path&)>& spares) {
    std::vector<Path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      const bool is_one = entry.is_regular_file() && entry.file_size() > 0;
      if (is_one && !(spares && spares(entry.path()))) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files[below(files.size())];
  }

  std::string change(const Path& file, const Path& of_earlier) {
    std::string text = damage_text(file);
    const std::size_t at = below(text.size());
    const std::size_t page = at / kPage * kPage;
    const std::size_t length = std::min(kPage, text.size() - page);
    const std::size_t half = page + length / 2;
    switch (below(8)) {
      case 0:
      case 1:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        put_damage(file, text);
        return fmt::format("bit at {} of", at);
      case 2:
        put_damage(file, text.substr(0, at));
        return fmt::format("cut at {}:", at);
      case 3:  // the second half of a page was not written
        text.replace(half, page + length - half, std::string(page + length - half, '\0'));
        put_damage(file, text);
        return fmt::format("torn page at {} of", page);
      case 4:
        text.replace(page, length, std::string(length, '\0'));
        put_damage(file, text);
        return fmt::format("zeros at {} of", page);
      case 5: {  // a block of the disk has another one's bytes
        const std::size_t from = below(text.size()) / kPage * kPage;
        const std::string block = text.substr(from, length);
        text.replace(page, block.size(), block);
        put_damage(file, text);
        return fmt::format("bytes of {} at {} of", from, page);
      }
      case 6:
        if (!std::filesystem::exists(of_earlier)) break;
        put_damage(file, damage_text(of_earlier));
        return "an earlier";
      default:
        break;
    }
    if (below(2) == 0) {
      put_damage(file, "");
      return "emptied";
    }
    std::filesystem::remove(file);
    return "without";
  }

  std::mt19937_64 random_;
};

}  // namespace dove::files
