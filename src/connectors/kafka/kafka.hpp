// kafka: topics of Apache Kafka as source and target, over librdkafka; the bean drom.kafka holds
// what several endpoints share.
#pragma once

namespace drom {

class Registry;

void register_kafka(Registry& registry);

}  // namespace drom
