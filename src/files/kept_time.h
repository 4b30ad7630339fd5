// KeptTime: what time it was when the server was last seen, in DATA/clock, so that a restart is no
// way for a machine's clock that leapt to become the cluster's, nor to be asked again about one
// that was accepted.
//
// Within one boot the steady clock tells how much time has passed since. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace dove::files {

class KeptTime {
 public:
  // `boot`: which life of the machine this is (/proc/sys/kernel/random/boot_id).
  KeptTime(const std::string& data_dir, std::string boot)
      : path_(data_dir + "/clock"), boot_(std::move(boot)) {}
  static std::string this_boot();

  // Microseconds UTC by what was kept; 0: nothing was in this boot.
  std::int64_t now_us(std::int64_t steady_us) const { return read(steady_us).at_us; }
  // When it was that, in an earlier boot; 0: in this one, or not known.
  std::int64_t before_boot_us() const;
  // Whether times ran towards a clock that was accepted.
  bool accepted(std::int64_t steady_us) const { return read(steady_us).accepted; }
  // Where time went on when the machine's clock was doubted, as it still was (BootDoubt in
  // controller/boot_doubt.h); 0: it was not.
  std::int64_t doubted_us(std::int64_t steady_us) const { return read(steady_us).doubted_us; }
  void keep(std::int64_t now_us, std::int64_t steady_us, bool accepted,
            std::int64_t doubted_us = 0) const;

 private:
  struct Kept {
    std::int64_t at_us = 0;
    bool accepted = false;
    std::int64_t doubted_us = 0;
  };
  Kept read(std::int64_t steady_us) const;

  std::string path_;
  std::string boot_;
};

}  // namespace dove::files
