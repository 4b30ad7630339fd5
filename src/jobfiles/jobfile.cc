#include "jobfiles/jobfile.h"

#include <fmt/core.h>

#include <algorithm>

#include "jobfiles/draft.h"
#include "jobfiles/native.h"
#include "jobfiles/sbatch.h"
#include "jobfiles/tuxiv.h"
#include "jobfiles/words.h"

namespace dove::jobfiles {

namespace {

Place place_of(const Source& source, std::size_t offset) {
  std::string_view before = std::string_view(source.text).substr(0, offset);
  std::size_t newline = before.rfind('\n');
  std::size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
  return Place{source.name, static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
               static_cast<int>(offset - line_start) + 1};
}

Format format_of(const Source& source) {
  if (source.format != Format::kAuto) return source.format;
  const std::string& name = source.name;
  std::string_view base = std::string_view(name).substr(name.rfind('/') + 1);
  if (base == "tuxiv.conf" || base == "tuxiv.config" || base.ends_with(".tuxiv.conf")) {
    return Format::kTuxiv;
  }
  for (std::string_view ending : {".yaml", ".yml", ".json"}) {
    if (base.ends_with(ending)) return Format::kNative;
  }
  if (source.text.starts_with("{")) return Format::kNative;
  return Format::kSbatch;
}

Result<void> check_context(const Context& context) {
  auto bad = [](std::string_view path) {
    return !path.empty() &&
           (path[0] != '/' || first_not_utf8(path) ||
            path.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos);
  };
  if (bad(context.workdir) || bad(context.home) || bad(context.userdir)) {
    return invalid("the working, home and user directory must be absolute paths in UTF-8");
  }
  return {};
}

}  // namespace

Result<ParsedJob> parse(const Source& source, const Context& context) {
  TRY(check_context(context));
  if (source.text.size() > kFileBytesMax) {
    return Error{ErrorKind::kTooLarge, "file_too_large",
                 fmt::format("{}: the file has {} bytes, at most {} are read: keep data out of job "
                             "files",
                             source.name, source.text.size(), kFileBytesMax),
                 source.name};
  }
  if (auto offset = first_not_utf8(source.text)) {
    return at_place(invalid("the text is not UTF-8 here: convert the file", "not_utf8"),
                    place_of(source, *offset));
  }
  switch (format_of(source)) {
    case Format::kTuxiv:
      return parse_tuxiv(source, context);
    case Format::kWrap:
      return parse_wrap(source, context);
    case Format::kNative:
      return parse_native(source, context);
    case Format::kAuto:
    case Format::kSbatch:
      return parse_sbatch(source, context);
  }
  return invalid("unknown format");
}

}  // namespace dove::jobfiles
