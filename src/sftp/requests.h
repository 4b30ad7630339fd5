// Requests: answers one request of an SFTP client after the other, with this process's rights.
//
// Version 3, and of OpenSSH's extensions those that its sftp, scp and sshfs use. What a client
// names is what the system's calls make of it: there is no root but the process's own.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string_view>

#include "sftp/handles.h"
#include "sftp/packet.h"

namespace dove::sftp {

inline constexpr std::size_t kPacketBytesMax = 256 << 10;
inline constexpr std::size_t kDataBytesMax = kPacketBytesMax - 1024;

class Requests {
 public:
  // Adds the answer to `out`. False: this is no SFTP, and the session is over.
  bool answer(std::string_view packet, Writer& out);

 private:
  bool answer_request(std::uint8_t type, std::uint32_t id, Reader& in);
  bool of_handles(std::uint8_t type, std::uint32_t id, Reader& in);
  bool of_paths(std::uint8_t type, std::uint32_t id, Reader& in);
  void of_links(std::uint8_t type, std::uint32_t id, Reader& in);
  void extended(std::uint32_t id, Reader& in);
  void say_version();
  void open(std::uint32_t id, Reader& in);
  void read(std::uint32_t id, Reader& in);
  void write(std::uint32_t id, Reader& in);
  void open_directory(std::uint32_t id, Reader& in);
  void read_directory(std::uint32_t id, Reader& in);
  void say_status(std::uint32_t id, std::uint32_t status, std::string_view message);
  void say_done(std::uint32_t id, int error);  // errno; 0: well
  void say_handle(std::uint32_t id, const Handle& handle);
  void say_name(std::uint32_t id, std::string_view name);
  void say_attributes(std::uint32_t id, int done, const struct stat& facts);
  void say_limits(std::uint32_t id);
  void say_file_system(std::uint32_t id, int fd, const char* path);

  Writer* out_ = nullptr;
  Handles handles_;
  bool has_version_ = false;
};

}  // namespace dove::sftp
