# A program of Python in the machine of a world: each line that it reads is an attempt, each line that it writes what came of it.
import errno
import json
import socket
import struct
import sys
import urllib.error
import urllib.request

LIMIT_S = 30
SILENT_S = 20
# Is sent back.
PAYLOAD = b'secret-payload'
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def to_outcome(error):
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        return to_outcome(error.reason)
    if isinstance(error, socket.gaierror):
        return 'unresolved'
    if isinstance(error, (ConnectionRefusedError, ConnectionResetError)):
        return 'reset'
    if isinstance(error, OSError) and error.errno in (errno.EHOSTUNREACH, errno.EACCES, errno.EPERM):
        return 'prohibited'
    return repr(error)


def fetch_text(host, port):
    place = f'[{host}]' if ':' in host else host.encode('idna').decode()
    with opener.open(f'http://{place}:{port}/', timeout=LIMIT_S) as answer:
        return answer.read().decode().strip()


def send(sock, payload, address):
    with sock:
        sock.settimeout(SILENT_S)
        sock.connect(address)
        sock.send(payload)
        try:
            answer = sock.recv(1500)
        except socket.timeout:
            return 'silent'
        return 'answered' if answer.endswith(PAYLOAD) else 'by another'


def send_datagram(host, port):
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    return send(socket.socket(family, socket.SOCK_DGRAM), PAYLOAD, (host, port))


# Computes the checksum itself: those who look at it answer nothing else.
def send_echo(host):
    rest = struct.pack('!HH', 1, 1) + PAYLOAD
    total = sum(struct.unpack(f'!{len(rest) // 2}H', rest)) + 0x0800
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    return send(sock, struct.pack('!BBH', 8, 0, ~total & 0xFFFF) + rest, (host, 0))


def attempt(kind, host, port, **_):
    if kind == 'icmp':
        return send_echo(host)
    return (send_datagram if kind == 'udp' else fetch_text)(host, port)


for line in sys.stdin:
    try:
        outcome = attempt(**json.loads(line))
    except Exception as error:
        outcome = to_outcome(error)
    print(outcome, flush=True)
