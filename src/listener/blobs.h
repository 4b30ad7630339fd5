// Blobs: the ExecSpecs that launches need, newest first in memory, the rest in the log's store.
//
// A disk or a network may be slow, and nothing waits for them here: what is not in memory is read
// on a thread beside the loop, and until then it is `blob_later`, which is not the same as not
// being there. Loop thread only.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/log_store.h"
#include "wire/loop.h"

namespace dove::listener {

class Blobs {
 public:
  static constexpr std::size_t kBytesMax = 32 << 20;
  using Bytes = std::shared_ptr<const std::string>;
  // What was asked for, without those that are nowhere.
  using Found = std::map<std::string, Bytes>;
  static constexpr std::chrono::seconds kForever{0};

  // `aside` false: the store is memory, and read here. Both outlive it.
  Blobs(wire::Loop& loop, store::LogStore& log, bool aside);
  ~Blobs();  // waits for one read at most: across a network it has a deadline, of a disk none

  void put(const std::string& sha256, std::string bytes);
  static Error later();  // blob_later
  // Errors: kNotFound blob_missing, also for a while after its disk could not read it; kUnavailable
  // blob_later: it is being read, or its store was out of reach.
  Result<Bytes> find(const std::string& sha256);
  // Calls `done` once all of them are known, at once where they are in memory; what cannot be read
  // now is tried again. kUnavailable blob_later: `at_most` has passed.
  void fetch(const std::vector<std::string>& sha256s, std::chrono::milliseconds at_most,
             std::function<void(Result<Found>)> done);
  // Whether `found` has all of these but what is nowhere. REQUIRES: fetch() has just given it.
  bool has_all(const std::vector<std::string>& sha256s, const Found& found);
  // Nobody waits for anything any more: those who did are about to go.
  void forget_fetches();

 private:
  struct Held {
    Bytes bytes;
    std::list<std::string>::iterator used;
  };
  struct Wish {
    std::set<std::string> lacks;
    Found found;
    std::int64_t until_us;
    std::function<void(Result<Found>)> done;
  };
  class Reader;

  Bytes held(const std::string& sha256);
  bool is_missing(const std::string& sha256);
  void want(const std::string& sha256);
  void read(const std::string& sha256, Result<std::optional<std::string>> bytes);
  void known(const std::string& sha256, const Bytes& bytes);
  void look();

  wire::Loop& loop_;
  store::LogStore& log_;
  std::map<std::string, Held> held_;
  std::list<std::string> newest_first_;
  std::size_t bytes_ = 0;
  std::map<std::string, std::int64_t> missing_;  // until when they count as nowhere; a few
  std::set<std::string> wanted_;                 // that are being read
  std::list<std::shared_ptr<Wish>> wishes_;
  wire::Timer again_;
  std::unique_ptr<Reader> reader_;  // where it reads aside
};

}  // namespace dove::listener
