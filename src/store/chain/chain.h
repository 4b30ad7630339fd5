// Chain: SHA-256 over the log, each link over the one before it. For the stores that keep one.
//
// A batch adds one link for its header and one for each of its records, so a changed, missing or
// exchanged row breaks it at that row. One thread; fails only by ending the process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "store/log_store.h"

struct evp_md_ctx_st;
struct evp_md_st;

namespace dove::store {

using Sha256 = std::array<unsigned char, 32>;

std::string hex_of(const Sha256& hash);
inline std::string_view bytes_of(const Sha256& hash) {
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}
// All zero unless `bytes` are 32.
Sha256 sha256_from(std::string_view bytes);

// What is hashed of a batch besides its records.
struct BatchHeader {
  std::uint64_t batch = 0;
  std::uint64_t epoch = 0;
  std::int64_t at_us = 0;
  std::uint64_t first_seq = 0;
  std::uint64_t events = 0;
  std::uint64_t decisions = 0;
  std::uint64_t decisions_digest = 0;
  std::optional<std::uint64_t> state_hash;
};

class Chain {
 public:
  Chain();
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  Sha256 link(const Sha256& previous, const BatchHeader& header);
  Sha256 link(const Sha256& previous, std::uint64_t seq, bool is_decision, std::string_view body);
  Sha256 of(std::string_view bytes);

 private:
  Sha256 hash(std::string_view first, std::string_view second, std::string_view third);

  evp_md_st* algorithm_;
  evp_md_ctx_st* context_;
};

}  // namespace dove::store
