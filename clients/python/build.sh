#!/bin/sh
# The stubs into gen/, and Thrift's library into an environment of this folder. Needs Apache Thrift's compiler (apt install thrift-compiler).
set -e
mkdir -p gen
thrift --gen py -out gen ../barista.thrift
python3 -m venv venv
venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
