#include "connectors/file/file_options.hpp"

namespace drom::file {
namespace {

OptionSpec text(std::string name, std::string doc, std::string example, std::string fallback = {}) {
  return {.name = std::move(name),
          .doc = std::move(doc),
          .fallback = std::move(fallback),
          .example = std::move(example)};
}

OptionSpec expression(std::string name, std::string doc, std::string example) {
  return {.name = std::move(name),
          .type = OptionType::expression,
          .doc = std::move(doc),
          .example = std::move(example)};
}

OptionSpec flag(std::string name, std::string doc, std::string fallback = "false") {
  return {.name = std::move(name),
          .type = OptionType::boolean,
          .doc = std::move(doc),
          .fallback = std::move(fallback)};
}

OptionSpec number(std::string name, OptionType type, std::string doc, std::string fallback,
                  std::string example, int64_t minimum = 0) {
  return {.name = std::move(name),
          .type = type,
          .doc = std::move(doc),
          .fallback = std::move(fallback),
          .example = std::move(example),
          .minimum = minimum};
}

OptionSpec list(std::string name, std::string doc, std::string example) {
  return {.name = std::move(name),
          .type = OptionType::list,
          .doc = std::move(doc),
          .example = std::move(example)};
}

void add_common(std::vector<OptionSpec>& out) {
  out.push_back({.name = "directoryName",
                 .doc = "The directory; relative to where the engine was started, unless absolute.",
                 .example = "data/inbox",
                 .required = true,
                 .path = true});
  out.push_back(flag("autoCreate", "Whether missing folders are created.", "true"));
  out.push_back(
      expression("fileName",
                 "Producer: the name of the file, a text or a simple expression; without it "
                 "the id of the exchange. Consumer: only this file is read. A header never "
                 "chooses the file unless it stands in this expression.",
                 "order-${header.orderId}.json"));
  out.push_back(
      text("doneFileName",
           "Consumer: a file is read only when this file stands beside it. Producer: this "
           "empty file is written last. A fixed name, or one with ${file:name} or "
           "${file:name.noext}.",
           "${file:name}.done"));
  out.push_back(
      {.name = "charset",
       .type = OptionType::enumeration,
       .doc = "Consumer: utf-8 checks that the content is UTF-8 and gives it as text; without "
              "it the body is bytes, whatever they mean. Producer: texts are always written as "
              "UTF-8.",
       .values = {"utf-8", "UTF-8"}});
}

void add_polling(std::vector<OptionSpec>& out) {
  out.push_back(number("delay", OptionType::duration, "Pause between two looks into the directory.",
                       "500", "5s"));
  out.push_back(
      number("initialDelay", OptionType::duration, "Pause before the first look.", "1000", "0"));
  out.push_back(
      flag("greedy", "Whether the next look follows at once when the last one found files."));
  out.push_back(number("maxMessagesPerPoll", OptionType::integer,
                       "How many files are taken per look, in their order; 0 means all.", "0",
                       "100"));
  out.push_back(
      {.name = "sortBy",
       .doc = "Order of the files of one look: file:name, file:modified or file:length, with "
              "reverse: before it for the other direction.",
       .fallback = "file:name",
       .example = "reverse:file:modified"});
  out.push_back(flag("recursive", "Whether files in sub-folders are read too."));
  out.push_back(
      number("minDepth", OptionType::integer,
             "With recursive: folders above this depth are left out; the directory itself is "
             "1.",
             "0", "2"));
  out.push_back(
      number("maxDepth", OptionType::integer,
             "With recursive: folders below this depth are left out; the directory itself is "
             "1.",
             "64", "3", 1));
}

void add_filters(std::vector<OptionSpec>& out) {
  out.push_back(
      text("include",
           "Regular expression, case-insensitive, for the whole file name without folders; "
           "others are left alone.",
           "order-.*\\.xml"));
  out.push_back(
      text("exclude",
           "Regular expression, case-insensitive, for the whole file name without folders, "
           "of files to leave alone.",
           ".*\\.bak"));
  out.push_back(
      list("includeExt", "File extensions that are read; others are left alone.", "csv,txt"));
  out.push_back(list("excludeExt", "File extensions that are left alone.", "bak,dat"));
  out.push_back(list("antInclude", "Ant patterns for the name with folders; others are left alone.",
                     "**/*.csv"));
  out.push_back(list("antExclude",
                     "Ant patterns for the name with folders, of files to leave alone.", "old/**"));
  out.push_back(
      flag("antFilterCaseSensitive", "Whether the Ant patterns see upper and lower case.", "true"));
  out.push_back(flag("includeHiddenFiles",
                     "Whether files and folders whose name starts with a dot are read too."));
}

void add_outcome(std::vector<OptionSpec>& out) {
  out.push_back(
      flag("noop",
           "Whether handled files stay where they are; implies idempotent, so that each is "
           "read once."));
  out.push_back(flag("delete", "Whether handled files are deleted."));
  out.push_back(
      text("move",
           "Where a handled file goes: a folder beside it, a path, or a simple expression "
           "for the new name. What an expression yields stays below the literal part.",
           "done/${date:now:yyyyMMdd}/${file:name}", ".camel"));
  out.push_back(
      text("moveFailed",
           "Where a file goes whose route has failed; without it the file stays and is tried "
           "again with growing pauses.",
           ".failed"));
  out.push_back(
      text("preMove",
           "Where a file goes before its route runs. A plain folder name is recovered after "
           "a crash: its files come back at the next start.",
           ".inprogress"));
  out.push_back(
      number("retryDelay", OptionType::duration,
             "How long a failed file that stays is left alone; doubled with each failure.", "1000",
             "10s"));
  out.push_back(number("maximumRetryDelay", OptionType::duration,
                       "No failed file is left alone longer than this.", "60000", "10m"));
}

void add_locking(std::vector<OptionSpec>& out) {
  out.push_back({.name = "readLock",
                 .type = OptionType::enumeration,
                 .doc = "How to make sure that nobody else has the file: markerFile holds "
                        "NAME.camelLock beside it, changed waits until size and time stand still, "
                        "rename tries to rename it, none does nothing.",
                 .fallback = "markerFile",
                 .values = {"markerFile", "changed", "rename", "none"}});
  out.push_back(number("readLockCheckInterval", OptionType::duration,
                       "With readLock=changed: how long size and time must stand still.", "1000",
                       "5s"));
  out.push_back(number("readLockMinAge", OptionType::duration,
                       "With readLock=changed: the file must be at least this old.", "0", "10s"));
  out.push_back(number("readLockMinLength", OptionType::size,
                       "With readLock=changed: the file must be at least this large.", "1", "0"));
  out.push_back(flag("readLockDeleteOrphanLockFiles",
                     "Whether markers that no living process holds are deleted at the start.",
                     "true"));
}

void add_content(std::vector<OptionSpec>& out) {
  out.push_back(number("maxBodySize", OptionType::size,
                       "Larger files are not read: their exchange fails with kind data.", "64MB",
                       "1GB", 1));
  out.push_back(flag("idempotent", "Whether a file that was handled once is not read again."));
  out.push_back(
      expression("idempotentKey",
                 "What makes a file the same; without it the absolute path. Fixed when the "
                 "file is taken, whatever the route does to the headers.",
                 "${file:name}-${file:modified}"));
  out.push_back(
      {.name = "idempotentRepository",
       .type = OptionType::reference,
       .doc = "The bean that remembers handled files; without it the last 100000 are kept in "
              "memory.",
       .example = "#seen"});
}

void add_producer(std::vector<OptionSpec>& out) {
  out.push_back(
      {.name = "fileExist",
       .type = OptionType::enumeration,
       .doc = "What happens when the file exists: Override replaces it, Append writes at its "
              "end, Fail is an error, Ignore keeps it and goes on, Move moves it to "
              "moveExisting first, TryRename is Override here, as writing is always by rename.",
       .fallback = "Override",
       .values = {"Override", "Append", "Fail", "Ignore", "Move", "TryRename"}});
  out.push_back(
      text("moveExisting",
           "With fileExist=Move: where the existing file goes; a folder beside it, a path, or "
           "a simple expression for its new name.",
           "old"));
  out.push_back(text(
      "tempPrefix", "Prefix of the name while the file is being written; without it a hidden name.",
      "uploading-"));
  out.push_back(text("appendChars",
                     "With fileExist=Append: written after each body; \\n is a line end.", "\\n"));
  out.push_back(text("chmod", "Permissions of written files, octal.", "640"));
  out.push_back(text("chmodDirectory", "Permissions of created folders, octal.", "750"));
  out.push_back(flag("flatten", "Whether folders in the file name are left out."));
  out.push_back(
      flag("allowNullBody", "Whether a null body writes an empty file instead of failing."));
  out.push_back(flag("forceWrites",
                     "Whether a file counts as written only when the disk has it (fsync).",
                     "true"));
  out.push_back(
      flag("transacted",
           "Whether a write inside a transacted block waits for the commit; false writes at "
           "once.",
           "true"));
}

}  // namespace

ConfigSpec file_spec() {
  ConfigSpec spec;
  spec.name = "file";
  spec.title = "File";
  spec.doc =
      "Reads files from a directory, or writes files into it. Reading: each file is one exchange, "
      "its "
      "content the body (bytes), its name and attributes in the headers CamelFileName, "
      "CamelFileNameOnly, CamelFileLength, CamelFileLastModified, CamelFileAbsolutePath and "
      "others; "
      "it moves away only when the route has ended well, so a crash means that it is read again. "
      "Writing: the file appears under its name complete and on the disk, or not at all. Names "
      "stay "
      "below the directory, and symbolic links below it are not followed. Unlike Camel, the header "
      "CamelFileName does not choose the file that is written: say "
      "fileName=${header.CamelFileName} where you want that.";
  spec.syntax = "file:directoryName";
  spec.consumes = spec.produces = true;
  add_common(spec.options);
  add_polling(spec.options);
  add_filters(spec.options);
  add_outcome(spec.options);
  add_locking(spec.options);
  add_content(spec.options);
  add_producer(spec.options);
  spec.example =
      "- route:\n"
      "    from:\n"
      "      uri: file:data/inbox\n"
      "      parameters: {include: \".*\\\\.csv\", move: done, moveFailed: failed}\n"
      "      steps:\n"
      "        - to:\n"
      "            uri: file:data/outbox\n"
      "            parameters: {fileName: \"copy-${header.CamelFileNameOnly}\"}\n";
  return spec;
}

}  // namespace drom::file
