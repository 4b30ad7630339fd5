// Pages: what the proxy says itself, as a page to a person's browser and as a problem to programs.
//
// A page has no script; it refreshes by itself where waiting helps. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "proxy/api.h"

namespace dove::proxy {

struct Page {
  int status = 200;
  std::string title;
  std::string text;
  std::string code;   // for programs
  std::string lines;  // of the app's log
  std::string link;   // where to go on; "": nowhere
  std::string link_text;
  int refresh_s = 0;  // 0: not by itself
};

// The whole answer, head and body. `as_page`: for a browser. `headers`: more of them, each with its
// line end.
std::string answer_bytes(const Page& page, bool as_page, std::string_view headers, bool closes);

// The job does not run: why, and until when.
Page waiting_page(const SessionView& view);
// It runs, and its app does not serve yet.
Page starting_page(const SessionView& view);
// It runs, and its app does not answer, or breaks off. `lines`: of its log.
Page silent_page(const SessionView& view, const Error& why, std::string lines);
Page ended_page(const SessionView& view, std::string lines);
Page error_page(int status, const Error& error);

}  // namespace dove::proxy
