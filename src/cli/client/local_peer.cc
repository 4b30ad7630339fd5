#include "cli/client/local_peer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <vector>

#include "text/words.h"

namespace dove::cli {
namespace {

constexpr std::size_t kTableBytesMax = 64 << 20;

std::string read_table(const char* path) {
  std::string text;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char some[64 * 1024];
  ssize_t got = 0;
  while (text.size() < kTableBytesMax && (got = ::read(fd, some, sizeof some)) > 0) {
    text.append(some, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return text;
}

// One end of a connection as the tables write it: of IPv4 in both of them.
struct End {
  std::string v4;  // "": it is none
  std::string v6;
};

std::string hex_words(const void* address, std::size_t size) {
  std::string text;
  for (std::size_t at = 0; at < size; at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, static_cast<const char*>(address) + at, sizeof word);
    text += fmt::format("{:08X}", word);
  }
  return text;
}

End end_of(const sockaddr_storage& name) {
  constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  End end;
  if (name.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &name, sizeof v4);
    const std::string port = fmt::format(":{:04X}", ntohs(v4.sin_port));
    const std::string word = hex_words(&v4.sin_addr, 4);
    end.v4 = word + port;
    end.v6 = hex_words(kMapped, sizeof kMapped) + word + port;
  } else if (name.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &name, sizeof v6);
    end.v6 = hex_words(&v6.sin6_addr, 16) + fmt::format(":{:04X}", ntohs(v6.sin6_port));
  }
  return end;
}

struct Owner {
  uid_t uid;
  std::uint32_t inode;  // 0: no process holds the socket
};

inet_diag_req_v2 question(const sockaddr_storage& local, const sockaddr_storage& remote) {
  inet_diag_req_v2 asked{};
  asked.sdiag_family = static_cast<__u8>(local.ss_family);
  asked.sdiag_protocol = IPPROTO_TCP;
  asked.idiag_states = ~0U;
  for (__u32& word : asked.id.idiag_cookie) word = INET_DIAG_NOCOOKIE;
  if (local.ss_family == AF_INET) {
    sockaddr_in from{};
    sockaddr_in to{};
    std::memcpy(&from, &local, sizeof from);
    std::memcpy(&to, &remote, sizeof to);
    asked.id.idiag_sport = from.sin_port;
    asked.id.idiag_dport = to.sin_port;
    std::memcpy(asked.id.idiag_src, &from.sin_addr, sizeof from.sin_addr);
    std::memcpy(asked.id.idiag_dst, &to.sin_addr, sizeof to.sin_addr);
  } else {
    sockaddr_in6 from{};
    sockaddr_in6 to{};
    std::memcpy(&from, &local, sizeof from);
    std::memcpy(&to, &remote, sizeof to);
    asked.id.idiag_sport = from.sin6_port;
    asked.id.idiag_dport = to.sin6_port;
    std::memcpy(asked.id.idiag_src, &from.sin6_addr, sizeof from.sin6_addr);
    std::memcpy(asked.id.idiag_dst, &to.sin6_addr, sizeof to.sin6_addr);
  }
  return asked;
}

// The kernel's answer about this one socket (sock_diag(7)). The tables below are read in pieces,
// and a socket can be missing from them when others come and go between two pieces. Nothing: this
// kernel does not answer, or there is no such socket.
std::optional<Owner> asked_owner(const sockaddr_storage& local, const sockaddr_storage& remote) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body = question(local, remote);
  const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (fd < 0) return std::nullopt;
  std::optional<Owner> owner;
  alignas(nlmsghdr) char answer[4096];
  // The kernel answers within send(), so there is nothing to wait for.
  if (::send(fd, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request)) {
    const ssize_t got = ::recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    const auto* const header = reinterpret_cast<const nlmsghdr*>(answer);
    if (got > 0 && NLMSG_OK(header, static_cast<unsigned>(got)) &&
        header->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
        header->nlmsg_len >= NLMSG_LENGTH(sizeof(inet_diag_msg))) {
      const auto* const found = reinterpret_cast<const inet_diag_msg*>(NLMSG_DATA(header));
      owner = Owner{found->idiag_uid, found->idiag_inode};
    }
  }
  ::close(fd);
  return owner;
}

}  // namespace

std::optional<uid_t> find_owner(std::string_view table, const std::string& local,
                                const std::string& remote) {
  constexpr std::size_t kUidWord = 7;
  constexpr std::size_t kInodeWord = 9;
  while (!table.empty()) {
    const std::string_view line = table.substr(0, table.find('\n'));
    table.remove_prefix(std::min(table.size(), line.size() + 1));
    const std::vector<std::string_view> words = text::words_of(line);
    if (words.size() <= kInodeWord || words[1] != local || words[2] != remote) continue;
    // What no process holds any more is written down as root's.
    if (words[kInodeWord] == "0") return std::nullopt;
    uid_t uid = 0;
    const std::string_view text = words[kUidWord];
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), uid);
    if (error != std::errc() || at != text.data() + text.size()) return std::nullopt;
    return uid;
  }
  return std::nullopt;
}

std::optional<uid_t> owner_of_peer(int fd) {
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t own_size = sizeof own;
  socklen_t peer_size = sizeof peer;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) {
    return std::nullopt;
  }
  if (const auto found = asked_owner(peer, own)) {
    return found->inode != 0 ? std::optional(found->uid) : std::nullopt;
  }
  const End here = end_of(own);
  const End there = end_of(peer);
  if (!there.v4.empty()) {
    const auto found = find_owner(read_table("/proc/net/tcp"), there.v4, here.v4);
    if (found) return found;
  }
  return find_owner(read_table("/proc/net/tcp6"), there.v6, here.v6);
}

}  // namespace dove::cli
