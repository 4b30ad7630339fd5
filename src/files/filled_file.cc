#include "files/filled_file.h"

#include "files/text_file.h"

namespace dove::files {

Result<std::string> read_filled(const std::string& path, std::size_t bytes_max) {
  Result<std::string> text = read_text(path, bytes_max);
  if (!text.ok() || !text->empty()) return text;
  return Error{ErrorKind::kCorrupt, "file_empty",
               path + " is empty: put back what was in it, or name another file", path};
}

}  // namespace dove::files
