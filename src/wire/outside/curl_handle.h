// CurlHandle: one transfer of libcurl to an outside server, bounded in time, with its errors as
// ours. For the files of wire/outside/. One thread.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <string>

#include "base/check.h"
#include "base/result.h"

namespace dove::wire {

class CurlHandle {
 public:
  // `stop`, which outlives it, ends the transfer within a second.
  CurlHandle(int timeout_ms, const std::atomic<bool>& stop);
  ~CurlHandle();
  CurlHandle(const CurlHandle&) = delete;
  CurlHandle& operator=(const CurlHandle&) = delete;

  template <class Value>
  void set(CURLoption option, Value value) {
    CHECK(curl_easy_setopt(easy_, option, value) == CURLE_OK, "libcurl knows the option");
  }
  CURLcode perform() { return curl_easy_perform(easy_); }
  long response_code() const;
  // What it did not come to, said of `host`. Never holds the URL.
  Error error_of(CURLcode code, const std::string& host) const;

 private:
  CURL* easy_;
  char detail_[CURL_ERROR_SIZE] = {};
};

class CurlList {
 public:
  CurlList() = default;
  ~CurlList() { curl_slist_free_all(list_); }
  CurlList(const CurlList&) = delete;
  CurlList& operator=(const CurlList&) = delete;

  void add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

}  // namespace dove::wire
