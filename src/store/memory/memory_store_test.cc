#include "store/memory/memory_store.h"

#include "store/log_store_conformance.h"

namespace dove::store {
namespace {

class MemoryHarness {
 public:
  LogStore& log() { return store_; }
  LogKeeper& keeper() { return store_; }
  void reopen() {}
  void set_full(bool full) { store_.set_full(full); }

 private:
  MemoryStore store_;
};

}  // namespace

INSTANTIATE_TYPED_TEST_SUITE_P(Memory, LogStoreConformance, MemoryHarness);

}  // namespace dove::store
