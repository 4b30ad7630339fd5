#include "programs/backup/backup_place.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "cli/client/endpoint.h"
#include "files/text_file.h"
#include "wire/outside/bucket.h"
#include "wire/outside/web_post.h"

namespace dove::programs {
namespace {

constexpr std::string_view kScheme = "s3://";

class DirectoryPlace final : public BackupPlace {
 public:
  explicit DirectoryPlace(std::string directory) : directory_(std::move(directory)) {}

  Result<std::optional<std::string>> get(const std::string& name, std::size_t bytes_max) override {
    Result<std::string> text = files::read_text(path(name), bytes_max);
    if (text.ok()) return std::optional(std::move(text).value());
    if (text.error().kind == ErrorKind::kNotFound) return std::optional<std::string>();
    return text.error();
  }
  std::string path(const std::string& name) const override { return directory_ + "/" + name; }

 private:
  Result<void> write(const std::string& name, std::string_view bytes) override {
    const std::size_t slash = name.rfind('/');
    if (slash != std::string::npos && ::mkdir(path(name.substr(0, slash)).c_str(), 0700) != 0 &&
        errno != EEXIST) {
      return Error{ErrorKind::kInternal, "file_unwritable",
                   fmt::format("{}: {}", path(name), std::strerror(errno)), path(name)};
    }
    return files::write_atomically(path(name), bytes, 0600, files::Survives::kPowerCut);
  }

  const std::string directory_;
};

class BucketPlace final : public BackupPlace {
 public:
  BucketPlace(wire::BucketAccess access, std::string prefix, const std::atomic<bool>& stop)
      : url_(fmt::format("{}{}/{}", kScheme, access.bucket, prefix)),
        prefix_(std::move(prefix)),
        bucket_(std::move(access), stop) {}

  Result<std::optional<std::string>> get(const std::string& name, std::size_t bytes_max) override {
    return bucket_.get(prefix_ + "/" + name, bytes_max);
  }
  std::string path(const std::string& name) const override { return url_ + "/" + name; }

 private:
  Result<void> write(const std::string& name, std::string_view bytes) override {
    return bucket_.put(prefix_ + "/" + name, bytes);
  }

  const std::string url_;
  const std::string prefix_;
  wire::Bucket bucket_;
};

Error bad_url(const std::string& operand, const std::string& why) {
  return Error{ErrorKind::kInvalid, "bad_option", fmt::format("{}: {}", operand, why), operand};
}

std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string value = cli::environment_value(name); !value.empty()) return value;
  }
  return "";
}

Result<wire::BucketAccess> access_of(const std::string& operand, std::string_view bucket) {
  wire::BucketAccess access;
  access.bucket = bucket;
  access.endpoint = first_of({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  while (access.endpoint.ends_with('/')) access.endpoint.pop_back();
  if (!access.endpoint.empty()) {
    const auto url = wire::parse_outside_url(access.endpoint);
    if (!url.ok() || url->origin != access.endpoint) {
      return bad_url("AWS_ENDPOINT_URL", "write https://HOST or https://HOST:PORT");
    }
  }
  const std::string region = first_of({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!region.empty()) access.region = region;
  if (!wire::is_bucket_name(access.region)) return bad_url("AWS_REGION", "that is no region");
  access.key_id = first_of({"AWS_ACCESS_KEY_ID"});
  access.secret = first_of({"AWS_SECRET_ACCESS_KEY"});
  access.session_token = first_of({"AWS_SESSION_TOKEN"});
  access.ca_file = first_of({"AWS_CA_BUNDLE"});
  if (access.key_id.empty() || access.secret.empty()) {
    return bad_url(operand, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment");
  }
  return access;
}

}  // namespace

Result<void> BackupPlace::put(const std::string& name, std::string_view bytes) {
  TRY(write(name, bytes));
  TRY_ASSIGN(const std::optional<std::string> again, get(name, bytes.size()));
  if (again && *again == bytes) return {};
  return Error{ErrorKind::kCorrupt, "backup_damaged",
               path(name) + ": what is read again is not what was written; look at the storage",
               path(name)};
}

bool is_bucket_url(std::string_view operand) { return operand.starts_with(kScheme); }

Result<std::unique_ptr<BackupPlace>> open_place(const std::string& operand,
                                                const std::atomic<bool>& stop) {
  if (!is_bucket_url(operand)) {
    return std::unique_ptr<BackupPlace>(std::make_unique<DirectoryPlace>(operand));
  }
  const std::string_view rest = std::string_view(operand).substr(kScheme.size());
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string_view bucket = rest.substr(0, slash);
  const std::string prefix(slash == rest.size() ? "" : rest.substr(slash + 1));
  if (!wire::is_bucket_name(bucket) || !wire::is_object_name(prefix) || prefix.size() > 256) {
    return bad_url(operand,
                   "write s3://BUCKET/PREFIX; the prefix is of letters, digits and -_./, and names "
                   "this backup alone");
  }
  TRY_ASSIGN(wire::BucketAccess access, access_of(operand, bucket));
  return std::unique_ptr<BackupPlace>(
      std::make_unique<BucketPlace>(std::move(access), prefix, stop));
}

}  // namespace dove::programs
