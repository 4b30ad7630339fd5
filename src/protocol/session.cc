#include "protocol/session.h"

#include "protocol/session_fields.h"

namespace dove::protocol {
namespace {

// Told apart first: what another version means by the fields is not known.
Result<void> check_version(const Json& json) {
  const auto found = json.find("protocol");
  if (found != json.end() && found->is_number_integer() && *found == kVersion) return {};
  return Error{ErrorKind::kInvalid, "protocol_unsupported",
               "this controller speaks agent protocol " + std::to_string(kVersion) +
                   "; use the agent of the same version of dove",
               "protocol"};
}

template <class T>
Result<T> read_versioned(const Json& json) {
  if (json.is_object()) TRY(check_version(json));
  return read<T>(json);
}

}  // namespace

std::string join_text(const Join& join) { return write(join); }
std::string sync_text(const Sync& sync) { return write(sync); }
std::string report_message_text(const ReportMessage& message) { return write(message); }
Result<JoinAnswer> read_join_answer(const Json& json) { return read<JoinAnswer>(json); }
Result<SyncAnswer> read_sync_answer(const Json& json) { return read<SyncAnswer>(json); }
Result<ReportAnswer> read_report_answer(const Json& json) { return read<ReportAnswer>(json); }
Result<GivenSecrets> read_given_secrets(const Json& json) { return read<GivenSecrets>(json); }

Result<Join> read_join(const Json& json) { return read_versioned<Join>(json); }
Result<Sync> read_sync(const Json& json) { return read_versioned<Sync>(json); }
Result<ReportMessage> read_report_message(const Json& json) { return read<ReportMessage>(json); }
std::string join_answer_text(const JoinAnswer& answer) { return write(answer); }
std::string sync_answer_text(const SyncAnswer& answer) { return write(answer); }
std::string report_answer_text(const ReportAnswer& answer) { return write(answer); }
std::string given_secrets_text(const GivenSecrets& given) { return write(given); }

}  // namespace dove::protocol
