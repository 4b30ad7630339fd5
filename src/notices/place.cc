#include "notices/place.h"

#include "files/text_file.h"

namespace dove::notices {
namespace {

constexpr std::size_t kFileBytesMax = 64 << 20;

}  // namespace

Place file_place(const std::string& path) {
  return {[path] { return files::read_text(path, kFileBytesMax); },
          [path](const std::string& text) {
            return files::write_atomically(path, text, 0600, files::Survives::kPowerCut);
          }};
}

}  // namespace dove::notices
