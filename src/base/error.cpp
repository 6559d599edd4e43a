#include "drom/base/error.hpp"

namespace drom {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::config: return "config";
    case ErrorKind::data: return "data";
    case ErrorKind::transient: return "transient";
    case ErrorKind::timeout: return "timeout";
    case ErrorKind::not_connected: return "not_connected";
    case ErrorKind::rejected: return "rejected";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::bug: return "bug";
  }
  return "bug";
}

std::string Error::message() const { return hint.empty() ? what : what + " (" + hint + ")"; }

}  // namespace drom
