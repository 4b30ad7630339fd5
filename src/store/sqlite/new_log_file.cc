#include "store/sqlite/new_log_file.h"

#include <fmt/format.h>

#include <utility>

#include "store/sqlite/connections.h"
#include "store/sqlite/copy.h"
#include "store/sqlite/schema.h"

namespace dove::store {
namespace {

// REQUIRES: hex digits, as hex_of() writes them.
Sha256 sha256_of_hex(std::string_view hex) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  Sha256 hash{};
  for (std::size_t i = 0; i < hash.size() && 2 * i + 1 < hex.size(); ++i) {
    hash[i] = static_cast<unsigned char>(value(hex[2 * i]) * 16 + value(hex[2 * i + 1]));
  }
  return hash;
}

}  // namespace

Result<std::unique_ptr<NewLogFile>> NewLogFile::begin(const std::string& directory) {
  std::unique_ptr<NewLogFile> made(new NewLogFile(directory + "/log.sqlite"));
  TRY(make_log_file(made->path_));
  TRY(made->open());
  return made;
}

// Nobody reads the file before it is whole. Its journal has the pages that were there before, so
// next to none.
Result<void> NewLogFile::open() {
  TRY_ASSIGN(database_, Database::open(path_, Database::Mode::kWrite));
  TRY(
      database_.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
                        "PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF"));
  TRY(create_schema(database_));
  TRY_ASSIGN(insert_record_, database_.prepare("INSERT INTO records VALUES (?,?,?,?,?,?,?,?)"));
  TRY_ASSIGN(insert_batch_, database_.prepare("INSERT INTO batches VALUES (?,?,?,?,?,?,?,?,?)"));
  TRY_ASSIGN(insert_term_, database_.prepare("INSERT INTO epochs VALUES (?, ?, ?)"));
  TRY_ASSIGN(insert_blob_, database_.prepare("INSERT INTO blobs VALUES (?, ?, ?)"));
  TRY_ASSIGN(Transaction all, Transaction::begin(database_, Transaction::Kind::kWrite));
  transaction_.emplace(std::move(all));
  return {};
}

Result<void> NewLogFile::take(const LogPage& page) {
  const bool continues =
      !end_ || (page.before.seq == end_->seq && page.before.chain == end_->chain);
  if (!continues) {
    return Error{ErrorKind::kConflict, "log_differs",
                 fmt::format("the rows after record {} do not continue it", end_->seq.value), ""};
  }
  if (!end_) TRY(set_anchor(database_, page.before));
  end_ = page.before;
  for (const PagedTerm& term : page.terms) {
    insert_term_.bind(1, term.epoch.value);
    insert_term_.bind_text(2, term.holder);
    insert_term_.bind(3, term.after.value);
    TRY(insert_term_.run());
  }
  for (const PagedBatch& batch : page.batches) {
    TRY(each_record(batch, [&](const LinkedRecord& record) {
      return insert_record(insert_record_, BatchNumber{batch.header.batch}, record);
    }));
    const Sha256 chain = sha256_from(batch.chain);
    TRY(insert_batch_row(insert_batch_, batch.header, chain));
    end_ = {last_seq(batch.header), BatchNumber{batch.header.batch}, chain};
  }
  return {};
}

Result<void> NewLogFile::take_snapshot(const Snapshot& snapshot) {
  return insert_snapshot(database_, snapshot, sha256_of_hex(snapshot.head.chain_sha256));
}

Result<void> NewLogFile::take_blob(std::string_view sha256, Seq seq, std::string_view bytes) {
  insert_blob_.bind_text(1, sha256);
  insert_blob_.bind(2, seq.value);
  insert_blob_.bind_blob(3, bytes);
  return insert_blob_.run();
}

Result<void> NewLogFile::commit() {
  TRY(transaction_->commit());
  transaction_.reset();
  return sync_log_file(path_);
}

}  // namespace dove::store
