// Instants: the time that batches are stamped with.
//
// It follows the machine's clock as long as that runs evenly, and goes on by the steady clock when
// it leaps: a limit of ten minutes is ten minutes, whatever somebody sets the clock to. A step of
// some minutes is slewed in, so that durations are wrong by a thousandth at most; a larger one is
// not taken over unless somebody says that it is right: then a clock that is ahead counts at once,
// and one that is behind is slewed in by a tenth of the time that passes, as instants never go
// back. Once the machine's clock is where these instants are, it is followed again. One thread.
#pragma once

#include <cstdint>
#include <functional>

namespace dove::controller {

class Instants {
 public:
  // Microseconds: UTC, and since some moment, in steps that nobody sets. `begin_us`: where it goes
  // on, whatever the machine's clock says; 0: it takes over that. `accepted`: accept() was called
  // before begin_us.
  Instants(std::function<std::int64_t()> wall, std::function<std::int64_t()> steady,
           std::int64_t begin_us = 0, bool accepted = false);

  // Another controller stamped it, at most `late_us` ago.
  void heard(std::int64_t at_us, std::int64_t late_us);
  // now_us(), as the others have it: from what was heard last, where this machine's clock does not
  // agree with that.
  std::int64_t agreed_us();
  // The first instant, after the last one that was stamped before. It goes on from what was heard
  // last, where this machine's clock does not agree with that.
  void begin(std::int64_t stamped_us);

  std::int64_t now_us();
  // From that instant on, whatever the machine's clock says.
  void go_on_from(std::int64_t at_us);
  // The machine's clock is right, however far it is from here.
  void accept();
  // Times run towards a clock that was accepted.
  bool accepted() const { return accepted_; }
  // How far the machine's clock was ahead of now_us() when it was last asked; 0: it is followed.
  std::int64_t leap_us() const { return leap_us_; }

  // Times run towards the machine's clock; false: there, or by the steady clock alone.
  bool slewing() const;

  static constexpr std::int64_t kFollowed_us = 1'000'000;  // between two looks
  static constexpr std::int64_t kSlewed_us = 600'000'000;
  // Parts of passing time, of which a slew takes one.
  static constexpr std::int64_t kSlew = 1'000;
  static constexpr std::int64_t kAcceptedSlew = 10;

 private:
  std::function<std::int64_t()> wall_;
  std::function<std::int64_t()> steady_;
  std::int64_t now_us_;
  std::int64_t steady_us_;
  std::int64_t leap_us_ = 0;
  // How far now_us() was ahead of the stamp that was heard last: at most, and for certain.
  std::int64_t ahead_us_ = 0;
  std::int64_t least_ahead_us_ = 0;
  bool accepted_ = false;  // until it is followed again
};

}  // namespace dove::controller
