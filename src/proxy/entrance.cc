#include "proxy/entrance.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "proxy/http/filter.h"
#include "wire/http.h"
#include "wire/secret.h"

namespace dove::proxy {
namespace {

constexpr std::string_view kOurs = "/.dove/";
constexpr std::string_view kEnter = "/.dove/enter";
constexpr std::string_view kOpen = "/.dove/open/";
constexpr std::size_t kPathMax = 2048;
constexpr std::int64_t kNonceLasts_s = 600;

Verdict refuse(int status, const char* code, std::string text, ErrorKind kind) {
  Verdict verdict;
  verdict.page = error_page(status, Error{kind, code, std::move(text), ""});
  return verdict;
}

Verdict redirect(const std::string& where, std::string headers) {
  Verdict verdict;
  verdict.page = Page{303, "Going on", "", "go_on", "", "", "", 0};
  verdict.headers = std::move(headers) + "Location: " + where + "\r\n";
  return verdict;
}

std::string cookie_line(const std::string& name, const std::string& value, std::int64_t seconds,
                        bool secure) {
  return "Set-Cookie: " + set_cookie(name, value, seconds, secure) + "\r\n";
}

// Whose origin it is; 0: nobody's. A name tells; a port is that of the job which was entered there
// last.
std::uint64_t job_at(const Edge& edge, std::string_view host, std::uint16_t port) {
  if (edge.origins.by_name()) return edge.origins.job_of(host);
  const auto found = edge.jobs_of_ports.find(port);
  return found == edge.jobs_of_ports.end() ? 0 : found->second;
}

bool is_our_host(const Edge& edge, std::string_view host, std::uint16_t port) {
  if (edge.origins.by_name()) return edge.origins.job_of(host) != 0;
  return same_word(edge.origins.host_at(port), host);
}

std::string own_origin(const Edge& edge, std::string_view host) {
  std::string origin = edge.origins.secure() ? "https://" : "http://";
  for (const char c : host) origin += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return origin;
}

// Other sessions are on the same site, so that their pages' requests bring our cookie along. What
// does not come from the session's own page is taken only as a link that somebody follows.
Result<void> check_origin(const Head& request, const std::string& own) {
  const std::string_view origin = request.find("Origin");
  if (same_word(origin, own)) return {};
  const std::string_view site = request.find("Sec-Fetch-Site");
  const std::string_view dest = request.find("Sec-Fetch-Dest");
  const bool elsewhere = site == "cross-site" || site == "same-site";
  const bool followed = request.find("Sec-Fetch-Mode") == "navigate" &&
                        (dest == "document" || dest.empty()) &&
                        (request.method == "GET" || request.method == "HEAD");
  const bool is_socket = request.has("Upgrade");
  if (!is_socket && origin.empty() && (!elsewhere || followed)) return {};
  return Error{ErrorKind::kDenied, "cross_origin",
               fmt::format("this session takes such requests from its own page alone, and this one "
                           "comes from '{}'",
                           origin.empty() ? site.substr(0, 32) : origin.substr(0, 200)),
               "Origin"};
}

struct Asked {
  std::string path;
  std::string code;
  std::string then;
  std::uint64_t job = 0;
};

std::uint64_t read_job(std::string_view text) {
  std::uint64_t job = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), job);
  return error == std::errc() && end == text.data() + text.size() ? job : 0;
}

Asked read_target(const Head& request) {
  wire::Request read;
  read.target = std::string(request.target);
  Asked asked;
  if (!wire::split_target(read).ok()) return asked;
  asked.path = read.path;
  if (const std::string* code = read.find_query("code")) asked.code = code->substr(0, 128);
  if (const std::string* then = read.find_query("path")) asked.then = *then;
  if (const std::string* job = read.find_query("job")) asked.job = read_job(*job);
  if (asked.path.starts_with(kOpen)) {
    asked.job = read_job(std::string_view(asked.path).substr(kOpen.size()));
  }
  return asked;
}

// What is under /.dove/ is ours on every origin, and never the app's.
// With a seal, so that the server is not asked about what nobody was given here.
std::string sealed_nonce(const Edge& edge, std::string_view random) {
  return fmt::format("{}.{}", random, wire::hmac_sha256_hex(edge.nonce_key, random));
}

std::string new_nonce(const Edge& edge) { return sealed_nonce(edge, wire::random_token(32)); }

bool is_own_nonce(const Edge& edge, std::string_view nonce) {
  constexpr std::size_t kNonceMax = 256;
  const std::size_t end = nonce.find('.');
  if (end == std::string_view::npos || nonce.size() > kNonceMax) return false;
  return wire::equal_constant_time(nonce, sealed_nonce(edge, nonce.substr(0, end)));
}

