#!/bin/sh
# The stubs into gen/, and the program. Needs Apache Thrift's compiler (apt install thrift-compiler golang); its library for Go, of the version in go.mod, comes from the module proxy.
set -e
mkdir -p gen
thrift --gen go:package_prefix=barista.example/sample/gen/ -out gen ../barista.thrift
go build -o gen/sample .
