#include "connectors/file/file_options.hpp"

#include <algorithm>

#include "drom/spi/build_context.hpp"
#include "spi/memory_idempotent_repository.hpp"

namespace drom::file {
namespace {

constexpr size_t kRememberedFiles = 100'000;

Error config_error(std::string what, std::string hint = {}) {
  return Error(ErrorKind::config, std::move(what), std::move(hint));
}

Result<void> read_regex(const Config& config, const char* name, std::optional<std::regex>& out) {
  if (!config.has(name)) return {};
  try {
    out.emplace(config.text(name),
                std::regex::ECMAScript | std::regex::icase | std::regex::optimize);
  } catch (const std::regex_error& e) {
    return config_error(std::string(name) + " '" + config.text(name) +
                        "' is no regular expression: " + e.what());
  }
  return {};
}

std::vector<std::string> extensions(const Config& config, const char* name) {
  std::vector<std::string> out = config.list(name);
  for (std::string& extension : out)
    if (extension.starts_with('.')) extension.erase(0, 1);
  return out;
}

Result<void> read_sort(const std::string& text, ScanRules& out) {
  std::string_view rest = text;
  const std::vector<std::string> known = {"file:name", "file:modified", "file:length"};
  if (rest.starts_with("reverse:")) {
    out.descending = true;
    rest.remove_prefix(8);
  }
  if (rest.starts_with("file:")) rest.remove_prefix(5);
  if (rest == "name") {
    out.sort = SortKey::name;
  } else if (rest == "modified") {
    out.sort = SortKey::modified;
  } else if (rest == "length" || rest == "size") {
    out.sort = SortKey::length;
  } else {
    return config_error("sortBy '" + text + "' is unknown", did_you_mean(text, known));
  }
  return {};
}

Result<void> read_target(const Config& config, const char* name, std::optional<Target>& out) {
  if (!config.has(name)) return {};
  Result<Target> target = Target::parse(name, config.text(name));
  if (!target) return target.error();
  out = std::move(*target);
  return {};
}

Result<std::optional<mode_t>> read_mode(const Config& config, const char* name) {
  if (!config.has(name)) return std::optional<mode_t>();
  const std::string& text = config.text(name);
  const bool octal =
      !text.empty() && text.size() <= 4 && text.find_first_not_of("01234567") == std::string::npos;
  if (!octal)
    return config_error(std::string(name) + " '" + text + "' is no octal mode",
                        "write it like 640");
  const unsigned long mode = std::stoul(text, nullptr, 8);
  if (mode > 0777)
    return config_error(std::string(name) + " '" + text + "' sets more than permissions",
                        "write it like 640");
  return std::optional<mode_t>(static_cast<mode_t>(mode));
}

Result<void> read_filter(const Config& config, Filter& out) {
  Result<void> read = read_regex(config, "include", out.include);
  if (read) read = read_regex(config, "exclude", out.exclude);
  if (!read) return read;
  out.extensions = extensions(config, "includeExt");
  out.excluded_extensions = extensions(config, "excludeExt");
  out.ant_include = config.list("antInclude");
  out.ant_exclude = config.list("antExclude");
  out.ant_case_sensitive = config.flag("antFilterCaseSensitive");
  return {};
}

Result<void> read_outcome(const Config& config, ConsumerOptions& out) {
  out.noop = config.flag("noop");
  out.remove = config.flag("delete");
  if (out.noop && out.remove) return config_error("noop and delete exclude each other");
  if (config.given("move") && (out.noop || out.remove))
    return config_error(std::string("move and ") + (out.noop ? "noop" : "delete") +
                        " exclude each other");
  if (out.noop && config.given("preMove"))
    return config_error("noop and preMove exclude each other");
  Result<Target> move = Target::parse("move", config.text("move"));
  if (!move) return move.error();
  out.move = std::move(*move);
  Result<void> read = read_target(config, "moveFailed", out.move_failed);
  if (read) read = read_target(config, "preMove", out.pre_move);
  if (!read) return read;
  for (const Target* target : {&out.move, out.move_failed ? &*out.move_failed : nullptr,
                               out.pre_move ? &*out.pre_move : nullptr})
    if (target && !target->beside().empty()) out.scan.skipped_folders.push_back(target->beside());
  return {};
}

Result<void> read_idempotent(const Config& config, BuildContext& context, ConsumerOptions& out) {
  out.idempotent_key = config.expression("idempotentKey");
  const bool wanted = config.given("idempotent") ? config.flag("idempotent") : out.noop;
  if (!wanted) return {};
  if (!config.has("idempotentRepository")) {
    out.own_repository = make_memory_idempotent_repository(kRememberedFiles);
    out.repository = out.own_repository.get();
    return {};
  }
  std::string name = config.text("idempotentRepository");
  if (name.starts_with('#')) name.erase(0, 1);
  out.repository = context.registry().find<IdempotentRepository>(name);
  if (out.repository) return {};
  return config_error("no idempotent repository is called '" + name + "'",
                      did_you_mean(name, context.registry().names<IdempotentRepository>()));
}

ReadLock lock_of(const std::string& text) {
  if (text == "changed") return ReadLock::changed;
  if (text == "rename") return ReadLock::rename;
  return text == "none" ? ReadLock::none : ReadLock::marker_file;
}

FileExist exist_of(const std::string& text) {
  if (text == "Append") return FileExist::append;
  if (text == "Fail") return FileExist::fail;
  if (text == "Ignore") return FileExist::ignore;
  return text == "Move" ? FileExist::move : FileExist::override;
}

std::string with_line_ends(std::string text) {
  for (const auto& [written, meant] : {std::pair("\\n", "\n"), std::pair("\\r", "\r")})
    for (size_t at = text.find(written); at != std::string::npos; at = text.find(written, at))
      text.replace(at, 2, meant);
  return text;
}

void read_common(const Config& config, CommonOptions& out) {
  out.path = config.text("directoryName");
  out.auto_create = config.flag("autoCreate");
  out.uri = "file:" + out.path;
}

}  // namespace

Result<ConsumerOptions> consumer_options(const Config& config, BuildContext& context) {
  ConsumerOptions out;
  read_common(config, out);
  out.delay = config.duration("delay");
  out.initial_delay = config.duration("initialDelay");
  out.greedy = config.flag("greedy");
  out.max_messages_per_poll = static_cast<size_t>(config.integer("maxMessagesPerPoll"));
  out.scan.recursive = config.flag("recursive");
  out.scan.min_depth = config.integer("minDepth");
  out.scan.max_depth = config.integer("maxDepth");
  out.scan.hidden = config.flag("includeHiddenFiles");
  out.body_max = static_cast<size_t>(config.integer("maxBodySize"));
  out.utf8 = config.has("charset");
  out.lock = lock_of(config.text("readLock"));
  out.check_interval = config.duration("readLockCheckInterval");
  out.min_age = config.duration("readLockMinAge");
  out.min_length = config.integer("readLockMinLength");
  out.orphan_markers = config.flag("readLockDeleteOrphanLockFiles");
  out.retry_delay = config.duration("retryDelay");
  out.retry_delay_max = config.duration("maximumRetryDelay");
  Result<void> read = read_sort(config.text("sortBy"), out.scan);
  if (read) read = read_filter(config, out.scan.filter);
  if (read) read = read_outcome(config, out);
  out.file_name = config.expression("fileName");
  if (read) read = read_idempotent(config, context, out);
  if (!read) return read.error();
  Result<DoneName> done = DoneName::parse(config.text("doneFileName"));
  if (!done) return done.error();
  out.scan.done = std::move(*done);
  return out;
}

Result<ProducerOptions> producer_options(const Config& config) {
  ProducerOptions out;
  read_common(config, out);
  out.exist = exist_of(config.text("fileExist"));
  out.temp_prefix = config.text("tempPrefix");
  out.allow_null_body = config.flag("allowNullBody");
  out.append_chars = with_line_ends(config.text("appendChars"));
  out.flatten = config.flag("flatten");
  out.sync = config.flag("forceWrites");
  out.transacted = config.flag("transacted");
  if (out.temp_prefix.find('/') != std::string::npos)
    return config_error("tempPrefix '" + out.temp_prefix + "' names a folder");
  out.file_name = config.expression("fileName");
  const Result<void> read = read_target(config, "moveExisting", out.move_existing);
  if (!read) return read.error();
  if (out.exist == FileExist::move && !out.move_existing)
    return config_error("fileExist=Move needs moveExisting", "for example moveExisting=old");
  if (out.exist != FileExist::move && out.move_existing)
    return config_error("moveExisting is used with fileExist=Move only");
  Result<DoneName> done = DoneName::parse(config.text("doneFileName"));
  if (!done) return done.error();
  out.done = std::move(*done);
  Result<std::optional<mode_t>> mode = read_mode(config, "chmod");
  if (!mode) return mode.error();
  out.mode = *mode;
  Result<std::optional<mode_t>> folder_mode = read_mode(config, "chmodDirectory");
  if (!folder_mode) return folder_mode.error();
  out.folder_mode = folder_mode->value_or(0777);
  return out;
}

}  // namespace drom::file
