# Apache Kafka for tests: one broker (KRaft) on 127.0.0.1, its jars from Maven Central by coordinates,
# kept in a cache outside the tree. Topics are not created by themselves. Exports
#   DROM_TEST_KAFKA          host:port, plain, everything allowed
#   DROM_TEST_KAFKA_SASL     host:port, SASL_PLAINTEXT with PLAIN or SCRAM-SHA-256: app/app-secret may do
#                            everything, guest/guest-secret (PLAIN only) nothing
#   DROM_TEST_KAFKA_SSL      host:port, TLS with a certificate for 127.0.0.1 (not for localhost)
#   DROM_TEST_KAFKA_EXPIRED  host:port, TLS with a certificate that has expired
#   DROM_TEST_KAFKA_MUTUAL   host:port, TLS that asks for a certificate of the client: that of
#                            DROM_TEST_KAFKA_CLIENT.crt and .key, which is encrypted with key-secret
#   DROM_TEST_KAFKA_CA, DROM_TEST_KAFKA_EXPIRED_CA  files with the certificates to trust
#   DROM_TEST_KAFKA_PID      of the broker, for tests that pause it; DROM_TEST_KAFKA_PIDFILE has that of
#                            today: one that dies is started again
#   DROM_TEST_KAFKA_BEHIND   host:port, plain, for a proxy of a test that listens on
#   DROM_TEST_KAFKA_PROXY    host:port, which is where its clients are told to go
# Where the jars cannot be had, the Kafka tests are not run; under DROM_CI that is a failure.
# The contract is in with_servers.sh.

kafka_version=3.9.1

server_packages() {
  echo maven openjdk-17-jre-headless openssl
}

# kafka_jars: prints the folder with the jars, fetched on first use.
kafka_jars() {
  local cache=${XDG_CACHE_HOME:-$HOME/.cache}/dromedary/kafka jars new
  jars=$cache/$kafka_version
  if [[ ! -d $jars ]]; then
    mkdir -p "$cache" && new=$(mktemp -d "$cache/new.XXXXXX") || return 1
    cat >"$new/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>dromedary</groupId>
  <artifactId>test-broker</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$kafka_version</version>
    </dependency>
  </dependencies>
</project>
POM
    if ! timeout 300 mvn -B -q -f "$new/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
      -DoutputDirectory="$new/jars" >"$new/log" 2>&1; then
      tail -n 3 "$new/log" >&2
      rm -rf "$new"
      return 1
    fi
    mv -T "$new/jars" "$jars" 2>/dev/null || [[ -d $jars ]] || return 1  # somebody else was faster
    rm -rf "$new"
  fi
  echo "$jars"
}

# kafka_certificate FILE DAYS: a self-signed certificate for 127.0.0.1 (FILE.crt), and FILE.pem as Kafka
# reads it: the key, then the certificate. DAYS below 0: it has expired.
kafka_certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=kafka-test \
    -keyout "$1.key" -out "$1.csr" &&
    openssl x509 -req -in "$1.csr" -signkey "$1.key" -days "$2" -out "$1.crt" \
      -extfile <(echo "subjectAltName=IP:127.0.0.1") &&
    cat "$1.key" "$1.crt" >"$1.pem"
}

server_start() {
  local dir=$1 jars plain sasl ssl expired mutual controller behind proxy
  if ! jars=$(kafka_jars); then
    echo "kafka: no jars of Apache Kafka $kafka_version from Maven: the Kafka system tests are not run" >&2
    [[ -z ${DROM_CI:-} ]]
    return
  fi
  plain=$(free_port) && sasl=$(free_port) && ssl=$(free_port) && expired=$(free_port) &&
    mutual=$(free_port) && controller=$(free_port) && behind=$(free_port) && proxy=$(free_port) || return 1
  {
    kafka_certificate "$dir/good" 30 && kafka_certificate "$dir/old" -1 && kafka_certificate "$dir/plain" 30 &&
      openssl pkcs8 -topk8 -in "$dir/plain.key" -passout pass:key-secret -out "$dir/client.key" &&
      cp "$dir/plain.crt" "$dir/client.crt"
  } >"$dir/log" 2>&1 || return 1
  cat >"$dir/server.properties" <<CONF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
controller.listener.names=CONTROLLER
listeners=PLAIN://127.0.0.1:$plain,SASL://127.0.0.1:$sasl,TLS://127.0.0.1:$ssl,OLD://127.0.0.1:$expired,MUTUAL://127.0.0.1:$mutual,BEHIND://127.0.0.1:$behind,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAIN://127.0.0.1:$plain,SASL://127.0.0.1:$sasl,TLS://127.0.0.1:$ssl,OLD://127.0.0.1:$expired,MUTUAL://127.0.0.1:$mutual,BEHIND://127.0.0.1:$proxy
listener.security.protocol.map=PLAIN:PLAINTEXT,SASL:SASL_PLAINTEXT,TLS:SSL,OLD:SSL,MUTUAL:SSL,BEHIND:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAIN
listener.name.sasl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256
listener.name.sasl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_app="app-secret" user_guest="guest-secret";
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location=$dir/good.pem
listener.name.old.ssl.keystore.type=PEM
listener.name.old.ssl.keystore.location=$dir/old.pem
listener.name.mutual.ssl.keystore.type=PEM
listener.name.mutual.ssl.keystore.location=$dir/good.pem
listener.name.mutual.ssl.truststore.type=PEM
listener.name.mutual.ssl.truststore.location=$dir/client.crt
listener.name.mutual.ssl.client.auth=required
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:app;User:CN=kafka-test
log.dirs=$dir/data
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
CONF
  local java=(java -Xms96m -Xmx384m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$jars/*")
  "${java[@]}" kafka.tools.StorageTool format -t 4L6g3nShT-eMCtK--X86sw -c "$dir/server.properties" \
    --add-scram 'SCRAM-SHA-256=[name=app,password=app-secret]' >>"$dir/log" 2>&1 || return 1
  (keep_running "$dir" "$(id -un)" "${java[@]}" kafka.Kafka "$dir/server.properties" >>"$dir/log" 2>&1) &
  wait_until 60 bash -c "exec 3<>/dev/tcp/127.0.0.1/$plain" || return 1
  export DROM_TEST_KAFKA=127.0.0.1:$plain DROM_TEST_KAFKA_SASL=127.0.0.1:$sasl
  export DROM_TEST_KAFKA_SSL=127.0.0.1:$ssl DROM_TEST_KAFKA_EXPIRED=127.0.0.1:$expired
  export DROM_TEST_KAFKA_MUTUAL=127.0.0.1:$mutual DROM_TEST_KAFKA_CLIENT=$dir/client
  export DROM_TEST_KAFKA_CA=$dir/good.crt DROM_TEST_KAFKA_EXPIRED_CA=$dir/old.crt
  export DROM_TEST_KAFKA_BEHIND=127.0.0.1:$behind DROM_TEST_KAFKA_PROXY=127.0.0.1:$proxy
  DROM_TEST_KAFKA_PID=$(cat "$dir/pid")
  export DROM_TEST_KAFKA_PID DROM_TEST_KAFKA_PIDFILE=$dir/pid
}

server_stop() {
  local pid
  touch "$1/stopped"
  pid=$(cat "$1/pid" 2>/dev/null) || return 0
  # Nothing of it is needed again, so it need not end well.
  kill -KILL "$pid" 2>/dev/null
  wait_until 5 eval "! kill -0 $pid"
}
