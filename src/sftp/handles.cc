#include "sftp/handles.h"

#include <cerrno>
#include <charconv>

namespace dove::sftp {

std::map<std::uint64_t, Handle>::iterator Handles::at(std::string_view name) {
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  return error == std::errc() && stop == end ? open_.find(number) : open_.end();
}

int Handles::close(std::string_view name) {
  const auto found = at(name);
  if (found == open_.end()) return EBADF;
  const Handle handle = found->second;
  open_.erase(found);
  const int done = handle.directory != nullptr ? ::closedir(handle.directory) : ::close(handle.fd);
  return done == 0 ? 0 : errno;
}

}  // namespace dove::sftp
