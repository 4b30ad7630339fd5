#include "protocol/link_words.h"

#include "codec/json.h"
#include "protocol/control_fields.h"

namespace dove::protocol {

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ExecWish>& v) {
  ar.may("task", v.task);
  ar.may("node", v.node);
  fields(ar, v.program);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<ScreenSize>& v) {
  ar.must("rows", v.rows);
  ar.must("columns", v.columns);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LinkBegun>& v) {
  ar.may("rank", v.rank);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LinkError>& v) {
  ar.may("status", v.status);
  ar.may("code", v.code);
  ar.may("message", v.message);
}

template <class Ar>
void fields(Ar& ar, typename Ar::template Of<LinkWord>& v) {
  ar.may("exec", v.exec);
  ar.may("resize", v.resize);
  ar.may("signal", v.signal);
  ar.may("took", v.took);
  if (Ar::kReads || v.end) ar.may("end", v.end);
  ar.may("begun", v.begun);
  ar.may("exit", v.exit);
  if (Ar::kReads || v.over) ar.may("over", v.over);
  ar.may("notice", v.notice);
  ar.may("error", v.error);
}

std::string link_word(const LinkWord& word) { return write(word); }

Result<LinkWord> read_link_word(std::string_view text, std::size_t bytes_max) {
  TRY_ASSIGN(const Json json, codec::parse_json(text, bytes_max));
  return read<LinkWord>(json);
}

}  // namespace dove::protocol
