#!/bin/sh
# The stubs, the classes and Thrift's library into gen/. Needs Apache Thrift's compiler, a JDK and Maven (apt install thrift-compiler default-jdk-headless maven).
set -e
mkdir -p gen/java/barista/stubs
# The published file names no package, and classes in none cannot be imported.
{ echo 'namespace java barista.stubs'; cat ../barista.thrift; } >gen/barista.thrift
thrift --gen java:generated_annotations=suppress -out gen/java gen/barista.thrift
mvn -q -B process-classes
