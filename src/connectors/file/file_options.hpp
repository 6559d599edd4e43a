// The options of file: endpoints, declared and read.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "connectors/file/scan.hpp"
#include "connectors/file/target.hpp"
#include "drom/config/config.hpp"
#include "drom/spi/idempotent_repository.hpp"

namespace drom {
class BuildContext;
}

namespace drom::file {

struct CommonOptions {
  std::string path;
  bool auto_create = true;
  std::string uri;  // for logs
};

struct ConsumerOptions : CommonOptions {
  milliseconds delay{500};
  milliseconds initial_delay{1000};
  bool greedy = false;
  size_t max_messages_per_poll = 0;  // 0: no limit
  ScanRules scan;
  ExpressionPtr file_name;  // only this file
  size_t body_max = 0;
  bool utf8 = false;
  bool noop = false;
  bool remove = false;
  Target move;
  std::optional<Target> move_failed;
  std::optional<Target> pre_move;
  ReadLock lock = ReadLock::marker_file;
  milliseconds check_interval{1000};
  milliseconds min_age{0};
  int64_t min_length = 1;
  bool orphan_markers = true;
  ExpressionPtr idempotent_key;
  IdempotentRepository* repository = nullptr;  // null: not idempotent
  std::shared_ptr<IdempotentRepository> own_repository;
  milliseconds retry_delay{1000};
  milliseconds retry_delay_max{60000};
};

enum class FileExist : uint8_t { override, append, fail, ignore, move };

struct ProducerOptions : CommonOptions {
  ExpressionPtr file_name;  // null: the exchange id
  FileExist exist = FileExist::override;
  std::optional<Target> move_existing;
  std::string temp_prefix;
  DoneName done;
  std::optional<mode_t> mode;
  mode_t folder_mode = 0777;
  bool allow_null_body = false;
  std::string append_chars;
  bool flatten = false;
  bool sync = true;
  bool transacted = true;
};

ConfigSpec file_spec();
Result<ConsumerOptions> consumer_options(const Config& config, BuildContext& context);
Result<ProducerOptions> producer_options(const Config& config);

}  // namespace drom::file
