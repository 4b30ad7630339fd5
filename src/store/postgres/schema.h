// The tables of the log in PostgreSQL, in the schema `dove`. Internal to store/postgres.
//
//   meta, epochs, batches, records, blobs, snapshots   as in store/sqlite/schema.h
//   leader(epoch, holder, url, until)   one row: whose term it is, and until when, by the clock of
//                                       the database, nobody else may begin one
//   controllers(name, url, version, folded, seen)   who stands by, as each says every second
//   handed(name, until)   one row: to whom the leader gave its lease; until then nobody else may
//                         begin a term
//   hold_epoch(epoch, batch)   what an append begins with: fails unless that is the term and that
//                              batch the last one, and keeps both from changing until its end
#pragma once

#include "base/result.h"
#include "store/postgres/connection.h"

namespace dove::store {

constexpr std::int64_t kPgSchemaVersion = 1;
constexpr char kStaleEpoch[] = "DV001";  // SQLSTATE
constexpr char kMovedHead[] = "DV002";

// Creates what is missing, one process at a time; `data_newer` for a log of a newer program.
Result<void> make_schema(Connection& connection);

// For those who only read: writes nothing. kNotFound `no_log` where there are no tables;
// `data_newer`.
Result<void> check_schema(Connection& connection);

}  // namespace dove::store
