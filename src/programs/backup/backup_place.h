// BackupPlace: where a backup is kept: a directory, or a bucket under a prefix
// (s3://BUCKET/PREFIX).
//
// Files are put and got whole, by names of letters, digits and -_./ . What was put is read again
// and compared. Calls block. One thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::programs {

class BackupPlace {
 public:
  virtual ~BackupPlace() = default;
  // Durable on return. Errors besides those of the place: kCorrupt `backup_damaged` when what is
  // read again differs.
  Result<void> put(const std::string& name, std::string_view bytes);
  // None: there is no such file.
  virtual Result<std::optional<std::string>> get(const std::string& name,
                                                 std::size_t bytes_max) = 0;
  virtual std::string path(const std::string& name) const = 0;  // as people read it

 private:
  virtual Result<void> write(const std::string& name, std::string_view bytes) = 0;
};

bool is_bucket_url(std::string_view operand);

// `stop`, which outlives it, ends a call of a bucket. A bucket's keys come from the environment, as
// Amazon's tools take them. Errors: kInvalid `bad_option`.
Result<std::unique_ptr<BackupPlace>> open_place(const std::string& operand,
                                                const std::atomic<bool>& stop);

}  // namespace dove::programs
