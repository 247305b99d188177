# Asks a name server over one socket, once for each line that it reads, and writes the code of the answer or the name of an error.
import socket
import struct
import sys

server, name = sys.argv[1:]
labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.'))
kept = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
kept.settimeout(20)
kept.connect((server, 53))

for number, _ in enumerate(sys.stdin):
    try:
        kept.send(struct.pack('!6H', number, 0x0100, 1, 0, 0, 0) + labels + b'\0' + struct.pack('!2H', 1, 1))
        print(kept.recv(1500)[3] & 15, flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
