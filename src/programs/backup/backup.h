// A backup of a controller's data: made while the server runs, verified as written.
//
//   BACKUP/manifest.json   cluster's log head, instant, program; SHA-256 of each file but the log
//   BACKUP/log.sqlite      the log with its snapshots and blobs
//   BACKUP/files/NAME      the other files of the data directory, but those of a running process
//   BACKUP/keys.cms        those that their owner alone may read (keys, secrets, tokens), sealed;
//                          without a certificate to seal for they are in BACKUP/files, mode 0600
//
// BACKUP comes into being by a rename, once it is whole and on the disk. Calls block. One thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/ids.h"

namespace dove::programs {

struct BackupFacts {
  Seq head;                 // the last record
  std::int64_t made_s = 0;  // since 1970
  std::int64_t bytes = 0;
  bool sealed = false;
};

// `certificate_pem`: for whoever has its key; "": keys stay readable. Errors: kConflict
// backup_exists; kCorrupt with the first damage of the log, also of the copy.
Result<BackupFacts> make_backup(const std::string& data, const std::string& to,
                                const std::string& certificate_pem, std::int64_t now_s);

// Verifies all of it, and puts it where `data` is to be: a directory that is not there, or empty.
// Errors: kConflict data_not_empty; kCorrupt backup_damaged; kInvalid key_needed.
Result<BackupFacts> restore_backup(const std::string& from, const std::string& data,
                                   const std::string& key_pem);

}  // namespace dove::programs
