// How `drom outbox` shows what it found: tables for people, JSON for machines.
#pragma once

#include <vector>

#include "connectors/outbox/outbox_admin.hpp"
#include "connectors/outbox/outbox_verify.hpp"
#include "drom/base/time.hpp"

namespace drom::cli {

void print_status(const outbox::Status& status);
void print_rows(const std::vector<Object>& rows, WallTime now);
void print_findings(const std::vector<outbox::Finding>& findings);
void print_json(Value value);  // one line

Value to_value(const outbox::Status& status);
Value to_value(const outbox::Finding& finding);

}  // namespace drom::cli
