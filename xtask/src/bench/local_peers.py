"""The speed of pure-LDP's randomising and counting, on one core.

Prints one JSON object per line, like the local benchmark. Its randomness is that of NumPy and of Python's
`random`, neither of which is fit for privacy.
"""

from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

from measure import report

VALUES = 1000
# Speeds are per client, so fewer can be measured than there.
CLIENTS = {"k-ary": 20_000, "OUE": 1_000}


def clients(name, client, server):
    """Randomises and counts, one client after another: there is no other way."""
    count = CLIENTS[name]

    def run():
        for index in range(count):
            server.aggregate(client.privatise(index % VALUES + 1))

    report("pure-ldp", f"{name}, {VALUES} values, clients", None, run, count)


def counting(server, responses):
    def run():
        for response in responses:
            server.aggregate(response)

    report("pure-ldp", f"k-ary, {VALUES} values, reports counted", None, run, len(responses))


if __name__ == "__main__":
    epsilon = 1.0
    client, server = DEClient(epsilon, VALUES), DEServer(epsilon, VALUES)
    clients("k-ary", client, server)
    counting(server, [client.privatise(index % VALUES + 1) for index in range(CLIENTS["k-ary"])])
    clients("OUE", UEClient(epsilon, VALUES, use_oue=True), UEServer(epsilon, VALUES, use_oue=True))
