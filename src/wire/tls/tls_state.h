// What a Tls is made of. For the files of wire/tls/ alone.
#pragma once

#include <string>

#include "wire/tls/openssl.h"
#include "wire/tls/tls.h"

namespace dove::wire {

struct Tls::State {
  ContextPtr context;
  bool is_server = false;
  TlsClientOptions client;  // of a client's, without `own`
};

// Why a certificate was not believed: X509_V_ERR_… with the peer's certificate as facts.
Error distrust(long verdict, const CertificateFacts& facts, const std::string& where,
               const std::string& host);

}  // namespace dove::wire