Verdict judge_ours(Edge& edge, const Head& request) {
  const Asked asked = read_target(request);
  const std::string_view host = request.find("Host");
  if (request.method != "GET") {
    return refuse(405, "method_not_allowed", "this is read with GET", ErrorKind::kInvalid);
  }
  const bool is_its_origin = asked.job != 0 && same_word(edge.origins.host_of(asked.job), host);
  if (is_its_origin && asked.path.starts_with(kOpen)) {
    return send_to_console(edge, request, asked.job);
  }
  if (!is_its_origin || asked.path != kEnter || asked.code.empty()) {
    return refuse(404, "no_such_path", "there is nothing here", ErrorKind::kNotFound);
  }
  const auto sent = cookies_of(request, nonce_cookie(asked.job, edge.origins.secure()));
  if (sent.size() != 1 || !is_own_nonce(edge, sent.front())) {
    Verdict verdict = refuse(400, "entry_code_invalid",
                             "this browser did not ask to be let in here, or asked more than ten "
                             "minutes ago",
                             ErrorKind::kInvalid);
    verdict.page->link = fmt::format("{}{}", kOpen, asked.job);
    verdict.page->link_text = "Open the session";
    return verdict;
  }
  Verdict verdict;
  verdict.trade = Trade{asked.job, asked.code, std::string(sent.front()), own_origin(edge, host),
                        is_own_path(asked.then) ? asked.then : ""};
  return verdict;
}

}  // namespace

bool wants_page(const Head& request) {
  return (request.method == "GET" || request.method == "HEAD") &&
         request.find("Accept").find("text/html") != std::string_view::npos;
}

bool is_own_path(std::string_view path) {
  if (!path.starts_with('/') || path.starts_with("//") || path.size() > kPathMax) return false;
  if (path.starts_with(kOurs)) return false;
  return std::all_of(path.begin(), path.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte < 0x7f && c != '\\';
  });
}

Verdict judge(Edge& edge, const Head& request, std::uint16_t port) {
  const std::string_view host = request.find("Host");
  if (!is_our_host(edge, host, port)) {
    return refuse(421, "wrong_host",
                  fmt::format("no session has the address '{}'; the console leads to yours",
                              host.substr(0, 200)),
                  ErrorKind::kNotFound);
  }
  if (request.target.starts_with(kOurs)) return judge_ours(edge, request);
  const std::uint64_t job = job_at(edge, host, port);
  if (job == 0) {
    Verdict verdict = refuse(404, "no_such_session",
                             "no session was opened at this address yet; open it from the console, "
                             "or with the link that `dove open` prints",
                             ErrorKind::kNotFound);
    verdict.page->link = edge.console_url();
    verdict.page->link_text = "The console";
    return verdict;
  }
  if (const auto own = check_origin(request, own_origin(edge, host)); !own.ok()) {
    return refuse(403, "cross_origin", own.error().message, ErrorKind::kDenied);
  }
  Verdict verdict;
  verdict.session =
      edge.sessions.find(cookies_of(request, session_cookie(job, edge.origins.secure())), job,
                         edge.loop.monotonic_us());
  return verdict.session != nullptr ? verdict : send_to_console(edge, request, job);
}

Verdict send_to_console(Edge& edge, const Head& request, std::uint64_t job) {
  if (!wants_page(request)) {
    return refuse(
        401, "sign_in_first",
        fmt::format("open the session in a browser first: {}/enter/{}", edge.console_url(), job),
        ErrorKind::kUnauthenticated);
  }
  const std::string nonce = new_nonce(edge);
  std::string where =
      fmt::format("{}/enter/{}?state={}", edge.console_url(), job, wire::sha256_hex(nonce));
  if (is_own_path(request.target)) where += "&path=" + wire::percent_encode(request.target);
  const bool secure = edge.origins.secure();
  return redirect(where, cookie_line(nonce_cookie(job, secure), nonce, kNonceLasts_s, secure));
}

Verdict let_in(Edge& edge, const Trade& trade, Entry entry, std::uint16_t port) {
  if (entry.job != trade.job) {
    return refuse(400, "entry_code_invalid", "this code is for another session",
                  ErrorKind::kInvalid);
  }
  const bool secure = edge.origins.secure();
  const std::int64_t now_us = edge.loop.monotonic_us();
  const std::int64_t lasts_s = std::max<std::int64_t>((entry.ends_us - now_us) / 1'000'000, 0);
  std::string path = trade.path.empty() ? entry.path : trade.path;
  if (!is_own_path(path)) path = "/";
  const std::string secret = edge.sessions.add(std::move(entry), port, now_us);
  if (secret.empty()) {
    return refuse(503, "too_many_sessions", "very many browsers are let in here; try again later",
                  ErrorKind::kUnavailable);
  }
  std::string headers = cookie_line(session_cookie(trade.job, secure), secret, lasts_s, secure) +
                        cookie_line(nonce_cookie(trade.job, secure), "", 0, secure);
  if (!edge.origins.by_name()) {
    // What another job's page has left at this port must not read on in this one's.
    std::uint64_t& last = edge.jobs_of_ports[port];
    if (last != trade.job) headers += "Clear-Site-Data: \"cache\", \"storage\"\r\n";
    last = trade.job;
    edge.sessions.drop_others(port, trade.job);
  }
  return redirect(path, std::move(headers));
}

}  // namespace dove::proxy
