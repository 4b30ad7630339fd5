// Controllers: the controllers of one cluster, one of which leads, and how clients find that one: a
// client that is told that another one leads, or reaches none, asks the next.
//
// One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/address.h"
#include "wire/http.h"

namespace dove::wire {

// While nobody leads: how long somebody is looked for, and the pause before all are asked again.
inline constexpr std::chrono::seconds kLeaderWait{15};
inline constexpr std::chrono::milliseconds kLeaderPause{200};

// "https://a:7717,https://b:7717", without a slash at their ends. At least one, which may be "".
std::vector<std::string> split_urls(const std::string& text);
// 1 to 16 of them. Error kInvalid bad_url.
Result<std::vector<ServerUrl>> parse_server_urls(const std::string& text);

// Whether asking twice does no harm.
bool may_repeat(const Request& request);
// Another one is to be asked: nothing has happened at this one that must not happen twice. The
// answer may be a WebSocket's that was refused, or the words of Client::stream.
bool is_elsewhere(const Error& failure, bool repeats);
bool is_elsewhere(const Response& answer, bool repeats);
// Nobody was reached: it may be long until there is somebody again.
bool is_silent(const Error& failure);

// What one gave that does not lead.
enum class Gave {
  kRefusal,
  kNothingInTime,  // its process may stand still, or have much to do
  kNothing,        // it was not reached
};

struct Controller {
  std::string url;  // as it was given, without a slash at its end
  Address address;
  std::string prefix;  // of targets
};

class Controllers {
 public:
  // `authorities_pem`: of those with https://; "": the system's. Errors: bad_url, and of the
  // authorities.
  static Result<Controllers> read(const std::string& urls, const std::string& authorities_pem);

  std::size_t size() const { return all_.size(); }
  bool has_several() const { return all_.size() > 1; }
  const Controller& operator[](std::size_t place) const { return all_[place]; }
  // Which one is to be asked.
  std::size_t at() const { return at_; }
  // That one leads, as somebody else knows. Taken modulo size().
  void go_to(std::size_t place) { at_ = place % all_.size(); }
  // The one at `place` does not lead. Another one is to be asked, unless that is so already; one
  // that was late or silent not for some seconds, unless all are.
  void pass(std::size_t place, Gave gave, std::int64_t now_us);

 private:
  std::vector<Controller> all_;
  std::vector<std::int64_t> silent_until_us_;
  std::size_t at_ = 0;
};

}  // namespace dove::wire
