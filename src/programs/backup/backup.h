// A backup of a controller's data: made while the server runs, verified as written. The log may lie
// in PostgreSQL; the backup is the same.
//
//   BACKUP/manifest.json   cluster's log head, instant, program; SHA-256 of each file but the log
//   BACKUP/log.sqlite      the log with its snapshots and blobs
//   BACKUP/files/NAME      the other files of the data directory, but those of a running process
//   BACKUP/segments/       records that came afterwards (segments.h)
//   BACKUP/keys.cms        those that their owner alone may read (keys, secrets, tokens), sealed;
//                          without a certificate to seal for they are in BACKUP/files, mode 0600
//
// BACKUP comes into being by a rename, once it is whole and on the disk. Calls block. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/ids.h"
#include "programs/backup/backup_place.h"
#include "programs/backup/backup_source.h"
#include "programs/backup/segments.h"
#include "store/sqlite/cut.h"

namespace dove::programs {

struct BackupFacts {
  KeptTo to;                  // the last record of the log
  std::uint64_t dropped = 0;  // records that a restore left out
  std::int64_t made_s = 0;    // since 1970
  std::int64_t bytes = 0;
  bool sealed = false;
};

// `certificate_pem`: for whoever has its key; "": keys stay readable. The keys are those that the
// log was written with: one that changes meanwhile makes it begin anew. Errors: kConflict
// backup_exists; kCorrupt with the first damage of the log, also of the copy; kInvalid
// backup_of_link; kUnavailable keys_changed; those of shared_backup.h.
Result<BackupFacts> make_backup(const BackupSource& from, const std::string& to,
                                const std::string& certificate_pem, std::int64_t now_s);

struct RestoreTo {
  store::CutPoint point;
  std::int64_t now_s = 0;  // since 1970: names the incarnation
  bool is_moved = false;   // nothing happened after the backup: no new incarnation
  std::string store =
      {};  // the URL of an empty PostgreSQL that is to hold the log; "": `data` does
};

// Verifies all of it, and puts it where `data` is to be: a directory that is not there, or empty,
// with the segments at `place`, where the backup is kept. Its log ends at `to`, and goes on as a
// new incarnation. Errors: kConflict data_not_empty; kCorrupt backup_damaged; kInvalid key_needed;
// those of store::cut_log, and of shared_restore.h.
Result<BackupFacts> restore_backup(const std::string& from, BackupPlace& place,
                                   const std::string& data, const std::string& key_pem,
                                   const RestoreTo& to);

// What the manifest at `place` says of the log's end; nothing is verified. None: no backup.
Result<std::optional<KeptTo>> backed_up_to(BackupPlace& place);

// Makes the data that are there, a follower's copy too, go on as a new incarnation, with all that
// they hold, once its log is verified.
Result<store::CutFacts> restore_in_place(const std::string& data, std::int64_t now_s);

}  // namespace dove::programs
