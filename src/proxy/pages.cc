#include "proxy/pages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "codec/json.h"
#include "text/html.h"
#include "wire/http.h"

namespace dove::proxy {
namespace {

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;margin:12vh auto;max-width:42rem;padding:0 1.5rem;"
    "color:#1b1f24;background:#fff}h1{font-size:1.4rem}pre{overflow:auto;padding:1rem;"
    "background:#f3f4f6;border-radius:6px;font-size:13px}a{color:#0b57d0}"
    "@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#15181c}"
    "pre{background:#22262b}a{color:#8ab4f8}}";

std::string session_of(const SessionView& view) {
  return fmt::format("{} (job {})", view.name.empty() ? view.app : view.name, view.job);
}

std::string html_of(const Page& page) {
  std::string out = fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<title>{} · Dovetail</title><style>{}</style></head><body><main><h1>{}</h1>",
      text::html_escaped(page.title), kStyle, text::html_escaped(page.title));
  if (!page.text.empty()) out += fmt::format("<p>{}</p>", text::html_escaped(page.text));
  if (!page.lines.empty()) {
    out += fmt::format("<p>It said last:</p><pre tabindex=\"0\">{}</pre>",
                       text::html_escaped(page.lines));
  }
  if (!page.link.empty()) {
    out += fmt::format("<p><a href=\"{}\">{}</a></p>", text::html_escaped(page.link),
                       text::html_escaped(page.link_text));
  }
  if (page.refresh_s > 0) out += "<p>This page looks again by itself.</p>";
  return out + "</main></body></html>\n";
}

std::string problem_of(const Page& page) {
  return codec::dump_json(nlohmann::json{{"status", page.status},
                                         {"title", wire::reason_phrase(page.status)},
                                         {"code", page.code},
                                         {"detail", page.text.empty() ? page.title : page.text}}) +
         "\n";
}

}  // namespace

std::string answer_bytes(const Page& page, bool as_page, std::string_view headers, bool closes) {
  const std::string body = as_page ? html_of(page) : problem_of(page);
  std::string out = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n",
      page.status, wire::reason_phrase(page.status),
      as_page ? "text/html; charset=utf-8" : "application/problem+json", body.size());
  if (as_page) {
    out +=
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'\r\n";
  }
  if (page.refresh_s > 0) {
    out += fmt::format("Retry-After: {0}\r\nRefresh: {0}\r\n", page.refresh_s);
  }
  out += headers;
  if (closes) out += "Connection: close\r\n";
  return out + "\r\n" + body;
}

Page waiting_page(const SessionView& view) {
  std::string text = fmt::format("Job {} is {}", view.job, view.state);
  if (!view.why.empty()) text += ": " + view.why;
  if (!view.promised_start.empty()) {
    text += fmt::format("; promised to start by {}", view.promised_start);
  }
  Page page{503, session_of(view) + " does not run yet", text, "not_running", "", "", "", 3};
  return page;
}

Page starting_page(const SessionView& view) {
  return {503,
          session_of(view) + " is starting",
          fmt::format("Its job runs, and {} does not answer yet.", view.app),
          "starting",
          "",
          "",
          "",
          1};
}

Page silent_page(const SessionView& view, const Error& why, std::string lines) {
  return {502,
          session_of(view) + " does not answer",
          fmt::format("{}{}`dove logs {}` has all that it said.", why.message,
                      why.message.empty() ? "" : "; ", view.job),
          "app_silent",
          std::move(lines),
          "",
          "",
          5};
}

Page ended_page(const SessionView& view, std::string lines) {
  return {410,
          session_of(view) + " has ended",
          fmt::format("Job {} is {}.", view.job, view.state),
          "session_over",
          std::move(lines),
          "",
          "",
          0};
}

Page error_page(int status, const Error& error) {
  return {status, std::string(wire::reason_phrase(status)), error.message, error.code, "", "", "",
          0};
}

}  // namespace dove::proxy
