// Small text files: read whole, and written so that a reader finds the old text or the new one.
//
// Blocks for as long as the disk does: not for paths that users choose. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dove::files {

// Errors: kNotFound no_file, kTooLarge file_too_large, kInternal file_unreadable; Error::field is
// the path.
Result<std::string> read_text(const std::string& path, std::size_t bytes_max);
// The same where a file that is missing, unreadable or too large says nothing.
std::string text_or_empty(const std::string& path, std::size_t bytes_max);

enum class Survives {
  kCrash,     // of this process
  kPowerCut,  // the text and its name are on the disk when the call returns
};

// Writes `PATH.new` with that mode and renames it. Error kInternal file_unwritable: the old text,
// if any, is still there, or (kPowerCut alone) the new one, which a power cut may take back.
Result<void> write_atomically(const std::string& path, std::string_view text, unsigned mode,
                              Survives survives = Survives::kCrash);
// The same, on the disk when the call returns. What root writes becomes the user's whose directory
// it is in: the program that runs as that user is to read it.
Result<void> write_for_owner(const std::string& path, std::string_view text, unsigned mode);

}  // namespace dove::files
