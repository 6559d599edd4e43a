#include "connectors/file/file.hpp"

#include "connectors/file/file_endpoint.hpp"
#include "connectors/file/lanes.hpp"
#include "drom/spi/build_context.hpp"
#include "drom/spi/registry.hpp"

namespace drom {
namespace {

class FileEndpoint final : public Endpoint {
 public:
  FileEndpoint(file::ConsumerOptions consumer, file::ProducerOptions producer,
               file::Services services)
      : consumer_(std::move(consumer)), producer_(std::move(producer)), services_(services) {}

  std::string uri() const override { return consumer_.uri; }
  Result<std::unique_ptr<Consumer>> make_consumer() override {
    return file::make_consumer(consumer_, services_);
  }
  Result<std::unique_ptr<Producer>> make_producer() override {
    return file::make_producer(producer_, services_.lane);
  }

 private:
  file::ConsumerOptions consumer_;
  file::ProducerOptions producer_;
  file::Services services_;
};

Result<std::unique_ptr<Endpoint>> make_file(const Config& config, BuildContext& context) {
  Result<file::ConsumerOptions> consumer = file::consumer_options(config, context);
  if (!consumer) return consumer.error();
  Result<file::ProducerOptions> producer = file::producer_options(config);
  if (!producer) return producer.error();
  const auto make_lanes = [&context] { return std::make_shared<file::Lanes>(context.io()); };
  Lane& lane = context.shared<file::Lanes>(make_lanes).lane(consumer->path);
  const file::Services services{lane, context.clock(), context.log(), context.env()};
  return std::unique_ptr<Endpoint>(
      std::make_unique<FileEndpoint>(std::move(*consumer), std::move(*producer), services));
}

}  // namespace

void register_file(Registry& registry) {
  ComponentInfo info;
  info.scheme = "file";
  info.spec = file::file_spec;
  info.make = make_file;
  registry.add(std::move(info));
}

}  // namespace drom
