// Bucket: objects in a store that speaks Amazon's S3 protocol, each written and read as a whole.
// libcurl signs the calls (AWS Signature Version 4), with the digest of the content, so that a
// store refuses what was damaged on the way.
//
// Blocks, up to minutes for an object of many megabytes. One thread. No error contains a secret.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::wire {

struct BucketAccess {
  std::string bucket;
  std::string
      endpoint;  // https://HOST[:PORT], with the bucket in the path; "": Amazon's, by region
  std::string region = "us-east-1";
  std::string key_id;
  std::string secret;
  std::string session_token;  // "": none
  std::string ca_file;        // "": the system's authorities
};

class Bucket {
 public:
  // `stop`, which outlives it, ends a call within a second.
  // REQUIRES: the endpoint has passed parse_outside_url.
  Bucket(BucketAccess access, const std::atomic<bool>& stop)
      : access_(std::move(access)), stop_(stop) {}

  // Names are of letters, digits and -_./ (is_object_name). Errors: kDenied `bucket_refused`,
  // kNotFound `no_bucket`, kUnavailable, kTimeout, and kInternal with what the store said.
  Result<void> put(const std::string& name, std::string_view bytes);
  // None: there is no such object. Errors besides: kTooLarge `object_too_large`.
  Result<std::optional<std::string>> get(const std::string& name, std::size_t bytes_max);

 private:
  struct Answer {
    long status = 0;
    std::string body;
  };
  Result<Answer> call(const std::string& name, const std::string_view* sent, std::size_t bytes_max);
  std::string url_of(const std::string& name) const;
  Error refused(const Answer& answer, const std::string& name) const;

  const BucketAccess access_;
  const std::atomic<bool>& stop_;
};

// 3 to 63 lower case letters, digits and hyphens. A dot would break the name of Amazon's
// certificate.
bool is_bucket_name(std::string_view name);
// Parts of [A-Za-z0-9._-] between slashes, none of them "." or "..", 512 bytes at most: their path
// in a URL, and what is signed, need no escapes.
bool is_object_name(std::string_view name);

}  // namespace dove::wire
