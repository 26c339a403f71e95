"""The sample of the paper's section 3.2, for Python 3: `print` is a function, cells are bytes, the stubs are where `build` puts them; host, port and account may be told. Otherwise as it was published."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen"))

from barista import Barista  # noqa: E402
from barista.ttypes import ConnectionParams  # noqa: E402
from thrift.protocol import TBinaryProtocol  # noqa: E402
from thrift.transport import TSocket, TTransport  # noqa: E402

host, port, account = (sys.argv[1:] + ["localhost", "9000", "postgres"][len(sys.argv) - 1 :])[:3]

transport = TSocket.TSocket(host, int(port))
transport = TTransport.TBufferedTransport(transport)
protocol = TBinaryProtocol.TBinaryProtocol(transport)
client = Barista.Client(protocol)

transport.open()

con_params = ConnectionParams(
    user=account, password=account, database=account,
    client_id="1234567890", seq_id="1")

con = client.open_connection(con_params)
res = client.execute_sql(con=con,
    query="SELECT 6.824 as id, 'Distributed Systems' as name",
    query_params=None)

print("\t".join(res.field_names))
for tuple in res.tuples:
    print("\t".join(cell.decode() for cell in tuple.cells))

client.close_connection(con)
transport.close()
