// JSON as a data format: value trees to text and back. Numbers keep their digits; duplicate keys,
// NaN, trailing bytes and excessive depth are errors of kind data. Immutable; any thread.
#pragma once

#include "drom/spi/build_context.hpp"
#include "formats/data_format.hpp"

namespace drom {

ConfigSpec json_format_spec();
// Null: reported.
std::unique_ptr<DataFormat> make_json_format(const Config& config, BuildContext& context);

}  // namespace drom
